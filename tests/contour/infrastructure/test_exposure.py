"""A fleet behind a Gateway of another controller: made, followed, repaired and taken away."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from contour.fleetstatus import located
from contour.infrastructure.children import FleetScope
from dag.fleets import Fleet, Port
from provisioning import rights
from provisioning.keeping import objects
from tests.cluster.cluster import Cluster
from tests.contour.infrastructure import rig as rigs
from tests.contour.infrastructure.rig import AS_A_DAEMON_SET, PORTS, SHARED, Rig, leading, of
from tests.testbed.apiserver import MEDIA, RefusedError

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]

CONTROLLER = "balancers.example.com/tcp"
API = "gateway.networking.k8s.io/v1"


class Behind(Rig):
    """A leader that may have a Gateway in front of its fleet, and a class for it."""

    def scope(self) -> FleetScope | None:
        found = super().scope()
        return found and replace(found, home=self.namespace, with_classes=True)

    def outer(self, kind: str, name: str = "envoy") -> Raw:
        """An object's identity."""
        if kind == "GatewayClass":
            return {"apiVersion": API, "kind": kind, "metadata": {"name": self.own_class}}
        return {
            "apiVersion": API,
            "kind": kind,
            "metadata": {"name": name, "namespace": self.namespace},
        }

    @property
    def own_class(self) -> str:
        return f"envoy.{self.namespace}"

    def routes(self) -> dict[str, Raw]:
        """By name."""
        path = self.cluster.path(self.outer("TCPRoute"), of_collection=True)
        return {it["metadata"]["name"]: it for it in self.cluster.ask("GET", path)["items"]}

    def found(self, kind: str) -> Raw | None:
        """As it is now."""
        with suppress(RefusedError):
            return self.cluster.get(self.outer(kind))
        return None

    def is_whole(self) -> bool:
        """Both ports have what they need."""
        return self.found("Gateway") is not None and set(self.routes()) == BOTH

    def listeners(self) -> list[tuple[str, str, int]]:
        """Of the Gateway."""
        found = self.found("Gateway") or {"spec": {"listeners": []}}
        return [(it["name"], it["protocol"], it["port"]) for it in found["spec"]["listeners"]]


BOTH = {"envoy-http", "envoy-https"}


def behind(**gateway: Any) -> Fleet:
    """The shared fleet, behind such a Gateway."""
    return of(publishing={"type": "ClusterIPService", "gateway": gateway})


@pytest.fixture
def rig(cluster: Cluster, namespace: str) -> Behind:
    home = rights.at_home("leader-elect", watches_everything=True)
    cluster.service_account(namespace, "leader", home, rights.of_outer_classes())
    return Behind(cluster, namespace, rigs.rig(cluster, namespace).release)


async def test_another_controller_leads_clients_to_the_service(rig: Behind) -> None:
    reference = {"group": "example.com", "kind": "Balancer", "name": "big", "namespace": "x"}
    rig.want(behind(controller_name=CONTROLLER, parameters_ref=reference))
    async with leading(rig):
        await rig.until(rig.is_whole)
        await rig.until_told("")
        gateway_class, gateway = rig.found("GatewayClass"), rig.found("Gateway")
        assert gateway_class is not None
        assert gateway is not None
        assert gateway_class["spec"] == {
            "controllerName": CONTROLLER,
            "parametersRef": reference,
        }
        assert gateway["spec"]["gatewayClassName"] == rig.own_class
        assert rig.listeners() == [("http", "TCP", 80), ("https", "TCP", 443)]
        route = rig.routes()["envoy-https"]
        (parent,), (rule,) = route["spec"]["parentRefs"], route["spec"]["rules"]
        assert (parent["name"], parent["sectionName"]) == ("envoy", "https")
        (backend,) = rule["backendRefs"]
        assert (backend["kind"], backend["name"], backend["port"]) == ("Service", "envoy", 443)
        for it in (gateway_class, gateway, *rig.routes().values()):
            assert rig.release.ownership.owns(it)
        assert rig.made()["Service"]["spec"]["type"] == "ClusterIP"


async def test_its_listeners_follow_the_ports_and_what_is_edited_is_repaired(rig: Behind) -> None:
    rig.want(behind(gateway_class_name="theirs"))
    async with leading(rig):
        await rig.until(rig.is_whole)
        assert rig.found("GatewayClass") is None
        ports = (PORTS[0], Port("tcp-53", "TCP", 53, 8053), Port("udp-53", "UDP", 53, 8053))
        rig.want(replace(behind(gateway_class_name="theirs"), ports=ports))
        await rig.until(lambda: set(rig.routes()) == {"envoy-http", "envoy-tcp-53"})
        assert rig.listeners() == [("http", "TCP", 80), ("tcp-53", "TCP", 53)]
        path = rig.cluster.path(rig.outer("Gateway"))
        other = {"spec": {"gatewayClassName": "other"}}
        rig.cluster.ask("PATCH", path, other, MEDIA["merge"])
        rig.cluster.delete(rig.outer("TCPRoute", "envoy-http"))
        await rig.until(lambda: "envoy-http" in rig.routes())
        await rig.until(lambda: _class(rig) == "theirs")


async def test_without_the_field_it_goes_and_the_service_stays(rig: Behind) -> None:
    rig.want(behind(controller_name=CONTROLLER))
    async with leading(rig):
        await rig.until(rig.is_whole)
        uid = rig.made()["Service"]["metadata"]["uid"]
        rig.want(of(publishing={"type": "ClusterIPService"}))
        await rig.until(lambda: not rig.routes() and rig.found("GatewayClass") is None)
        assert rig.found("Gateway") is None
        assert rig.made()["Service"]["metadata"]["uid"] == uid
        assert set(rig.made()) == AS_A_DAEMON_SET


async def test_while_nobody_knows_the_ports_those_that_there_are_stay(rig: Behind) -> None:
    rig.want(behind(controller_name=CONTROLLER))
    async with leading(rig):
        await rig.until(rig.is_whole)
        waiting = replace(behind(controller_name=CONTROLLER), ports=(), is_due=False)
        rig.want(replace(waiting, workload=of(pod_annotations={"a": "b"}).workload))
        await rig.until(lambda: "a" in _annotations(rig))
        rig.cluster.delete(rig.named("ServiceAccount"))
        await rig.until(lambda: "ServiceAccount" in rig.made())
        assert rig.is_whole()
        assert rig.listeners() == [("http", "TCP", 80), ("https", "TCP", 443)]


async def test_nothing_hangs_on_a_gateway_of_somebody_else(rig: Behind) -> None:
    rig.want(of(publishing={"type": "ClusterIPService"}))
    foreign = rig.outer("Gateway") | {
        "spec": {
            "gatewayClassName": "foreign",
            "listeners": [{"name": "http", "protocol": "HTTP", "port": 1}],
        }
    }
    version = rig.cluster.create(foreign)["metadata"]["resourceVersion"]
    async with leading(rig):
        await rig.until_kinds(AS_A_DAEMON_SET)
        rig.want(behind(gateway_class_name="theirs"))
        await rig.until_told(f"Gateway {rig.namespace}/envoy is there already")
        assert rig.routes() == {}
        assert rig.cluster.get(foreign)["metadata"]["resourceVersion"] == version
        rig.cluster.delete(foreign)
        await rig.until(rig.is_whole)
        await rig.until_told("")


async def test_a_right_that_is_missing_is_told_until_it_is_there(
    cluster: Cluster, namespace: str
) -> None:
    home = rights.at_home("leader-elect", watches_everything=True)
    cluster.service_account(namespace, "leader", home, rights.everywhere())
    rig = Behind(cluster, namespace, rigs.rig(cluster, namespace).release)
    rig.want(of(publishing={"type": "ClusterIPService"}))
    async with leading(rig):
        await rig.until_kinds(AS_A_DAEMON_SET)
        rig.want(behind(controller_name=CONTROLLER))
        await rig.until_told(f"GatewayClass {rig.own_class}: ")
        assert rig.found("Gateway") is None
        cluster.service_account(namespace, "other", (), rights.of_outer_classes())
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{namespace}-late"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": f"{namespace}-other",
            },
            "subjects": [{"kind": "ServiceAccount", "name": "leader", "namespace": namespace}],
        }
        cluster.create(binding)
        await rig.until(rig.is_whole)


async def test_a_kind_that_is_not_served_is_told_until_it_is(
    rig: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.want(of(publishing={"type": "ClusterIPService"}))
    async with leading(rig):
        await rig.until_kinds(AS_A_DAEMON_SET)
        with monkeypatch.context() as without:
            known = objects.RESOURCES["TCPRoute"]
            without.setitem(objects.RESOURCES, "TCPRoute", known._replace(version="v0"))
            rig.want(behind(gateway_class_name="theirs"))
            await rig.until_told(f"TCPRoute {rig.namespace}/envoy-http: ")
            assert rig.found("Gateway") is not None
        await rig.until(rig.is_whole)
        await rig.until_told("")


async def test_its_addresses_are_where_clients_reach_the_fleet(rig: Behind) -> None:
    rig.want(behind(gateway_class_name="theirs"))
    async with leading(rig):
        await rig.until(rig.is_whole)
        await rig.until(lambda: rig.services.get("contour") is not None)
        assert located(rig.services["contour"]) == ()
        addresses = [
            {"type": "IPAddress", "value": "192.0.2.7"},
            {"type": "Hostname", "value": "lb.example.com"},
            {"type": "example.com/own", "value": "it"},
        ]
        path = rig.cluster.path(rig.outer("Gateway")) + "/status"
        rig.cluster.ask("PATCH", path, {"status": {"addresses": addresses}}, MEDIA["merge"])
        wanted = [("192.0.2.7", ""), ("", "lb.example.com")]
        await rig.until(lambda: list(located(rig.services["contour"])) == wanted)
        rig.want(SHARED)
        await rig.until(lambda: (rig.services["contour"] or {}).get("kind") == "Service")


def _annotations(rig: Behind) -> Raw:
    found: Raw = rig.made()["DaemonSet"]["spec"]["template"]["metadata"]["annotations"]
    return found


def _class(rig: Behind) -> str:
    gateway = rig.found("Gateway")
    return "" if gateway is None else str(gateway["spec"]["gatewayClassName"])
