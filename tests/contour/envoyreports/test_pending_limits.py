"""A RateLimitFilter waits until every rate limit service has its limits, and for no others."""

import pytest
from envoy.service.discovery.v3 import discovery_pb2

from contour.envoy import names
from contour.envoyreports import FleetReports, RefusedObjects
from contour.envoyreports.report import ReportDelta, whole
from contour.xds import resources, sotw, wire
from contour.xds.fleet import Fleet
from contour.xds.resources import RATE_LIMITS, Change
from contour.xds.stream import Stream
from crds.meta import ObjectRef
from dag import ratelimitclient, refusals
from dag.engine.incremental import Engine
from dag.engine.view import Plan


def limit(name: str, text: str, rule: str = "all/0") -> Change:
    part = resources.part(wire.field(3, text.encode()))
    return Change(
        names.LIMITS, names.limit(ObjectRef("RateLimitFilter", "default", name), rule), part
    )


class Replica:
    """One that serves rate limit services, and the rows that it writes."""

    def __init__(self, *filters: str) -> None:
        self.fleet = Fleet(ratelimitclient.FLEET)
        self.fleet.counted = RATE_LIMITS
        head = Change(names.LIMITS, "", resources.part(wire.field(1, b"limits")))
        self.fleet.publish([head, *(limit(it, "first") for it in filters)])
        acceptance = self.fleet.acceptance
        self.reports = FleetReports(
            *(ratelimitclient.FLEET, RefusedObjects(Engine(Plan())), lambda: None),
            *(lambda it: not acceptance.is_pending(it), acceptance),
        )
        self.fleet.observer = self.reports

    def untaken(self) -> set[str]:
        """The filters that some service is yet to take."""
        return {key.name for key, _ in self.reports.engine.rows(refusals.UNTAKEN)}


class Service:
    """A rate limit service on a stream of its own."""

    def __init__(self, fleet: Fleet) -> None:
        self._stream = Stream(sotw, lambda _: fleet, lambda: None)
        self._ask(discovery_pb2.DiscoveryRequest(type_url=RATE_LIMITS))

    def answer(self, refuses: bytes = b"\0") -> None:
        """Takes what is sent, until there is nothing more; refuses what has these words."""
        while (message := self._stream.response(0.0)) is not None:
            found = discovery_pb2.DiscoveryResponse.FromString(message)
            asked = discovery_pb2.DiscoveryRequest(
                type_url=RATE_LIMITS, response_nonce=found.nonce, version_info=found.version_info
            )
            if any(refuses in it.value for it in found.resources):
                asked.error_detail.message = "it is bad"
            self._ask(asked)

    def leave(self) -> None:
        self._stream.close(0.0)

    def _ask(self, asked: discovery_pb2.DiscoveryRequest) -> None:
        asked.node.id = "ratelimit"
        self._stream.receive(asked.SerializeToString(), 0.0)


def test_a_filter_waits_for_its_own_limits_alone() -> None:
    it = Replica("a", "b", "c")
    service = Service(it.fleet)
    assert it.untaken() == {"a", "b", "c"}
    service.answer()
    assert it.untaken() == set()
    it.fleet.publish([limit("b", "second")])
    assert it.untaken() == {"b"}
    service.answer()
    assert it.untaken() == set()


def test_the_last_of_several_services_counts() -> None:
    it = Replica("a", "b")
    services = [Service(it.fleet) for _ in range(2)]
    services[0].answer()
    assert it.untaken() == {"a", "b"}
    services[1].answer()
    it.fleet.publish([limit("a", "second")])
    services[0].answer()
    assert it.untaken() == {"a"}
    services[1].leave()
    assert it.untaken() == set()


def test_a_filter_waits_for_each_of_its_rules_and_not_for_those_that_are_gone() -> None:
    it = Replica("a")
    service = Service(it.fleet)
    service.answer()
    it.fleet.publish([limit("a", "x", "more/0"), limit("a", "x", "most/0")])
    service.answer(refuses=b"second")
    it.fleet.publish([limit("a", "second")])
    assert it.untaken() == {"a"}
    it.fleet.publish([limit("a", "second")._replace(value=None)])
    assert it.untaken() == set()


def test_what_is_refused_is_told_as_refused_and_holds_up_no_other() -> None:
    it = Replica("a", "b")
    service = Service(it.fleet)
    service.answer()
    it.fleet.publish([limit("a", "bad"), limit("b", "good")])
    service.answer(refuses=b"bad")
    assert it.untaken() == set()
    assert it.fleet.quarantine.refusal(*limit("a", "")[:2]) is not None


@pytest.mark.parametrize("first", ["leader", "follower"])
def test_services_of_other_replicas_count_whoever_is_ahead(first: str) -> None:
    leader, follower = Replica("a", "b"), Replica("a", "b")
    follower.reports.report_to(lambda delta: leader.reports.take("other", delta))
    leader.reports.take("other", whole(follower.reports.own))
    service = Service(follower.fleet)
    service.answer()
    assert leader.untaken() == set()
    order = {"leader": leader, "follower": follower}
    order.pop(first).fleet.publish([limit("a", "second")])
    assert leader.untaken() == {"a"}
    order.popitem()[1].fleet.publish([limit("a", "second")])
    assert leader.untaken() == {"a"}
    service.answer()
    assert leader.untaken() == set()


@pytest.mark.parametrize("filters", [10, 1000])
def test_an_edit_concerns_one_filter_of_any_number(filters: int) -> None:
    it = Replica(*(f"f{number}" for number in range(filters)))
    told: list[ReportDelta] = []
    service = Service(it.fleet)
    service.answer()
    it.reports.report_to(told.append)
    it.fleet.publish([limit("f1", "second")])
    service.answer()
    states = [state for delta in told for state in delta.listeners.values()]
    assert [state.is_pending for state in states if state is not None] == [True, True, False]
