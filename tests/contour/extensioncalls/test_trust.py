"""What a reply must not say closes the route or host that says it (500), and is told."""

from collections.abc import Callable
from typing import Any

import pytest
from envoy.config.core.v3 import grpc_service_pb2
from envoy.config.route.v3 import route_components_pb2 as pb
from envoy.extensions.filters.http.ext_authz.v3 import ext_authz_pb2
from google.protobuf import any_pb2, struct_pb2, wrappers_pb2

from tests.contour.extensioncalls.served import WORLD, add_header, changing, shaped
from tests.testbed import world

AUTHORIZATION = "envoy.filters.http.ext_authz"
LIMIT = "envoy.filters.http.local_ratelimit"
Change = Callable[[pb.VirtualHost], None]


def _route(change: Callable[[pb.Route], None]) -> Change:
    """Changes the last route, whose prefix is `/`."""
    return lambda host: change(host.routes[-1])


def _cluster(route: pb.Route) -> None:
    route.route.cluster = "team-1/other/80/0123456789"


def _by_header(route: pb.Route) -> None:
    route.route.cluster_header = "x-cluster"


def _share(route: pb.Route) -> None:
    share = route.route.weighted_clusters.clusters.add(name="xds_cluster")
    share.weight.value = 1


def _mirror(route: pb.Route) -> None:
    route.route.request_mirror_policies.add(cluster="xds_cluster")


def _our_header(route: pb.Route) -> None:
    route.request_headers_to_add.add().header.key = "X-Contour-Routes"


def _removed_header(route: pb.Route) -> None:
    route.request_headers_to_remove.append("x-contour-routes")


def _our_metadata(route: pb.Route) -> None:
    route.metadata.filter_metadata["contour.admission"].update({"upgrade": "x"})


def _unknown_filter(route: pb.Route) -> None:
    route.typed_per_filter_config["example.guard"].Pack(struct_pb2.Struct())


def _inside(route: pb.Route) -> None:
    settings = ext_authz_pb2.CheckSettings(
        grpc_service=grpc_service_pb2.GrpcService(
            envoy_grpc=grpc_service_pb2.GrpcService.EnvoyGrpc(cluster_name="nobody")
        )
    )
    told = ext_authz_pb2.ExtAuthzPerRoute(check_settings=settings)
    route.typed_per_filter_config[AUTHORIZATION].Pack(told)


def _guard_off(route: pb.Route) -> None:
    route.typed_per_filter_config[LIMIT].Pack(pb.FilterConfig(disabled=True))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_route(_cluster), "names the cluster 'team-1/other/80/0123456789'"),
        (_route(_by_header), "sets cluster_header"),
        (_route(_share), "names the cluster 'xds_cluster'"),
        (_route(_mirror), "names the cluster 'xds_cluster'"),
        (_route(_our_header), "names the header x-contour-routes"),
        (_route(_removed_header), "names the header x-contour-routes"),
        (_route(_our_metadata), "writes metadata of contour.admission"),
        (_route(_unknown_filter), "configures the filter example.guard, which no listener has"),
        (_route(_inside), "names the cluster 'nobody'"),
        (_route(_guard_off), f"changes what the filter {LIMIT} is told"),
    ],
)
async def test_a_route_that_must_not_be_is_closed_alone_and_told(change: Change, why: str) -> None:
    async with _one(change) as of:
        assert of.paths(0) == ["/api/v1", "/api/", "500"]
        told = of.told("HTTPProxy", world.namespace(0), "root-0")
        assert f"{why}" in told
        assert "in route HTTPProxy/team-0/root-0/" in told
        assert "answered with 500" in told


def _matcher(host: pb.VirtualHost) -> None:
    host.matcher.SetInParent()


def _whole(host: pb.VirtualHost) -> None:
    host.request_mirror_policies.add(cluster="nobody")


def _renamed(host: pb.VirtualHost) -> None:
    host.routes[-1].ClearField("name")


def _narrowed(host: pb.VirtualHost) -> None:
    host.routes[-1].match.prefix = "/narrow"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_matcher, "sets matcher"),
        (_whole, "'nobody'"),
        (_renamed, "leaves out the route HTTPProxy/team-0/root-0/"),
        (_narrowed, "changes which requests the route HTTPProxy/team-0/root-0/"),
    ],
)
async def test_a_host_that_must_not_be_is_closed_as_a_whole(change: Change, why: str) -> None:
    async with _one(change) as of:
        assert of.paths(0) == ["500", "500", "500"]
        assert why in of.told("HTTPProxy", world.namespace(0), "root-0")


def _known(host: pb.VirtualHost) -> None:
    """What an extension may do: a route of its own to a cluster of the host, an unknown type."""
    made = host.routes.add(name="mine", match=pb.RouteMatch(prefix="/mine"))
    made.route.cluster = host.routes[2].route.cluster
    host.routes[0].route.timeout.seconds = 3
    told = ext_authz_pb2.ExtAuthzPerRoute(disabled=True)
    made.typed_per_filter_config[AUTHORIZATION].Pack(told)
    strange = any_pb2.Any(type_url="type.googleapis.com/example.Unknown", value=b"\xff")
    made.metadata.typed_filter_metadata["example"].CopyFrom(strange)
    made.route.max_stream_duration.max_stream_duration.seconds = 1
    host.include_attempt_count_in_response = wrappers_pb2.BoolValue(value=True).value
    add_header(host)


async def test_what_else_it_says_is_served() -> None:
    async with _one(_known) as of:
        assert of.paths(0) == ["/api/v1", "/api/", "/", "/mine"]
        assert not of.told("HTTPProxy", world.namespace(0), "root-0")
        host = of.host(0)
        assert host is not None
        assert host.routes[3].metadata.typed_filter_metadata["example"].value == b"\xff"
        assert LIMIT in host.routes[2].typed_per_filter_config, "its guard is there again"
        assert AUTHORIZATION in host.typed_per_filter_config, "the filter is enabled"


def _one(change: Change) -> Any:
    """A world whose host 0 has a guard."""

    def only_first(host: pb.VirtualHost) -> None:
        if host.name == world.fqdn(0):
            change(host)

    limited = WORLD.root(0)
    limited["spec"]["routes"][0]["rateLimitPolicy"] = {"local": {"requests": 1, "unit": "second"}}
    documents = [it for it in WORLD.documents() if it["metadata"]["name"] != "root-0"]
    return shaped(changing(only_first), documents=[*documents, limited])
