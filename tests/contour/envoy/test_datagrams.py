"""Datagrams that go to several backends, which are one cluster."""

import pytest
from envoy.config.endpoint.v3 import endpoint_components_pb2, endpoint_pb2

from contour.envoy import localities, names, streams
from crds.records import replace
from dag import nodes
from tests.contour.envoy import world

A, B = world.cluster("a"), world.cluster("b")
AT = nodes.Endpoints((nodes.Endpoint("10.0.0.1", 53),))
NOBODY = nodes.Endpoints()


def _stream(*shares: tuple[nodes.Cluster | None, int]) -> nodes.Stream:
    return nodes.Stream(tuple(nodes.WeightedCluster(*it) for it in shares))


def _cluster(*shares: tuple[nodes.Cluster | None, int]) -> nodes.Cluster:
    (found,) = streams.datagram_clusters(_stream(*shares))
    assert isinstance(found, nodes.Cluster)
    return found


def test_one_backend_is_a_cluster_like_any_other() -> None:
    assert _cluster((A, 3), (B, 0), (None, 0)) == A
    assert not streams.datagram_clusters(_stream((None, 1), (B, 0)))


@pytest.mark.parametrize(
    ("shares", "found", "expected"),
    [
        ([(A, 3), (B, 1)], [AT, AT], {"a": 3, "b": 1}),
        ([(A, 3), (B, 1), (A, 2)], [AT, AT], {"a": 5, "b": 1}),
        ([(None, 8), (A, 1), (B, 1)], [AT, AT], {"no-backend": 8, "a": 1, "b": 1}),
        ([(None, 8), (A, 2)], [AT], {"no-backend": 8, "a": 2}),
        ([(A, 3), (B, 1)], [AT, NOBODY], {"no-backend": 1, "a": 3}),
        ([(None, 8), (A, 2)], [NOBODY], {"no-backend": 10}),
    ],
)
def test_what_leads_nowhere_keeps_its_share(
    shares: list[tuple[nodes.Cluster | None, int]],
    found: list[nodes.Endpoints],
    expected: dict[str, int],
) -> None:
    node = _cluster(*shares)
    body = localities.encoded(node, zip(node.members, found, strict=True))
    told = endpoint_pb2.ClusterLoadAssignment.FromString(body)
    weights = {_backend(it): it.load_balancing_weight.value for it in told.endpoints}
    assert weights == expected
    for it in told.endpoints:
        (endpoint,) = it.lb_endpoints
        is_lost = it.locality.zone == "no-backend"
        assert (endpoint.endpoint.address.socket_address.port_value == 0) == is_lost
        assert endpoint.endpoint.health_check_config.disable_active_health_check == is_lost


@pytest.mark.parametrize(
    ("found", "expected"), [([AT, AT], {"a": 0, "b": 1}), ([NOBODY, AT], {"b": 1})]
)
def test_beside_a_fallback_nothing_is_dropped(
    found: list[nodes.Endpoints], expected: dict[str, int]
) -> None:
    """What takes the datagrams to drop would keep the first priority alive."""
    members = (nodes.Member(A.port, weight=2), nodes.Member(B.port, is_fallback=True))
    node = _cluster((replace(A, members=members), 2), (None, 1))
    assert node.members == members
    body = localities.encoded(node, zip(node.members, found, strict=True))
    told = endpoint_pb2.ClusterLoadAssignment.FromString(body)
    assert {_backend(it): it.priority for it in told.endpoints} == expected


def _backend(of: endpoint_components_pb2.LocalityLbEndpoints) -> str:
    return of.locality.zone.removeprefix("shop/").partition("/")[0]


def test_a_policy_and_the_least_limits_hold_for_all_of_them() -> None:
    shaped = [
        replace(it, balancing="Random", limits=limits)
        for it, limits in (
            (A, nodes.CircuitBreakers(connections=7, retries=2)),
            (B, nodes.CircuitBreakers(connections=9)),
            (world.cluster("c"), None),
        )
    ]
    found = _cluster(*((it, 1) for it in shaped))
    assert found.balancing == "Random"
    assert found.limits == nodes.CircuitBreakers(connections=7, retries=2)


def test_endpoints_with_other_shares_have_another_name() -> None:
    every = [_cluster((A, 1), (None, 1)), _cluster((A, 1), (None, 2)), _cluster((A, 1), (B, 1))]
    assert len({names.endpoints_of(it).name for it in every}) == 3
