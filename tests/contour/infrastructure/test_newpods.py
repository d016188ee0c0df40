"""What is made of the pods of a new template."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contour.infrastructure import newpods

Raw = dict[str, Any]

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
_LOG = """\
[2030-01-01 11:59:59.679][7][info][config] [source/server/configuration_impl.cc:138] loading
[2030-01-01 11:59:59.680][7][critical][main] [source/server/server.cc:449] error `Invalid path: /x`
  initializing config '/config/envoy.json'
[2030-01-01 11:59:59.680][7][info][main] [source/server/server.cc:1159] exiting
Invalid path: /x
"""
_WORDS = "error `Invalid path: /x` initializing config '/config/envoy.json'"


def _pod(seconds: float = 1, is_ready: bool = False, **status: Any) -> Raw:
    moment = (NOW - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
    ready = {"type": "Ready", "status": str(is_ready), "lastTransitionTime": moment}
    conditions = [ready, *status.pop("conditions", ())]
    return {
        "metadata": {"creationTimestamp": moment},
        "status": status | {"conditions": conditions},
    }


def _container(restarts: int = 0, name: str = "envoy", **state: Raw) -> Raw:
    last = state.pop("last", {})
    return {
        "name": name, "ready": False, "restartCount": restarts, "state": state, "lastState": last,
    }  # fmt: skip


_ENDED = {"exitCode": 1, "message": _LOG}
_BACK_OFF = {"reason": "CrashLoopBackOff", "message": "back-off 40s"}


def _crashing(restarts: int = newpods.CRASHES) -> Raw:
    container = _container(restarts, waiting=_BACK_OFF, last={"terminated": _ENDED})
    beside = _container(name="shutdown-manager", running={}) | {"ready": True}
    return _pod(containerStatuses=[beside, container])


_PULLING = _container(waiting={"reason": "ImagePullBackOff", "message": "no such image"})


@pytest.mark.parametrize(
    ("pods", "failure"),
    [
        ((_pod(700, is_ready=True),), ""),
        ((_pod(700, is_ready=True), _crashing()), ""),
        ((_crashing(newpods.CRASHES - 1),), ""),
        ((_crashing(), _pod()), ""),
        ((_crashing(), _crashing()), f"container envoy ended with status 1: {_WORDS}"),
        ((_pod(599, containerStatuses=[_PULLING]),), ""),
        (
            (_pod(601, containerStatuses=[_PULLING]),),
            "not ready within 600 seconds: container envoy waits: ImagePullBackOff: no such image",
        ),
        (
            (_pod(601, containerStatuses=[_container(running={})]),),
            "not ready within 600 seconds: container envoy runs and is not ready",
        ),
        ((_pod(601),), "not ready within 600 seconds: its pods do not say why"),
        (
            (_pod(601, conditions=[
                {"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}]),),
            "not ready within 600 seconds: 0/3 nodes",
        ),
        (
            (_pod(initContainerStatuses=[
                _container(3, "envoy-initconfig", terminated={"exitCode": 2, "message": "no"})]),),
            "container envoy-initconfig ended with status 2: no",
        ),
        ((_pod(containerStatuses=[_container(3, running={}, last={"terminated": _ENDED})]),), ""),
    ],
)  # fmt: skip
def test_a_template_has_failed_when_no_pod_of_it_will_get_ready(
    pods: tuple[Raw, ...], failure: str
) -> None:
    found = newpods.state(pods, NOW)
    assert found.failure.startswith(failure)
    assert bool(found.failure) == bool(failure)


@pytest.mark.parametrize(("seconds", "again"), [(1, 5), (40, 20), (500, 60)])
def test_the_longer_a_pod_takes_the_later_it_is_looked_at_again(seconds: int, again: int) -> None:
    assert newpods.state([_pod(seconds)], NOW).look_again == again


def test_one_that_keeps_ending_is_looked_at_again_soon_though_it_runs_at_the_moment() -> None:
    container = _container(3, running={}, last={"terminated": _ENDED})
    assert newpods.state([_pod(500, containerStatuses=[container])], NOW).look_again == 5


def test_words_are_short_and_in_one_line() -> None:
    ended = {"exitCode": 1, "message": "a\n" * 5000}
    said = newpods.words([_pod(containerStatuses=[_container(3, terminated=ended)])])
    assert len(said) < 700
    assert "\n" not in said


@pytest.mark.parametrize(
    "times",
    [
        {"lastTimestamp": "2030-01-01T12:00:01Z"},
        {"lastTimestamp": None, "eventTime": "2030-01-01T12:00:01.000001Z"},
        {
            "lastTimestamp": None,
            "eventTime": "2030-01-01T11:00:00.000001Z",
            "series": {"count": 2, "lastObservedTime": "2030-01-01T12:00:01.000001Z"},
        },
        {"metadata": {"creationTimestamp": "2030-01-01T12:00:01Z"}},
    ],
)
def test_the_last_event_counts_whichever_api_it_was_written_in(times: Raw) -> None:
    before: Raw = {"lastTimestamp": "2030-01-01T11:59:59Z", "message": "no longer"}
    events = [times | {"message": "quota"}, before]
    assert newpods.latest_message(events, NOW) == "quota"
    assert newpods.latest_message([before], NOW) == ""
