"""Why the first pods of a new template do not get ready, with messages of their containers; or why
none can be created.

Pods are listed only while a rollout has no available pod yet. The message of a container that ended
is the end of its log, because its `terminationMessagePolicy` is FallbackToLogsOnError. If a quota
or admission refuses to create pods, a Deployment says so in a condition, a DaemonSet only in Events
(reason FailedCreate).
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from crds import raw
from crds.raw import Raw, at, mapping
from kube import conditions
from kube.client import Client
from provisioning.keeping import rollouts

MARK = "projectcontour.io/template"
"""An annotation of pods that identifies their template."""

PATIENCE = 600.0
"""Seconds in which a first new pod has to get ready: the progress deadline of a Deployment."""
CRASHES = 3
"""The number of restarts after which a container that keeps ending counts as failed."""

_SOONEST, _LATEST = 5.0, 60.0  # seconds
_MOST_WORDS = 600  # characters


class PodsState(NamedTuple):
    """How the pods of a new template fare."""

    failure: str = ""
    """Why none of them will get ready; empty if one is ready, or may become so."""
    trouble: str = ""
    """Why none can be created now, which may be temporary."""
    look_again: float = _LATEST
    """Seconds after which the state should be checked again."""


async def read(client: Client, workload: Raw, mark: str, begun: datetime) -> PodsState:
    """Reads the pods of a workload with this mark, which it has had since `begun`. Raises request
    errors."""
    labels = mapping(at(workload, "spec", "selector", "matchLabels"))
    selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    path = f"/api/v1/namespaces/{at(workload, 'metadata', 'namespace')}/pods"
    found = await client.list_page(path, {"labelSelector": selector})
    pods = [it for it in map(mapping, raw.items(found.get("items"))) if _is_of(it, mark)]
    now = datetime.now(UTC)
    return state(pods, now) if pods else await _without_pods(client, workload, begun, now)


async def _without_pods(client: Client, workload: Raw, begun: datetime, now: datetime) -> PodsState:
    waiting = (now - begun).total_seconds()
    if workload["kind"] == "Deployment":
        refused = rollouts.creation_failure(workload)
    else:
        refused = await _last_event(client, workload, begun)
    if refused and waiting >= PATIENCE:
        return PodsState(f"no pod could be created within {PATIENCE:.0f} seconds: {refused}")
    trouble = f"no pod can be created: {refused}" if refused else ""
    return PodsState(trouble=trouble, look_again=_later(waiting))


async def _last_event(client: Client, workload: Raw, begun: datetime) -> str:
    """Why the controller of a workload last failed to create a pod; empty if that was before
    `begun`."""
    metadata = mapping(workload["metadata"])
    fields = {
        "involvedObject.kind": workload["kind"],
        "involvedObject.name": metadata["name"],
        "reason": "FailedCreate",
    }
    selector = ",".join(f"{key}={value}" for key, value in fields.items())
    path = f"/api/v1/namespaces/{metadata['namespace']}/events"
    found = await client.list_page(path, {"fieldSelector": selector})
    return latest_message([*map(mapping, raw.items(found.get("items")))], begun)


def latest_message(events: Sequence[Raw], begun: datetime) -> str:
    """The message of the latest of these Events; empty if all are from before `begun`."""
    found = max(events, key=_told_at, default=None)
    return str(found.get("message") or "") if found and _told_at(found) >= begun else ""


def _told_at(event: Raw) -> datetime:
    """When an Event last occurred; writers of the newer API use other fields."""
    moment = (
        at(event, "series", "lastObservedTime")
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or at(event, "metadata", "creationTimestamp")
    )
    return datetime.fromisoformat(str(moment))


def state(pods: Sequence[Raw], now: datetime) -> PodsState:
    """The state of these pods of a new template, at least one."""
    if any(map(_is_ready, pods)):
        return PodsState()
    waiting = max((now - _unready_since(it)).total_seconds() for it in pods)
    if waiting >= PATIENCE:
        return PodsState(f"not ready within {PATIENCE:.0f} seconds: {words(pods)}")
    if all(map(_keeps_ending, pods)):
        return PodsState(words(pods))
    if any(_restarts(it) for pod in pods for it in _containers(pod)):
        return PodsState(look_again=_SOONEST)  # it may be running just now, but end in a moment
    return PodsState(look_again=_later(waiting))


def _later(waiting: float) -> float:
    """The delay before the next check, which grows with the time that has passed."""
    return min(max(waiting / 2, _SOONEST), _LATEST)


def words(pods: Sequence[Raw]) -> str:
    """The messages of the containers of the first pod that has any, for people."""
    return next((said for it in pods if (said := "; ".join(_said(it)))), "its pods do not say why")


def _is_of(pod: Raw, mark: str) -> bool:
    metadata = mapping(pod.get("metadata"))
    is_leaving = "deletionTimestamp" in metadata
    return not is_leaving and at(metadata, "annotations", MARK) == mark


def _is_ready(pod: Raw) -> bool:
    return _condition(pod, "Ready").get("status") == "True"


def _condition(pod: Raw, name: str) -> Raw:
    return conditions.by_type(mapping(pod.get("status"))).get(name, {})


def _unready_since(pod: Raw) -> datetime:
    moment = _condition(pod, "Ready").get("lastTransitionTime")
    return datetime.fromisoformat(str(moment or at(pod, "metadata", "creationTimestamp")))


def _containers(pod: Raw) -> Iterator[Raw]:
    for part in ("initContainerStatuses", "containerStatuses"):
        yield from map(mapping, raw.items(at(pod, "status", part)))


def _keeps_ending(pod: Raw) -> bool:
    """Whether a container that was restarted several times is not running now."""
    return any(_restarts(it) >= CRASHES and _ended(it) for it in _containers(pod))


def _restarts(container: Raw) -> int:
    found = container.get("restartCount")
    return found if isinstance(found, int) else 0


def _ended(container: Raw) -> Raw:
    """How a container that is not running last ended; empty if it is running, or ended without an
    error."""
    if at(container, "state", "running") is not None:
        return {}
    now, last = (mapping(at(container, it, "terminated")) for it in ("state", "lastState"))
    found = now or last
    return found if found.get("exitCode") else {}


def _said(pod: Raw) -> Iterator[str]:
    scheduled = _condition(pod, "PodScheduled")
    if scheduled.get("status") == "False":
        yield str(scheduled.get("message") or "it is not scheduled")
    for it in _containers(pod):
        waiting = mapping(at(it, "state", "waiting"))
        if ended := _ended(it):
            message = _essence(str(ended.get("message") or ""))
            yield f"container {it['name']} ended with status {ended['exitCode']}: {message}"
        elif waiting.get("reason") not in (None, "PodInitializing", "ContainerCreating"):
            yield f"container {it['name']} waits: {_reason(waiting)}"
        elif at(it, "state", "running") is not None and it.get("ready") is False:
            yield f"container {it['name']} runs and is not ready"


def _reason(waiting: Raw) -> str:
    return ": ".join(str(waiting[it]) for it in ("reason", "message") if waiting.get(it))


_LINE = re.compile(r"^\[[^\]]*\]\[\d+\]\[(\w+)\]\[[^\]]*\] (?:\[[^\]]*\] )?", re.MULTILINE)
"""The beginning of a line of Envoy's log: time, thread, level, component, source."""


def _essence(log: str) -> str:
    """The errors in Envoy's log, or else the end of the log, in one line."""
    _, *rest = _LINE.split(log)
    lines = zip(rest[::2], rest[1::2], strict=True)
    said = [it for level, it in lines if level in ("critical", "error")]
    text = " ".join(" ".join(said).split() or log.split())
    return text[-_MOST_WORDS:] or "it said nothing"
