"""Changes of listeners that go on and on go out together; what is no listener does not wait."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from contour.xds import resources
from contour.xds.envoy import Patience
from contour.xds.fleet import Fleet
from contour.xds.pacing import Pace
from contour.xds.resources import CLUSTER, ENDPOINTS, LISTENER, ROUTE, SECRET, Change, Name

PACE = Pace(interval=1.0, burst=2)


class Served:
    """A fleet with an Envoy, a clock by hand, and what is published to it in the end."""

    def __init__(self, pace: Pace = PACE) -> None:
        self.now = 0.0
        self.fleet = Fleet("web", Patience(pace=pace), clock=lambda: self.now)
        self.listeners = 0
        self.publish(part(LISTENER, "web", "", "v0"), part(ROUTE, "web", "", "v0"))
        self.envoy = self.fleet.envoy("one", is_aggregated=True)

    def publish(self, *changes: Change) -> None:
        self.fleet.publish(changes)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.fleet.alarms.ring(self.now)

    def has(self, type_url: str, name: str = "web", part: str = "") -> str | None:
        found = self.fleet.store.resource(Name(type_url, name))
        value = found.parts.get(part) if found else None
        return value.body.decode() if value else None


def part(
    type_url: str, name: str, part: str, body: str | None, hosts: Iterable[str] = ()
) -> Change:
    value = resources.part(body.encode()) if body is not None else None
    value = replace(value, hosts=tuple(hosts)) if value else None
    return Change(Name(type_url, name), part, value)


def listener(body: str) -> Change:
    return part(LISTENER, "web", "", body)


def spent(pace: Pace = PACE) -> Served:
    """After as many changes as are not delayed."""
    it = Served(pace)
    for number in range(pace.burst):
        it.publish(listener(f"v{number + 1}"))
        assert it.has(LISTENER) == f"v{number + 1}"
    return it


def test_the_first_changes_go_out_at_once_and_the_next_after_the_interval() -> None:
    it = spent()
    it.publish(listener("a"))
    it.pass_time(0.9)
    it.publish(listener("b"))
    assert it.has(LISTENER) == "v2"
    it.pass_time(0.2)
    assert it.has(LISTENER) == "b"


def test_a_new_listener_waits_for_one_that_leaves_and_no_other() -> None:
    """It may have the address of that one, which Envoy would refuse to give to both."""
    it = spent()
    it.publish(part(LISTENER, "early", "", "e"))
    assert it.has(LISTENER, "early") == "e"
    it.publish(part(LISTENER, "web", "", None))
    it.publish(part(LISTENER, "late", "", "l"))
    assert (it.has(LISTENER), it.has(LISTENER, "late")) == ("v2", None)
    it.pass_time(1.1)
    assert (it.has(LISTENER), it.has(LISTENER, "late")) == (None, "l")


def test_after_a_pause_changes_go_out_at_once_again() -> None:
    it = spent()
    it.pass_time(10)
    for number in range(PACE.burst):
        it.publish(listener(f"w{number}"))
        assert it.has(LISTENER) == f"w{number}"


def test_sustained_changes_cost_one_publication_an_interval_and_none_waits_longer() -> None:
    it = spent()
    versions, waited, since = set(), 0.0, None
    for number in range(600):  # ten a second, for a minute
        it.publish(listener(f"s{number}"))
        it.pass_time(0.1)
        versions.add(it.has(LISTENER))
        since = it.now if it.has(LISTENER) == f"s{number}" else since
        waited = max(waited, it.now - (since or it.now))
    assert 55 <= len(versions) <= 65
    assert waited <= PACE.interval + 0.11


@pytest.mark.parametrize("pace", [Pace(interval=0), Pace(interval=1, burst=10_000)])
def test_pacing_can_be_switched_off(pace: Pace) -> None:
    it = Served(pace)
    for number in range(50):
        it.publish(listener(f"v{number}"))
        assert it.has(LISTENER) == f"v{number}"


@pytest.mark.parametrize("type_url", [CLUSTER, ENDPOINTS, SECRET, ROUTE])
def test_what_is_no_listener_does_not_wait(type_url: str) -> None:
    it = spent()
    it.publish(listener("later"), part(type_url, "web", "", "now"), part(ROUTE, "web", "h", "now"))
    assert (it.has(type_url), it.has(ROUTE, part="h")) == ("now", "now")
    assert it.has(LISTENER) == "v2"


def test_a_listener_that_is_new_does_not_wait() -> None:
    it = spent()
    it.publish(listener("later"), part(LISTENER, "more", "", "new"))
    assert it.has(LISTENER, "more") == "new"


def test_the_routes_of_a_host_wait_with_its_part_of_the_listener() -> None:
    it = Served()
    it.publish(part(ROUTE, "web", "h", "A", "h"), part(LISTENER, "web", "name/h", "A", "h"))
    it.publish(listener("v1"))
    it.publish(
        part(LISTENER, "web", "name/h", "B", ["h"]),
        part(ROUTE, "web", "h", "B", ["h"]),
        part(ROUTE, "web", "other", "B", ["other"]),
    )
    now = (it.has(LISTENER, part="name/h"), it.has(ROUTE, part="h"), it.has(ROUTE, part="other"))
    assert now == ("A", "A", "B")
    it.publish(part(ROUTE, "web", "h", "C", ["h"]))  # the newest must not be overtaken
    it.pass_time(1)
    assert (it.has(LISTENER, part="name/h"), it.has(ROUTE, part="h")) == ("B", "C")


@pytest.mark.parametrize("type_url", [ROUTE, SECRET])
def test_what_a_listener_may_still_use_goes_with_it(type_url: str) -> None:
    it = Served()
    it.publish(part(type_url, "old", "", "there"))
    it.publish(listener("v1"))
    it.publish(listener("v2"))
    it.publish(listener("v3"), part(type_url, "old", "", None))
    assert it.has(type_url, "old") == "there"
    it.pass_time(1)
    assert it.has(type_url, "old") is None


def test_without_envoys_nothing_waits_and_a_new_one_gets_what_waited() -> None:
    it = spent()
    it.publish(listener("waits"))
    it.fleet.leave(it.envoy)
    it.fleet.envoy("two", is_aggregated=True)
    assert it.has(LISTENER) == "waits"


def test_the_wait_ends_also_if_those_who_were_there_have_left() -> None:
    it = spent()
    it.publish(listener("waits"))
    it.fleet.envoy("two", is_aggregated=True)
    it.fleet.leave(it.envoy)
    it.now += 1
    it.fleet.alarms.ring(it.now)
    assert it.has(LISTENER) == "waits"
