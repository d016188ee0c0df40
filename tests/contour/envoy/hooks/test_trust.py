"""What a host that comes back from extensions must not say, wherever it says it."""

from envoy.config.rbac.v3 import rbac_pb2
from envoy.config.route.v3 import route_components_pb2 as pb

from contour.envoy import encoding
from contour.envoy.hooks import trust


def _nested(levels: int) -> pb.VirtualHost:
    """A host with a route to the cluster `theirs` behind permissions of so many levels."""
    route = pb.Route(route=pb.RouteAction(cluster="theirs"))
    permission = rbac_pb2.Permission()
    permission.matcher.typed_config.CopyFrom(encoding.packed(route))
    for _ in range(levels):
        permission = rbac_pb2.Permission(not_rule=permission)
    host = pb.VirtualHost(name="a", domains=["a"])
    host.typed_per_filter_config["x"].CopyFrom(encoding.packed(permission))
    return host


def test_a_cluster_is_found_however_deep_it_is_named() -> None:
    for levels in (1, 39, 60, 95):
        found = list(trust.refusals(_nested(levels), frozenset(), "which nobody has"))
        assert found == ["names the cluster 'theirs', which nobody has"], levels
