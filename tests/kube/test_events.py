"""Events: told once, counted when they happen again, and never in anybody's way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kube import events
from kube.budgets import Rate
from kube.client import Client
from kube.events import Occurrence, Recorder, Regarding, Reporter
from tests.cluster.double.faults import Rule
from tests.cluster.double.resources import Name
from tests.cluster.double.server import Double
from tests.kube.unguarded import Unguarded

Raw = dict[str, Any]

REPORTER = Reporter("projectcontour.io/contour", "contour-7d4b-x2x")
WEB = Regarding("networking.k8s.io/v1", "Ingress", "default", "web", "uid-1")
BROKEN = Occurrence(WEB, "Warning", "BackendUnresolved", "Validate", "Service api is not found")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "PACE", 0.0)


@asynccontextmanager
async def recorder() -> AsyncIterator[tuple[Double, Recorder]]:
    async with Double() as double, Client(Unguarded(double.url)) as client:
        found = Recorder(client, REPORTER)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(found.run())
            yield double, found
            task.cancel()


def told(double: Double) -> list[Raw]:
    return [it for _, it in double.store.all(Name("events.k8s.io", "events"))]


async def until(double: Double, events: int, times: int = 1) -> None:
    """Waits until so many Events are there, and the last one has happened so often."""
    while len(told(double)) < events or _times(told(double)[-1]) < times:
        await double.store.grow()


def _times(event: Raw) -> int:
    return int(event.get("series", {}).get("count", 1))


async def test_an_event_tells_what_happened_to_which_object_and_who_says_so() -> None:
    async with recorder() as (double, found):
        found.record(BROKEN)
        await until(double, 1)
    [event] = told(double)
    assert event["regarding"] == {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "namespace": "default",
        "name": "web",
        "uid": "uid-1",
    }
    assert (event["type"], event["reason"]) == ("Warning", "BackendUnresolved")
    assert event["note"] == "Service api is not found"
    assert event["reportingController"] == "projectcontour.io/contour"
    assert event["metadata"]["namespace"] == "default"
    assert event["metadata"]["name"].startswith("web.")
    assert "series" not in event


async def test_what_happens_again_soon_is_counted_and_not_sent() -> None:
    async with recorder() as (double, found):
        for _ in range(3):
            found.record(BROKEN)
        await until(double, 1, 3)
        assert _times(told(double)[0]) == 3
        for _ in range(5):
            found.record(BROKEN)
        other = BROKEN._replace(note="Service web is not found")
        found.record(other)
        await until(double, 2)
        assert len(told(double)) == 2
        assert double.count("patch", "events") == 1


async def test_what_happens_again_later_is_told_with_its_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(events, "REPEATED_AFTER", 0.01)
    async with recorder() as (double, found):
        found.record(BROKEN)
        await until(double, 1)
        found.record(BROKEN)
        await until(double, 1, 2)
    assert _times(told(double)[0]) == 2


async def test_another_replica_counts_on_where_the_last_one_stopped() -> None:
    async with recorder() as (double, first):
        first.record(BROKEN)
        await until(double, 1)
        async with Client(Unguarded(double.url)) as client, asyncio.TaskGroup() as group:
            second = Recorder(client, REPORTER._replace(instance="contour-7d4b-other"))
            second.record(BROKEN)
            task = group.create_task(second.run())
            await until(double, 1, 2)
            task.cancel()
    assert _times(told(double)[0]) == 2


async def test_an_event_that_has_expired_is_told_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "REPEATED_AFTER", 0.01)
    async with recorder() as (double, found):
        found.record(BROKEN)
        await until(double, 1)
        double.remove(told(double)[0])
        found.record(BROKEN)
        await until(double, 1)


async def test_an_event_of_the_cluster_is_told_in_the_default_namespace() -> None:
    async with recorder() as (double, found):
        gateway_class = Regarding("gateway.networking.k8s.io/v1", "GatewayClass", "", "contour")
        found.record(BROKEN._replace(regarding=gateway_class))
        await until(double, 1)
    [event] = told(double)
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["regarding"]


async def test_an_event_that_is_refused_is_dropped_and_the_next_one_is_told() -> None:
    async with recorder() as (double, found):
        double.script.add(Rule(verb="create", resource="events", status=403, times=1))
        found.record(BROKEN)
        found.record(BROKEN._replace(reason="Other"))
        await until(double, 1)
    assert [it["reason"] for it in told(double)] == ["Other"]
    assert found.dropped == 1


async def test_a_server_that_is_away_is_told_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "LONGEST_PAUSE", 0.01)
    async with recorder() as (double, found):
        double.script.add(Rule(verb="create", resource="events", drop=True, times=1))
        double.script.add(Rule(verb="create", resource="events", status=500, times=2))
        found.record(BROKEN)
        await until(double, 1)
    assert len(told(double)) == 1
    assert found.dropped == 0


async def test_too_many_at_once_are_dropped_and_counted() -> None:
    async with Client(Unguarded("http://127.0.0.1:9")) as client:
        found = Recorder(client, REPORTER)
        for it in range(events.MOST_WAITING + 7):
            found.record(BROKEN._replace(regarding=WEB._replace(name=f"web-{it}")))
    assert found.dropped == 7


async def test_of_one_object_no_more_is_told_than_its_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1_000.0
    monkeypatch.setattr(events, "monotonic", lambda: now)
    async with recorder() as (double, found):
        for count in range(100):
            found.record(BROKEN._replace(note=f"edit {count}"))
        other = BROKEN._replace(regarding=WEB._replace(name="api", uid="uid-2"))
        found.record(other)
        await until(double, events.OF_ONE.burst + 1)
        assert found.dropped == 100 - events.OF_ONE.burst
        now += events.OF_ONE.period
        found.record(BROKEN._replace(note="a minute later"))
        found.record(BROKEN._replace(note="and another one"))
        await until(double, events.OF_ONE.burst + 2)
    notes = [it["note"] for it in told(double)]
    assert "a minute later" in notes
    assert "and another one" not in notes


async def test_thousands_of_objects_are_no_storm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even for an API server that takes Events as fast as they come."""
    now, most = 1_000.0, 60
    monkeypatch.setattr(events, "monotonic", lambda: now)
    monkeypatch.setattr(events, "OF_ALL", Rate(most, 1.0))
    async with recorder() as (double, found):
        for count in range(3_000):
            found.record(BROKEN._replace(regarding=WEB._replace(name=f"web-{count}")))
            if count % 20 == 19:
                await until(double, min(count + 1, most))
        now += 10.0
        for count in range(3_000, 3_100):
            found.record(BROKEN._replace(regarding=WEB._replace(name=f"web-{count}")))
        await until(double, most + 10)
    assert len(told(double)) == most + 10
    assert found.dropped == 3_100 - most - 10


def test_texts_stay_as_short_as_the_api_server_wants_them() -> None:
    long = BROKEN._replace(
        regarding=WEB._replace(name="a" * 253), note="\N{EURO SIGN}" * 1000, reason="R" * 200
    )
    event: Raw = events.event(long, REPORTER, "2026-01-01T00:00:00.000000Z")
    assert len(event["note"].encode()) <= 1024
    assert len(event["metadata"]["name"]) <= 253
    assert len(event["reason"]) == 128
