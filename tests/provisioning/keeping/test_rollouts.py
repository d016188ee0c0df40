"""How far a rollout is."""

from typing import Any

import pytest

from provisioning.keeping import rollouts

DONE = {"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}


def deployment(status: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"generation": 3}, "spec": {"replicas": 2} | spec, "status": status}


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({}, ""),
        ({"observedGeneration": 2}, "it has not begun yet"),
        ({"updatedReplicas": 1}, "1 of 2 replicas are updated"),
        ({"replicas": 3}, "old replicas are still running"),
        ({"availableReplicas": 1}, "1 of 2 updated replicas are available"),
    ],
)
def test_what_is_left_of_a_rollout_is_told(change: dict[str, int], left: str) -> None:
    assert rollouts.left(deployment(DONE | change)) == left


def test_a_rollout_of_which_nothing_is_known_has_not_begun() -> None:
    assert rollouts.left({"metadata": {"generation": 1}}) == "it has not begun yet"


def test_a_rollout_that_came_to_nothing_says_why() -> None:
    stuck = {"type": "Progressing", "reason": "ProgressDeadlineExceeded", "message": "too long"}
    refused = {"type": "ReplicaFailure", "message": "quota"}
    assert rollouts.failure(deployment(DONE | {"conditions": [stuck]})) == "too long"
    assert rollouts.failure(deployment(DONE | {"conditions": [stuck, refused]})) == "quota"
    assert rollouts.failure(deployment(DONE | {"conditions": [refused]})) == ""
    assert rollouts.failure(deployment({})) == ""


def test_the_failure_of_the_rollout_before_is_none_of_the_one_that_begins() -> None:
    stuck = {"type": "Progressing", "reason": "ProgressDeadlineExceeded", "message": "too long"}
    found = deployment(DONE | {"observedGeneration": 2, "conditions": [stuck]})
    assert rollouts.failure(found) == ""


@pytest.mark.parametrize(
    ("status", "is_available"),
    [
        (DONE, True),
        (DONE | {"availableReplicas": 1}, False),
        (DONE | {"observedGeneration": 2}, False),
        ({"observedGeneration": 3, "desiredNumberScheduled": 3, "numberAvailable": 3}, True),
        ({"observedGeneration": 3, "desiredNumberScheduled": 3}, False),
        ({"observedGeneration": 3, "desiredNumberScheduled": 0}, True),
        ({}, False),
    ],
)
def test_a_workload_is_available_when_all_its_pods_are(
    status: dict[str, int], is_available: bool
) -> None:
    assert rollouts.is_available(deployment(status)) is is_available


@pytest.mark.parametrize(
    ("status", "is_proven"),
    [
        (DONE, True),
        (DONE | {"replicas": 3, "updatedReplicas": 1}, False),
        (DONE | {"replicas": 3, "updatedReplicas": 1, "availableReplicas": 3}, True),
        (DONE | {"updatedReplicas": 0}, False),
        (DONE | {"observedGeneration": 2}, False),
        (DONE | {"availableReplicas": 1}, True),
        ({"observedGeneration": 3, "desiredNumberScheduled": 3, "numberAvailable": 3}, False),
        (
            {
                "observedGeneration": 3, "desiredNumberScheduled": 3,
                "updatedNumberScheduled": 1, "numberAvailable": 2,
            },
            False,
        ),
        (
            {
                "observedGeneration": 3, "desiredNumberScheduled": 3,
                "updatedNumberScheduled": 1, "numberAvailable": 3,
            },
            True,
        ),
        ({"observedGeneration": 3, "desiredNumberScheduled": 0}, False),
        ({}, False),
    ],
)  # fmt: skip
def test_a_specification_is_proven_when_more_pods_are_available_than_old_ones_are_there(
    status: dict[str, int], is_proven: bool
) -> None:
    assert rollouts.is_proven(deployment(status)) is is_proven
