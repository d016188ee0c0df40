"""The status of a pod, from what its containers are doing. Pure."""

from collections.abc import Sequence
from time import gmtime, strftime
from typing import Any

from tests.pods.containers import Container

Raw = dict[str, Any]


def status(
    pod: Raw,
    addresses: tuple[str, str],
    initial: Sequence[Container],
    main: Sequence[Container],
    is_prepared: bool,
) -> Raw:
    """What a kubelet would write; `addresses` are the pod's and its node's."""
    old = pod.get("status", {})
    phase = _phase(pod, initial, main)
    is_over = phase in {"Succeeded", "Failed"}
    initialised = all(it.code == 0 or it.is_started for it in initial)
    ready = bool(main) and all(it.is_ready for it in main) and initialised and not is_over
    truths = {
        "PodScheduled": True,
        "PodReadyToStartContainers": is_prepared and not is_over,
        "Initialized": initialised,
        "ContainersReady": ready,
        "Ready": ready and _gates_are_open(pod),
    }
    own, node = addresses
    networked = {"podIP": own, "podIPs": [{"ip": own}]} if own else {}
    return {
        "phase": phase,
        "hostIP": node,
        "hostIPs": [{"ip": node}],
        **networked,
        "startTime": old.get("startTime") or _now(),
        "qosClass": old.get("qosClass") or "Burstable",
        "conditions": _conditions(old.get("conditions") or (), truths),
        "initContainerStatuses": [_of(it) for it in initial],
        "containerStatuses": [_of(it) for it in main],
    }


def _phase(pod: Raw, initial: Sequence[Container], main: Sequence[Container]) -> str:
    policy = pod["spec"].get("restartPolicy", "Always")
    if policy == "Never" and any(it.code not in {0, None} for it in initial):
        return "Failed"
    over = [it for it in main if it.code is not None]
    ended = policy == "Never" or (policy == "OnFailure" and all(it.code == 0 for it in over))
    if "deletionTimestamp" in pod["metadata"]:
        ended = True
    if len(over) == len(main) and ended:
        return "Succeeded" if all(it.code == 0 for it in main) else "Failed"
    begun = all("waiting" not in it.state or it.restarts for it in main)
    return "Running" if begun else "Pending"


def _gates_are_open(pod: Raw) -> bool:
    found = {it["type"]: it["status"] for it in pod.get("status", {}).get("conditions") or ()}
    gates = pod["spec"].get("readinessGates") or ()
    return all(found.get(it["conditionType"]) == "True" for it in gates)


def _conditions(old: Sequence[Raw], truths: dict[str, bool]) -> list[Raw]:
    known = {it["type"]: it for it in old}
    foreign = [it for it in old if it["type"] not in truths]
    return foreign + [_condition(known.get(name), name, truths[name]) for name in truths]


def _condition(old: Raw | None, name: str, is_true: bool) -> Raw:
    value = "True" if is_true else "False"
    if old is not None and old["status"] == value:
        return old
    return {"type": name, "status": value, "lastTransitionTime": _now()}


def _of(container: Container) -> Raw:
    spec = container.spec
    return {
        "name": container.name,
        "image": spec["image"],
        "imageID": f"local://{spec['image']}",
        "containerID": f"process://{container.process.pid}" if container.process else "",
        "state": container.state,
        "lastState": container.last_state,
        "ready": container.is_ready or (container.code == 0 and not spec.get("readinessProbe")),
        "started": container.is_started,
        "restartCount": container.restarts,
    }


def _now() -> str:
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())
