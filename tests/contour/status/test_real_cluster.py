"""Statuses in a real API server: accepted by every schema, and a fixed point once they stand."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from contour.status import stored
from contour.status.addresses import Address
from contour.status.answers import Answers
from contour.status.board import Board
from contour.status.update import Sources
from contour.status.writer import Writer
from crds.gateway.references import ParentReference
from crds.meta import ObjectRef
from crds.raw import at, items
from dag import statuses
from dag.statuses import Condition, SubCondition
from kube.client import Client
from tests.cluster.cluster import Cluster

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]

CONTROLLER = "projectcontour.io/gateway-controller"
GATEWAY_API = "gateway.networking.k8s.io/v1"
TRUE = Condition("Accepted", "True", "Accepted", "accepted")
PROGRAMMED = Condition("Programmed", "False", "Pending", "Envoy is yet to accept http")
BAD = Condition("Valid", "False", "ErrorPresent", "At least one error present")
PROBLEM = SubCondition("ServiceError", "ServiceUnresolvedReference", "spec.routes[0]: not found")
FOREIGN = {
    "type": "example.com/Billed",
    "status": "True",
    "reason": "Paid",
    "message": "",
    "lastTransitionTime": "2020-01-01T00:00:00Z",
}


class Written:
    """Objects of one test in the cluster, and what is to be said of them."""

    def __init__(self, cluster: Cluster, client: Client, namespace: str) -> None:
        self.cluster = cluster
        self.client = client
        self.namespace = namespace
        self.board = Board()
        self.answers = Answers(self.board, self._generation)
        self.seen: dict[ObjectRef, stored.Seen] = {}

    def add(self, api_version: str, kind: str, spec: Raw) -> ObjectRef:
        """Creates an object, and sees it."""
        metadata = {"name": self.namespace, "namespace": self.namespace}
        if kind == "GatewayClass":
            del metadata["namespace"]
        obj = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}
        found = self.cluster.create(obj)
        subject = ObjectRef(kind, metadata.get("namespace", ""), self.namespace)
        self.seen[subject] = stored.seen(found)
        return subject

    async def write(self) -> Writer:
        """One term, until there is nothing left to write."""
        sources = Sources(self.answers, self.seen.get, lambda: CONTROLLER)
        writer = Writer(self.client, sources, lambda: self.board.told)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(writer.run())
            await asyncio.sleep(0)
            await writer.drained()
            task.cancel()
        return writer

    async def stands(self, subject: ObjectRef) -> Raw:
        """The status in the API server, which is seen now."""
        resource = stored.resource(subject.kind)
        assert resource is not None
        found = await self.client.get(resource.path(subject.namespace, subject.name))
        self.seen[subject] = stored.seen(found)
        return dict(self.seen[subject].status)

    def _generation(self, subject: ObjectRef) -> int | None:
        found = self.seen.get(subject)
        return found.generation if found else None


@asynccontextmanager
async def written(cluster: Cluster, namespace: str) -> AsyncIterator[Written]:
    async with cluster.client() as client:
        yield Written(cluster, client, namespace)


def _proxy() -> tuple[str, str, Raw]:
    return "projectcontour.io/v1", "HTTPProxy", {"virtualhost": {"fqdn": "a.example.com"}}


def _gateway() -> tuple[str, str, Raw]:
    listener = {"name": "http", "port": 80, "protocol": "HTTP"}
    return GATEWAY_API, "Gateway", {"gatewayClassName": "contour", "listeners": [listener]}


def _route() -> tuple[str, str, Raw]:
    return GATEWAY_API, "HTTPRoute", {"parentRefs": [{"name": "edge", "sectionName": "http"}]}


OBJECTS: list[tuple[tuple[str, str, Raw], statuses.Status]] = [
    (_proxy(), statuses.ContourStatus(BAD, "invalid", (PROBLEM, PROBLEM), (PROBLEM,))),
    (
        (
            "projectcontour.io/v1",
            "TLSCertificateDelegation",
            {"delegations": [{"secretName": "a", "targetNamespaces": ["*"]}]},
        ),
        statuses.ContourStatus(BAD, "invalid", (PROBLEM,)),
    ),
    (
        ("projectcontour.io/v1alpha1", "ContourConfiguration", {}),
        statuses.ContourStatus(BAD, "invalid", (PROBLEM,)),
    ),
    (
        (
            "networking.k8s.io/v1",
            "Ingress",
            {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}},
        ),
        statuses.EventStatus((PROBLEM,)),
    ),
    (
        (GATEWAY_API, "GatewayClass", {"controllerName": CONTROLLER}),
        statuses.GatewayClassStatus((TRUE,), ("Gateway", "HTTPRoute")),
    ),
    (
        _gateway(),
        statuses.GatewayStatus(
            (TRUE, PROGRAMMED),
            (statuses.ListenerStatus("http", (statuses.RouteKind("HTTPRoute"),), 3, (TRUE,)),),
            addresses=(
                statuses.Address("IPAddress", "192.0.2.1"),
                statuses.Address("Hostname", "a.example.com"),
            ),
        ),
    ),
    (
        _route(),
        statuses.RouteStatus(
            (
                statuses.ParentStatus(
                    ParentReference(name="edge", section_name="http"), CONTROLLER, (TRUE,)
                ),
            )
        ),
    ),
]


@pytest.mark.parametrize(("obj", "told"), OBJECTS, ids=[it[0][1] for it in OBJECTS])
async def test_a_status_is_accepted_and_is_not_written_again(
    cluster: Cluster, namespace: str, obj: tuple[str, str, Raw], told: statuses.Status
) -> None:
    async with written(cluster, namespace) as there:
        subject = there.add(*obj)
        there.answers.relocate([Address(ip="192.0.2.1"), Address(hostname="a.example.com")])
        there.board.put(subject, told)
        first = await there.write()
        assert first.tallies[subject.kind].success == 1, first.tallies
        before = await there.stands(subject)
        assert before
        second = await there.write()
        assert second.tallies[subject.kind].noop == 1, second.tallies
        assert await there.stands(subject) == before
        if subject.kind == "GatewayClass":
            cluster.delete({"apiVersion": obj[0], "kind": obj[1], "metadata": {"name": namespace}})


async def test_a_conflict_with_another_controller_loses_nothing(
    cluster: Cluster, namespace: str
) -> None:
    async with written(cluster, namespace) as there:
        route = there.add(*_route())
        other = {
            "parentRef": {"group": "", "kind": "Service", "name": "mesh"},
            "controllerName": "example.com/other",
            "conditions": [FOREIGN],
        }
        path = f"/apis/{GATEWAY_API}/namespaces/{namespace}/httproutes/{namespace}/status"
        await there.client.patch(path, {"status": {"parents": [other]}})  # not seen
        there.board.put(route, OBJECTS[-1][1])
        writer = await there.write()
        found = (await there.stands(route))["parents"]
    assert writer.tallies["HTTPRoute"].conflict == 1
    assert found[0] == other
    assert [it["controllerName"] for it in found] == ["example.com/other", CONTROLLER]


async def test_what_the_schema_says_at_first_is_replaced_and_what_others_say_stays(
    cluster: Cluster, namespace: str
) -> None:
    async with written(cluster, namespace) as there:
        gateway = there.add(*_gateway())
        before = items(there.seen[gateway].status["conditions"])
        assert [at(it, "type") for it in before] == ["Accepted", "Programmed"]
        path = f"/apis/{GATEWAY_API}/namespaces/{namespace}/gateways/{namespace}/status"
        conditions = [before[0], FOREIGN, before[1]]
        await there.client.patch(path, {"status": {"conditions": conditions}})
        there.board.put(gateway, OBJECTS[-2][1])
        await there.write()
        found = (await there.stands(gateway))["conditions"]
    assert [(it["type"], it["status"]) for it in found] == [
        ("Accepted", "True"),
        ("example.com/Billed", "True"),
        ("Programmed", "False"),
    ]
    assert found[1] == FOREIGN
    assert not any(it["lastTransitionTime"].startswith("1970") for it in found)


async def test_an_answer_about_an_older_version_is_not_written(
    cluster: Cluster, namespace: str
) -> None:
    async with written(cluster, namespace) as there:
        proxy = there.add(*_proxy())
        path = f"/apis/projectcontour.io/v1/namespaces/{namespace}/httpproxies/{namespace}"
        spec = {"virtualhost": {"fqdn": "b.example.com"}}
        await there.client.patch(path, {"spec": spec})  # not seen
        there.board.put(proxy, OBJECTS[0][1])
        writer = await there.write()
        assert writer.tallies["HTTPProxy"].success == 0
        assert (await there.stands(proxy))["currentStatus"] == "NotReconciled"
        await there.write()
        assert (await there.stands(proxy))["conditions"][0]["observedGeneration"] == 2


async def test_what_a_schema_refuses_is_reported_with_its_field(
    cluster: Cluster, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with written(cluster, namespace) as there:
        proxy = there.add(*_proxy())
        told = statuses.ContourStatus(Condition("Valid", "True", "no reason", ""), "valid")
        there.board.put(proxy, told)
        writer = await there.write()
    tally = writer.tallies["HTTPProxy"]
    assert (tally.failed, tally.failed_seconds > 0) == (1, True)
    [record] = [it for it in caplog.records if it.levelno == logging.ERROR]
    assert f"HTTPProxy {namespace}/{namespace}" in record.message
    assert "status.conditions[0].reason" in record.message
