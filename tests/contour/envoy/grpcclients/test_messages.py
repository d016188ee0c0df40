"""The messages for gRPC clients."""

import pytest
from envoy.config.route.v3 import route_pb2

from contour.envoy.grpcclients import messages
from crds.meta import NamespacedName, ObjectRef
from dag import nodes

ONE, TWO = (nodes.ServicePort(NamespacedName("shop", it), 80) for it in ("one", "two"))
CALLED = {ONE: "one", TWO: "two", None: "nowhere"}


@pytest.mark.parametrize(
    ("shares", "clusters"),
    [
        ([(ONE, 1)], {"one": 0}),
        ([(ONE, 1), (ONE, 2)], {"one": 0}),
        ([(ONE, 1), (TWO, 0)], {"one": 0}),
        ([(ONE, 9), (TWO, 1)], {"one": 9, "two": 1}),
        ([(None, 1), (ONE, 3), (None, 2)], {"nowhere": 3, "one": 3}),
        ([(ONE, 0)], {}),
        ([], {}),
    ],
)
def test_each_cluster_stands_once_with_all_its_weight(
    shares: list[tuple[nodes.ServicePort | None, int]], clusters: dict[str, int]
) -> None:
    backends = tuple(
        nodes.Backend(nodes.Cluster(port=port) if port is not None else None, weight=weight)
        for port, weight in shares
    )
    route = nodes.Route(nodes.Match(), nodes.Forward(backends), ObjectRef("GRPCRoute", "shop", "r"))
    made = route_pb2.RouteConfiguration.FromString(messages.routes("r", [route], CALLED))
    (written,) = made.virtual_hosts[0].routes
    single, weighted = written.route.cluster, written.route.weighted_clusters.clusters
    found = {single: 0} if single else {it.name: it.weight.value for it in weighted}
    assert (found, len(found)) == (clusters, len(weighted) or bool(single))
    assert written.HasField("non_forwarding_action") == (not clusters)
