"""Under which name the routes of gRPC clients get their statuses."""

import pytest

from contour.controller import Controller
from crds.contourconfiguration import DEFAULT_CONTROLLER_NAME
from crds.meta import ObjectRef
from dag.statuses import RouteStatus
from tests.contour.envoy.grpcclients.plane import configuration, route, rule, service
from tests.testbed import world
from tests.testbed.world import Document


@pytest.mark.parametrize(
    ("gateway", "name"),
    [
        (None, "projectcontour.io/grpc-clients"),
        ({}, DEFAULT_CONTROLLER_NAME),
        ({"controllerName": "example.com/own"}, "example.com/own"),
    ],
)
def test_a_status_has_a_controller_also_where_no_gateway_is_served(
    gateway: Document | None, name: str
) -> None:
    own = configuration()
    own["spec"].pop("gateway", None)
    if gateway is not None:
        own["spec"]["gateway"] = gateway
    controller = Controller(lambda _, __: None)
    controller.take(world.batch(own, service("echo"), route("canary", rule(("echo", 1)))))
    found = controller.board.told[ObjectRef("GRPCRoute", "shop", "canary")]
    assert isinstance(found, RouteStatus)
    assert [it.controller_name for it in found.parents] == [name]
    assert controller.controller_name == name, "by it, the writer finds this entry again"
