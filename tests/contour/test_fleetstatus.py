"""Where fleets may be, and where clients reach what is behind a Service that we keep."""

from typing import Any

import pytest

from contour.controller import Controller
from contour.events import Batch, Event
from contour.fleetstatus import FleetStatus, cluster_ips, located
from contour.infrastructure.children import FleetScope
from contour.kubernetes.cluster import Cluster
from contour.kubernetes.scope import Scope
from contour.status.addresses import Address
from crds.decode import Decoded, decode
from crds.meta import NamespacedName
from crds.raw import Raw
from kube import kubeconfig
from kube.client import Client

OWN = NamespacedName("projectcontour", "contour")
PER_GATEWAY: Raw = {"gateway": {"mode": "PerGateway", "only": True}}
PUBLISHED: Raw = {"networkPublishing": {"type": "LoadBalancerService"}}
AT_HOME = FleetScope((OWN.namespace,), home=OWN.namespace, with_classes=True)
EVERYWHERE = FleetScope(("",), with_secrets=True, home=OWN.namespace, with_classes=True)

BALANCED = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "lb.example.com"}]}}
INSIDE = ["10.0.0.1", "2001:db8::1"]


@pytest.mark.parametrize(
    ("service", "found"),
    [
        (None, ()),
        ({"spec": {"type": "LoadBalancer", "clusterIPs": INSIDE}}, ()),
        (
            {"spec": {"type": "LoadBalancer", "clusterIPs": INSIDE}, "status": BALANCED},
            (Address(ip="192.0.2.1"), Address(hostname="lb.example.com")),
        ),
        ({"spec": {"type": "ClusterIP", "clusterIPs": INSIDE}}, tuple(map(Address, INSIDE))),
        ({"spec": {"type": "NodePort", "clusterIPs": INSIDE}}, tuple(map(Address, INSIDE))),
        ({"spec": {"type": "ClusterIP", "clusterIPs": ["None"]}}, ()),
        ({"spec": {"type": "ClusterIP"}}, ()),
    ],
)
def test_an_address_is_one_at_which_the_ports_are_those_of_the_listeners(
    service: dict[str, Any] | None, found: tuple[Address, ...]
) -> None:
    assert located(service) == found


@pytest.mark.parametrize(
    ("service", "found"),
    [
        (None, ()),
        ({"spec": {"type": "LoadBalancer", "clusterIPs": INSIDE}}, tuple(map(Address, INSIDE))),
        ({"spec": {"type": "ClusterIP", "clusterIPs": INSIDE}}, tuple(map(Address, INSIDE))),
        ({"spec": {"type": "ClusterIP", "clusterIPs": ["None"]}}, ()),
        ({"kind": "Gateway", "spec": {"clusterIPs": INSIDE}}, ()),
    ],
)
def test_clients_within_the_cluster_reach_the_cluster_ips_of_a_service(
    service: dict[str, Any] | None, found: tuple[Address, ...]
) -> None:
    assert cluster_ips(service) == found


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({}, None),
        ({"envoy": PUBLISHED}, AT_HOME),
        ({"envoy": {**PUBLISHED, "managed": False}}, None),
        (PER_GATEWAY, EVERYWHERE),
        ({**PER_GATEWAY, "envoy": PUBLISHED}, EVERYWHERE),
        ({**PER_GATEWAY, "envoy": {**PUBLISHED, "managed": False}}, None),
    ],
)
def test_fleets_are_looked_for_where_gateways_may_have_had_some(
    spec: Raw, found: FleetScope | None
) -> None:
    controller, status = _following()
    assert status.scope() is None
    controller.take(_configured(spec))
    assert status.scope() == found


def test_gateways_are_not_known_before_the_first_build_is_whole() -> None:
    controller, status = _following()
    assert not status.knows_gateways()
    for _ in controller.building(_configured(PER_GATEWAY)):
        assert not status.knows_gateways()
    assert status.knows_gateways()


def _following() -> tuple[Controller, FleetStatus]:
    """Of a cluster of which no collection is followed."""
    controller = Controller(None)
    controller.follow(OWN)
    cluster = Cluster(Client(kubeconfig.Kubeconfig("")), kinds=())
    service = NamespacedName(OWN.namespace, "envoy")
    return controller, FleetStatus(controller, cluster, Scope(own=OWN.namespace), service, print)


def _configured(spec: Raw) -> Batch:
    metadata = {"name": OWN.name, "namespace": OWN.namespace}
    kind = {"apiVersion": "projectcontour.io/v1alpha1", "kind": "ContourConfiguration"}
    found = decode({**kind, "metadata": metadata, "spec": spec})
    assert isinstance(found, Decoded)
    return Batch((Event(found.kind, found.key, found.object),), {})
