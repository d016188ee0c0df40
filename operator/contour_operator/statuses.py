"""The operator's part of the status of a ContourConfiguration. Pure.

Three conditions are the operator's (Kubernetes, "API conventions"): `Provisioned`, whether
everything exists as it should, and if not why; `Progressing`, whether a rollout is in progress or
has failed; `Available`, whether the instance serves. `Valid` is the instance's own, and is not
touched.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from contour_operator.reasons import Reason
from crds import raw
from crds.raw import Raw
from kube import conditions
from provisioning.keeping import rollouts
from provisioning.keeping.problems import Problem
from provisioning.templating import Document

TYPES = ("Provisioned", "Progressing", "Available")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The observed state of an instance."""

    generation: int
    """The generation of its configuration."""
    problems: Sequence[Problem] = ()
    deployment: Document | None = None
    """The Deployment of the control plane; None if there is none."""
    fleets: Sequence[Document] | None = None
    """DaemonSets and Deployments of Envoys; None if the instance manages none."""
    troubles: Sequence[str] = ()
    """Messages of the instance's own condition."""
    waits_for: str = ""
    """While the instance is being removed: what is not gone yet."""


def status(found: Observed) -> Raw:
    """The fields of the status that are ours, with conditions without their times."""
    findings = [
        _condition("Provisioned", found.generation, _provisioned(found)),
        _condition("Progressing", found.generation, _progressing(found)),
        _condition("Available", found.generation, _available(found)),
    ]
    contours = 0 if found.deployment is None else rollouts.available(found.deployment)
    told: Raw = {"conditions": findings, "availableContours": contours}
    if found.fleets is not None:
        told["availableEnvoys"] = sum(map(rollouts.available, found.fleets))
    return told


def refused(generation: int, problems: Sequence[Problem]) -> Raw:
    """Our status of a configuration for which nothing is made."""
    told = status(Observed(generation=generation, problems=problems))
    return {"conditions": _conditions(told)[:1]}


def stamped(told: Raw, stored: Mapping[str, object], now: str) -> Raw:
    """The status with the transition times of its conditions."""
    before = conditions.by_type(stored)
    found = [conditions.stamped(it, before.get(_type(it), {}), now) for it in _conditions(told)]
    return told | {"conditions": found}


def is_stored(told: Raw, stored: Mapping[str, object]) -> bool:
    """Whether the stored status is equal."""
    own = {type_: it for type_, it in conditions.by_type(stored).items() if type_ in TYPES}
    counts = ("availableContours", "availableEnvoys")
    return own == conditions.by_type(told) and all(told.get(it) == stored.get(it) for it in counts)


def news(told: Raw, stored: Mapping[str, object]) -> Iterable[Raw]:
    """The conditions whose status or reason differs from the stored one."""
    before = conditions.by_type(stored)
    for it in _conditions(told):
        was = before.get(_type(it), {})
        if (was.get("status"), was.get("reason")) != (it["status"], it["reason"]):
            yield it


Kind = Literal["Normal", "Warning"]


def kind_of_event(condition: Raw, stored: Mapping[str, object]) -> Kind:
    """The type of the Event about a condition that differs from the stored one.

    An instance that is not available yet is normal; one that is no longer available is a fault.
    """
    if condition["status"] == "True":
        return "Normal"
    match condition["type"]:
        case "Progressing":
            return "Warning" if condition["reason"] == Reason.ROLLOUT_FAILED else "Normal"
        case "Available":
            before = conditions.by_type(stored).get("Available", {})
            return "Warning" if before.get("status") == "True" else "Normal"
        case _:
            return "Normal" if condition["reason"] == Reason.DELETING else "Warning"


def troubles(stored: Mapping[str, object]) -> Sequence[str]:
    """The messages of the instance's own condition: errors, then warnings."""
    valid = conditions.by_type(stored).get("Valid", {})
    found = [it for of in ("errors", "warnings") for it in raw.items(valid.get(of))]
    return [str(raw.at(it, "message")) for it in found]


def _conditions(told: Raw) -> list[Raw]:
    return [raw.mapping(it) for it in raw.items(told["conditions"])]


def _type(condition: Raw) -> str:
    return str(condition["type"])


class _Finding(NamedTuple):
    status: str
    reason: str
    message: str


def _condition(type_: str, generation: int, found: _Finding) -> Raw:
    return {"type": type_, "observedGeneration": generation, **found._asdict()}


def _provisioned(found: Observed) -> _Finding:
    if found.waits_for:
        return _deleting("False", found.waits_for)
    message = "; ".join(dict.fromkeys(it.message for it in found.problems))[:_LONGEST]
    for it in found.problems:
        if not it.is_settled:
            return _Finding("False", it.reason, message)
    return _Finding("True", Reason.PROVISIONED, message or "All objects are as they should be")


_LONGEST = 4096


def _progressing(found: Observed) -> _Finding:
    if found.waits_for:
        return _deleting("True", found.waits_for)
    if found.deployment is None:
        return _Finding("False", Reason.NOT_PROVISIONED, "There is no control plane")
    if failure := rollouts.failure(found.deployment):
        message = (
            f"The rollout of the control plane failed; the Envoys stay as they are: {failure}. "
            "Its pods say why: kubectl describe pods -l app=contour"
        )
        return _Finding("False", Reason.ROLLOUT_FAILED, message)
    if left := rollouts.left(found.deployment):
        return _Finding("True", Reason.ROLLING_OUT, f"The rollout is under way: {left}")
    return _Finding("False", Reason.ROLLOUT_COMPLETE, "Every replica is updated and available")


def _deleting(status: str, waits_for: str) -> _Finding:
    message = f"Waiting for the deletion of {waits_for}"[:_LONGEST]
    return _Finding(status, Reason.DELETING, message)


def _available(found: Observed) -> _Finding:
    if found.deployment is None:
        return _Finding("False", Reason.CONTOUR_UNAVAILABLE, "There is no control plane")
    wanted, available = rollouts.replicas(found.deployment), rollouts.available(found.deployment)
    verdict = conditions.by_type(raw.mapping(found.deployment.get("status"))).get("Available")
    if verdict is None:
        message = "The status of the control plane is not known yet"
        return _Finding("Unknown", Reason.CONTOUR_UNKNOWN, message)
    if verdict["status"] != "True" or not available:
        message = f"{available} of {wanted} replicas of the control plane are available"
        return _Finding("False", Reason.CONTOUR_UNAVAILABLE, _because(message, found.troubles))
    if found.fleets is not None and not any(map(rollouts.available, found.fleets)):
        message = "The control plane is available, but no Envoy is"
        return _Finding("False", Reason.ENVOY_UNAVAILABLE, _because(message, found.troubles))
    return _Finding("True", Reason.CONTOUR_AVAILABLE, "The instance serves")


def _because(message: str, troubles: Sequence[str]) -> str:
    """The message with its probable cause."""
    return f"{message}: {'; '.join(troubles)}"[:_LONGEST] if troubles else message
