"""What users are told of an instance in the status of its ContourConfiguration. Pure.

Three conditions are the operator's (Kubernetes, "API conventions"): `Provisioned`, whether all is
there as it should be, and if not why; `Progressing`, whether a rollout is under way or has failed;
`Available`, whether the instance serves. `Valid` is the instance's own, and is not touched.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from provisioning.templating import Document

Raw = dict[str, Any]

TYPES = ("Provisioned", "Progressing", "Available")


class Problem(NamedTuple):
    """One reason why not all is as it should be."""

    reason: str
    """For programs."""
    message: str
    """For people."""
    is_settled: bool = False
    """It is told only: all is as it should be apart from that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """How an instance is."""

    generation: int
    """Of its configuration."""
    problems: Sequence[Problem] = ()
    deployment: Document | None = None
    """Of the control plane; None: it is not there."""
    fleets: Sequence[Document] | None = None
    """DaemonSets and Deployments of Envoys; None: it keeps none."""
    troubles: Sequence[str] = ()
    """What the instance says of itself."""
    waits_for: str = ""
    """While it is removed: what still has to go."""


def status(found: Observed) -> Raw:
    """The fields of the status that are ours; conditions without their times."""
    conditions = (
        _condition("Provisioned", found.generation, _provisioned(found)),
        _condition("Progressing", found.generation, _progressing(found)),
        _condition("Available", found.generation, _available(found)),
    )
    told: Raw = {"conditions": list(conditions), "availableContours": _replicas(found.deployment)}
    if found.fleets is not None:
        told["availableEnvoys"] = envoys(found.fleets)
    return told


def refused(generation: int, problems: Sequence[Problem]) -> Raw:
    """The same of a configuration of which nothing is made."""
    told = status(Observed(generation=generation, problems=problems))
    return {"conditions": told["conditions"][:1]}


def stamped(told: Raw, stored: Mapping[str, Any], now: str) -> Raw:
    """With the times since when the conditions are as true as they are."""
    before = {it.get("type"): it for it in stored.get("conditions") or ()}
    return told | {
        "conditions": [
            {**it, "lastTransitionTime": _since(before.get(it["type"], {}), it) or now}
            for it in told["conditions"]
        ]
    }


def is_stored(told: Raw, stored: Mapping[str, Any]) -> bool:
    """Whether the status says so already."""
    own = {it.get("type"): it for it in stored.get("conditions") or () if it.get("type") in TYPES}
    counts = ("availableContours", "availableEnvoys")
    return own == {it["type"]: it for it in told["conditions"]} and all(
        told.get(it) == stored.get(it) for it in counts
    )


def news(told: Raw, stored: Mapping[str, Any]) -> Iterable[Raw]:
    """The conditions that say something else than before."""
    before = {it.get("type"): it for it in stored.get("conditions") or ()}
    for it in told["conditions"]:
        was = before.get(it["type"], {})
        if (was.get("status"), was.get("reason")) != (it["status"], it["reason"]):
            yield it


Kind = Literal["Normal", "Warning"]


def kind_of_event(condition: Raw, stored: Mapping[str, Any]) -> Kind:
    """Of the Event that tells a condition which says something else than the stored one.

    What is not available yet is a beginning; what is not available any more is a fault.
    """
    if condition["status"] == "True":
        return "Normal"
    match condition["type"]:
        case "Progressing":
            return "Warning" if condition["reason"] == "RolloutFailed" else "Normal"
        case "Available":
            before = {it.get("type"): it.get("status") for it in stored.get("conditions") or ()}
            return "Warning" if before.get("Available") == "True" else "Normal"
        case _:
            return "Normal" if condition["reason"] == "Deleting" else "Warning"


def troubles(stored: Mapping[str, Any]) -> Sequence[str]:
    """What the instance says of itself, in its own condition: errors, then warnings."""
    valid: Raw = next(
        (it for it in stored.get("conditions") or () if it.get("type") == "Valid"), {}
    )
    return [it["message"] for of in ("errors", "warnings") for it in valid.get(of) or ()]


def envoys(fleets: Iterable[Document]) -> int:
    """How many Envoys are available."""
    found = (it["status"] for it in fleets)
    return sum(it.get("numberAvailable", it.get("availableReplicas")) or 0 for it in found)


class _Finding(NamedTuple):
    status: str
    reason: str
    message: str


def _condition(type_: str, generation: int, found: _Finding) -> Raw:
    return {"type": type_, "observedGeneration": generation, **found._asdict()}


def _since(before: Mapping[str, Any], it: Raw) -> str | None:
    return before.get("lastTransitionTime") if before.get("status") == it["status"] else None


def _provisioned(found: Observed) -> _Finding:
    if found.waits_for:
        return _Finding("False", "Deleting", f"Waiting for the end of {found.waits_for}")
    message = "; ".join(dict.fromkeys(it.message for it in found.problems))[:_LONGEST]
    for it in found.problems:
        if not it.is_settled:
            return _Finding("False", it.reason, message)
    return _Finding("True", "Provisioned", message or "All objects are as they should be")


_LONGEST = 4096


def _progressing(found: Observed) -> _Finding:
    if found.waits_for:
        return _Finding("True", "Deleting", f"Waiting for the end of {found.waits_for}")
    if found.deployment is None:
        return _Finding("False", "NotProvisioned", "There is no control plane")
    failure = rollout_failure(found.deployment)
    if failure:
        return _Finding("False", "RolloutFailed", failure)
    left = rollout_left(found.deployment)
    if left:
        return _Finding("True", "RollingOut", left)
    return _Finding("False", "RolloutComplete", "Every replica runs what it should")


def _available(found: Observed) -> _Finding:
    if found.deployment is None:
        return _Finding("False", "ContourUnavailable", "There is no control plane")
    wanted, available = _wanted(found.deployment), _replicas(found.deployment)
    verdict = _conditions(found.deployment).get("Available")
    if verdict is None:
        return _Finding("Unknown", "ContourUnknown", "Nothing is known of the control plane yet")
    if verdict["status"] != "True" or not available:
        message = f"{available} of {wanted} replicas of the control plane are available"
        return _Finding("False", "ContourUnavailable", _because(message, found.troubles))
    if found.fleets is not None and not envoys(found.fleets):
        message = "The control plane is available, but no Envoy is"
        return _Finding("False", "EnvoyUnavailable", _because(message, found.troubles))
    return _Finding("True", "ContourAvailable", "The instance serves")


def _because(message: str, troubles: Sequence[str]) -> str:
    """With what may be the cause of it."""
    return f"{message}: {'; '.join(troubles)}"[:_LONGEST] if troubles else message


def rollout_failure(deployment: Document) -> str:
    """Why the rollout of a Deployment has failed; empty if it has not."""
    found = _conditions(deployment)
    progressing, replicas = found.get("Progressing", {}), found.get("ReplicaFailure", {})
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        said = replicas.get("message") or progressing.get("message") or ""
        return (
            f"The control plane could not be rolled out; the Envoys stay as they are. {said} "
            "Its pods say why: kubectl describe pods -l app=contour"
        )
    return ""


def rollout_left(deployment: Document) -> str:
    """What is still missing in the rollout of a Deployment; empty if it is complete."""
    found, wanted = deployment["status"], _wanted(deployment)
    if found.get("observedGeneration", 0) < deployment["metadata"].get("generation", 0):
        return "The rollout is about to begin"
    updated, available = found.get("updatedReplicas", 0), found.get("availableReplicas", 0)
    if updated < wanted:
        return f"{updated} of {wanted} replicas are new"
    if found.get("replicas", 0) > updated:
        return "Old replicas are about to end"
    return "" if available >= wanted else f"{available} of {wanted} new replicas are available"


def _conditions(deployment: Document) -> dict[str, Raw]:
    return {it["type"]: it for it in deployment["status"].get("conditions") or ()}


def _wanted(deployment: Document) -> int:
    replicas = deployment.get("replicas")
    return 1 if replicas is None else int(replicas)


def _replicas(deployment: Document | None) -> int:
    return 0 if deployment is None else int(deployment["status"].get("availableReplicas") or 0)
