"""Where clients reach what is behind a Service that we keep."""

from typing import Any

import pytest

from contour.fleetstatus import cluster_ips, located
from contour.status.addresses import Address

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
