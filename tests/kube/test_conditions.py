"""Conditions by their type, and since when they have their status."""

from typing import Any

import pytest

from kube import conditions


def test_conditions_are_found_by_type() -> None:
    ready = {"type": "Ready", "status": "True"}
    assert conditions.by_type({"conditions": [ready, {"status": "True"}]}) == {"Ready": ready}
    assert conditions.by_type({"conditions": None}) == conditions.by_type({}) == {}


@pytest.mark.parametrize(
    ("before", "since"),
    [
        ({}, "now"),
        ({"status": "False", "lastTransitionTime": "then"}, "now"),
        ({"status": "True", "lastTransitionTime": "then"}, "then"),
        ({"status": "True"}, "now"),
    ],
)
def test_a_time_is_kept_as_long_as_the_status(before: dict[str, Any], since: str) -> None:
    found = conditions.stamped({"type": "Ready", "status": "True"}, before, "now")
    assert found["lastTransitionTime"] == since
