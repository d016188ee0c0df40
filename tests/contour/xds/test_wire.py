"""What is joined by hand is what protobuf reads."""

from envoy.config.route.v3 import route_pb2
from envoy.service.discovery.v3 import discovery_pb2

from contour.xds import wire
from contour.xds.resources import ROUTE

BODY = route_pb2.RouteConfiguration(name="web" * 99).SerializeToString()


def test_a_delta_response_decodes_as_what_went_in() -> None:
    resources = [wire.delta_resource(name, ROUTE, "v1", BODY) for name in ("a", "b" * 200)]
    made = wire.delta_response(ROUTE, resources, ["gone"], "n1")
    said = discovery_pb2.DeltaDiscoveryResponse.FromString(made)
    assert [(it.name, it.version) for it in said.resources] == [("a", "v1"), ("b" * 200, "v1")]
    assert all(it.resource.value == BODY for it in said.resources)
    assert all(it.resource.type_url == ROUTE for it in said.resources)
    assert (said.type_url, list(said.removed_resources), said.nonce) == (ROUTE, ["gone"], "n1")


def test_a_response_of_the_whole_state_decodes_as_what_went_in() -> None:
    made = wire.sotw_response(ROUTE, [wire.sotw_resource("a", ROUTE, "", BODY)] * 2, "v2", "n2")
    said = discovery_pb2.DiscoveryResponse.FromString(made)
    assert [it.value for it in said.resources] == [BODY, BODY]
    assert (said.type_url, said.version_info, said.nonce) == (ROUTE, "v2", "n2")
