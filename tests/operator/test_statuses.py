"""What a status says, by how things are."""

from typing import Any

import pytest

from contour_operator import statuses
from contour_operator.statuses import Observed
from provisioning.keeping.problems import Problem

Raw = dict[str, Any]


def deployment(**status: Any) -> Raw:
    """A Deployment of two replicas, complete unless said otherwise."""
    complete: Raw = {
        "observedGeneration": 3,
        "replicas": 2,
        "updatedReplicas": 2,
        "availableReplicas": 2,
        "conditions": [{"type": "Available", "status": "True"}],
    }
    return {"metadata": {"generation": 3}, "status": complete | status, "spec": {"replicas": 2}}


def status_of(found: Observed) -> Raw:
    """What is told, to look into."""
    return statuses.status(found)


def told(found: Observed, type_: str) -> tuple[str, str]:
    """The status and reason of a condition."""
    (it,) = [it for it in status_of(found)["conditions"] if it["type"] == type_]
    return it["status"], it["reason"]


_UNAVAILABLE = [{"type": "Available", "status": "False"}]
_FAILED = [
    {"type": "Available", "status": "True"},
    {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"},
]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Observed(generation=1), ("False", "ContourUnavailable")),
        (Observed(generation=1, deployment=deployment()), ("True", "ContourAvailable")),
        (
            Observed(generation=1, deployment=deployment(conditions=_UNAVAILABLE)),
            ("False", "ContourUnavailable"),
        ),
        (
            Observed(generation=1, deployment=deployment(availableReplicas=0)),
            ("False", "ContourUnavailable"),
        ),
        (
            Observed(generation=1, deployment=deployment(conditions=[])),
            ("Unknown", "ContourUnknown"),
        ),
        (
            Observed(generation=1, deployment=deployment(), fleets=[]),
            ("False", "EnvoyUnavailable"),
        ),
        (
            Observed(
                generation=1, deployment=deployment(), fleets=[{"status": {"numberAvailable": 0}}]
            ),
            ("False", "EnvoyUnavailable"),
        ),
        (
            Observed(
                generation=1, deployment=deployment(), fleets=[{"status": {"numberAvailable": 3}}]
            ),
            ("True", "ContourAvailable"),
        ),
    ],
)
def test_available_means_that_the_instance_serves(
    found: Observed, expected: tuple[str, str]
) -> None:
    assert told(found, "Available") == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, ("False", "RolloutComplete")),
        ({"observedGeneration": 2}, ("True", "RollingOut")),
        ({"updatedReplicas": 1}, ("True", "RollingOut")),
        ({"replicas": 3}, ("True", "RollingOut")),
        ({"availableReplicas": 1}, ("True", "RollingOut")),
        ({"updatedReplicas": 1, "conditions": _FAILED}, ("False", "RolloutFailed")),
    ],
)
def test_a_rollout_is_over_when_every_replica_is_new_and_available(
    status: Raw, expected: tuple[str, str]
) -> None:
    found = Observed(generation=1, deployment=deployment(**status))
    assert told(found, "Progressing") == expected


def test_a_failed_rollout_says_that_the_envoys_stay() -> None:
    found = status_of(Observed(generation=1, deployment=deployment(conditions=_FAILED)))
    (it,) = [it for it in found["conditions"] if it["type"] == "Progressing"]
    assert "the Envoys stay as they are" in it["message"]


def test_every_problem_is_named_once_and_the_first_gives_the_reason() -> None:
    problems = [Problem("Forbidden", "one"), Problem("Failed", "two"), Problem("Failed", "two")]
    found = status_of(Observed(generation=1, problems=problems))["conditions"][0]
    assert (found["reason"], found["message"]) == ("Forbidden", "one; two")


def test_envoys_are_counted_of_fleets_that_are_managed_only() -> None:
    fleets = [{"status": {"numberAvailable": 2}}, {"status": {"availableReplicas": 3}}]
    managed = status_of(Observed(generation=1, deployment=deployment(), fleets=fleets))
    assert (managed["availableContours"], managed["availableEnvoys"]) == (2, 5)
    assert "availableEnvoys" not in status_of(Observed(generation=1))


def test_a_condition_keeps_its_time_as_long_as_it_is_as_true() -> None:
    old, new = "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"
    first = statuses.stamped(status_of(Observed(generation=1)), {}, old)
    assert statuses.is_stored(first, first)
    rolled = status_of(Observed(generation=2, deployment=deployment()))
    second: Raw = statuses.stamped(rolled, first, new)
    times = {it["type"]: it["lastTransitionTime"] for it in second["conditions"]}
    assert times == {"Provisioned": old, "Progressing": old, "Available": new}
    assert not statuses.is_stored(second, first)
    assert [it["type"] for it in statuses.news(rolled, first)] == ["Progressing", "Available"]


def test_conditions_of_others_do_not_count() -> None:
    stored: Raw = statuses.stamped(status_of(Observed(generation=1)), {}, "then")
    beside = stored | {"conditions": [{"type": "Valid", "status": "True"}, *stored["conditions"]]}
    assert statuses.is_stored(stored, beside)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (
            Observed(generation=1, deployment=deployment(), fleets=[], troubles=["a", "b"]),
            "The control plane is available, but no Envoy is: a; b",
        ),
        (
            Observed(generation=1, deployment=deployment(), fleets=[]),
            "The control plane is available, but no Envoy is",
        ),
        (
            Observed(
                generation=1,
                deployment=deployment(availableReplicas=0, conditions=_UNAVAILABLE),
                troubles=["spec.envoy: bad"],
            ),
            "0 of 2 replicas of the control plane are available: spec.envoy: bad",
        ),
    ],
)
def test_what_an_instance_says_of_itself_is_told_where_it_is_not_available(
    found: Observed, message: str
) -> None:
    (it,) = [it for it in status_of(found)["conditions"] if it["type"] == "Available"]
    assert it["message"] == message


def test_errors_and_warnings_of_the_instances_own_condition_are_its_troubles() -> None:
    valid = {"type": "Valid", "errors": [{"message": "a"}], "warnings": [{"message": "b"}]}
    assert statuses.troubles({"conditions": [{"type": "Available"}, valid]}) == ["a", "b"]
    assert statuses.troubles({"conditions": [{"type": "Valid", "status": "True"}]}) == []
    assert statuses.troubles({}) == []


@pytest.mark.parametrize(
    ("type_", "status", "reason", "was", "kind"),
    [
        ("Available", "False", "ContourUnavailable", None, "Normal"),
        ("Available", "Unknown", "ContourUnknown", None, "Normal"),
        ("Available", "False", "EnvoyUnavailable", "False", "Normal"),
        ("Available", "False", "EnvoyUnavailable", "True", "Warning"),
        ("Available", "True", "ContourAvailable", "False", "Normal"),
        ("Progressing", "True", "RollingOut", "False", "Normal"),
        ("Progressing", "False", "RolloutComplete", "True", "Normal"),
        ("Progressing", "False", "RolloutFailed", "True", "Warning"),
        ("Provisioned", "False", "Forbidden", None, "Warning"),
        ("Provisioned", "False", "Deleting", "True", "Normal"),
    ],
)
def test_a_beginning_is_no_fault(
    type_: str, status: str, reason: str, was: str | None, kind: str
) -> None:
    stored = {"conditions": [{"type": type_, "status": was}]} if was else {}
    condition: Raw = {"type": type_, "status": status, "reason": reason, "message": ""}
    assert statuses.kind_of_event(condition, stored) == kind


def test_what_is_told_only_does_not_make_an_instance_unprovisioned() -> None:
    note = Problem("", "Deployment x: a webhook sets it", is_settled=True)
    (it,) = [it for it in status_of(Observed(generation=1, problems=[note]))["conditions"]
             if it["type"] == "Provisioned"]  # fmt: skip
    assert (it["status"], it["reason"], it["message"]) == ("True", "Provisioned", note.message)
    other = Problem("Refused", "no")
    found = Observed(generation=1, problems=[note, other])
    assert told(found, "Provisioned") == ("False", "Refused")
