"""Leases and Events as a real API server takes them."""

import asyncio
from typing import Any

import orjson
import pytest

from kube import election, events, lease
from kube.events import Occurrence, Recorder, Regarding, Reporter
from tests.cluster.cluster import Cluster

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]

TIMING = lease.Timing(duration=1.0, renew_deadline=0.6, retry_period=0.1)
_NOT_TAKEN = {"fieldSelector": "reason=NotTaken"}
"""Others on the same cluster tell of objects, too."""
LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}


def _lease(cluster: Cluster, namespace: str) -> Raw:
    found = cluster.get({**LEASE, "metadata": {"name": "leader", "namespace": namespace}})
    return dict(found["spec"])


async def test_candidates_that_come_and_go_lead_one_at_a_time_and_leave_the_lease_free(
    cluster: Cluster, namespace: str
) -> None:
    place = election.Place(namespace, "leader")
    terms: asyncio.Queue[str] = asyncio.Queue()
    async with cluster.client() as client:
        electors = [election.Elector(client, place, it, TIMING) for it in "abc"]

        async def term(own: election.Elector) -> None:
            assert [it.identity for it in electors if it.is_leader()] == [own.identity]
            terms.put_nowait(own.identity)
            await asyncio.Event().wait()

        async def campaign(own: election.Elector) -> None:
            await own.run(lambda: term(own))

        async with asyncio.TaskGroup() as group:
            tasks = {it.identity: group.create_task(campaign(it)) for it in electors}
            for _ in electors:
                found = await terms.get()
                assert _lease(cluster, namespace)["holderIdentity"] == found
                tasks.pop(found).cancel()
    left = _lease(cluster, namespace)
    assert "holderIdentity" not in left
    assert left["leaseTransitions"] == 2


async def test_an_event_is_accepted_counted_and_shown(
    cluster: Cluster, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "REPEATED_AFTER", 0.0)
    service = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}}
    found = cluster.create({**service, "metadata": {"name": "web", "namespace": namespace}})
    regarding = Regarding("v1", "Service", namespace, "web", found["metadata"]["uid"])
    told = Occurrence(regarding, "Warning", "NotTaken", "Validate", "a problem\n" + "x" * 2000)
    collection = events.EVENTS.path(namespace)
    async with cluster.client() as client, asyncio.TaskGroup() as group:
        recorder = Recorder(client, Reporter("projectcontour.io/contour", "contour-1"))
        task = group.create_task(recorder.run())
        async with client.stream(collection, {"watch": "1", **_NOT_TAKEN}) as lines:
            recorder.record(told)
            changes = aiter(lines)
            await anext(changes)
            recorder.record(told)
            await anext(changes)
        task.cancel()
    [event] = cluster.ask("GET", collection, **_NOT_TAKEN)["items"]
    assert event["series"]["count"] == 2
    assert recorder.dropped == 0
    shown = cluster.kubectl("describe", "service", "web", "-n", namespace).stdout
    assert "NotTaken" in shown
    assert "a problem" in shown


async def test_who_may_only_add_and_change_events_counts_on_where_another_stopped(
    cluster: Cluster, namespace: str
) -> None:
    rights = {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}
    token = cluster.service_account(namespace, "contour", [rights])
    regarding = Regarding("v1", "Namespace", namespace, namespace)
    told = Occurrence(regarding, "Warning", "NotTaken", "Validate", "a problem")
    collection = events.EVENTS.path(namespace)
    async with cluster.client() as watching, watching.stream(collection, {"watch": "1"}) as lines:
        changes = aiter(lines)
        for replica in range(3):
            async with cluster.client(cluster.kubeconfig(token)) as client:
                recorder = Recorder(client, Reporter("projectcontour.io/contour", str(replica)))
                recorder.record(told)
                async with asyncio.TaskGroup() as group:
                    task = group.create_task(recorder.run())
                    while _count(await anext(changes)) < replica + 1:
                        pass
                    task.cancel()


def _count(lines: list[bytes]) -> int:
    """How often it had happened, by the last change."""
    return int((orjson.loads(lines[-1])["object"].get("series") or {}).get("count", 1))


async def test_an_event_about_an_object_of_the_cluster_is_accepted(cluster: Cluster) -> None:
    regarding = Regarding("v1", "Namespace", "", "default")
    told = Occurrence(regarding, "Normal", "Valid", "Validate", "nothing is wrong")
    body = events.event(told, Reporter("projectcontour.io/contour", "contour-1"), _NOW)
    async with cluster.client() as client:
        found = await client.create(events.EVENTS.path("default"), body)
    assert found["regarding"]["name"] == "default"
    cluster.delete(found)


_NOW = "2026-01-01T00:00:00.000000Z"
