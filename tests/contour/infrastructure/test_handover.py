"""A GatewayClass whose controller changes is created again, since that field is immutable.

The message is that of an API server with the CRD of the Gateway API: "Value is immutable".
"""

from typing import Any

from contour.infrastructure import desired
from contour.infrastructure.desired import Release
from contour.infrastructure.keeping import FleetReconciler, Wanted
from dag.fleets import Fleet, FleetProblem
from kube.client import Client
from provisioning.keeping import objects
from provisioning.keeping.ownership import Owner
from provisioning.templating import Document
from tests.cluster.double.faults import Rule
from tests.cluster.double.resources import Resource
from tests.cluster.double.server import Double
from tests.contour.infrastructure.rig import of
from tests.kube.unguarded import Unguarded

GROUP, HOLD = "gateway.networking.k8s.io", "gateway-exists-finalizer.gateway.networking.k8s.io"
GATEWAY_API = (
    Resource(GROUP, ("v1",), "gatewayclasses", "GatewayClass", False),
    Resource(GROUP, ("v1",), "gateways", "Gateway"),
    Resource(GROUP, ("v1",), "tcproutes", "TCPRoute"),
)
RELEASE = Release(Owner("home", "contour"))
IMMUTABLE = (
    b'{"kind":"Status","code":422,"reason":"Invalid","message":"GatewayClass.gateway.networking.k8s'
    b'.io \\"envoy.home\\" is invalid: spec.controllerName: Invalid value: \\"b.example/b\\": Value'
    b' is immutable","details":{"causes":[{"field":"spec.controllerName","message":"Invalid value:'
    b' \\"b.example/b\\": Value is immutable"}]}}'
)


class Kept:
    """The objects of one fleet, as a watch has seen them."""

    def __init__(self, double: Double) -> None:
        self.double = double

    def of(self, _: desired.Key) -> dict[str, Document]:
        found = (it for kind in GATEWAY_API for _, it in self.double.store.all(kind.name))
        return {objects.path(it): it for it in found}

    def digest(self, _: str) -> str:
        return ""


def behind(controller: str) -> Wanted:
    gateway: dict[str, Any] = {"controllerName": controller}
    found: Fleet = of(publishing={"type": "ClusterIPService", "gateway": gateway})
    return Wanted("contour", found)


async def test_the_new_controller_gets_a_class_and_a_gateway_of_its_own() -> None:
    async with Double() as double, Client(Unguarded(double.url)) as client:
        double.add_namespace("home")
        double.define(GATEWAY_API)
        kept: Any = Kept(double)
        reconciler = FleetReconciler(client, RELEASE, kept, lambda _key, _seconds: None)
        key = desired.key(RELEASE, None)

        async def keep(controller: str) -> list[FleetProblem]:
            return [*await reconciler.keep(key, behind(controller))]

        def kinds() -> set[str]:
            return {it["kind"] for it in kept.of(key).values()}

        await keep("a.example/a")
        (made,) = (it for it in kept.of(key).values() if it["kind"] == "GatewayClass")
        double.put(made | {"metadata": made["metadata"] | {"finalizers": [HOLD]}})
        refusal = Rule("patch", "gatewayclasses", status=422, body=IMMUTABLE, times=1)
        double.script.add(refusal)
        (told,) = await keep("b.example/b")
        assert (told.is_error, "created again" in told.message) == (False, True)
        (told,) = await keep("b.example/b")
        assert told.message.endswith(f"is being removed; it waits for its finalizers: {HOLD}")
        assert kinds() == {"GatewayClass"}
        double.remove(next(iter(kept.of(key).values())))
        await keep("b.example/b")
        (made,) = (it for it in kept.of(key).values() if it["kind"] == "GatewayClass")
        assert made["spec"]["controllerName"] == "b.example/b"
        assert kinds() == {"GatewayClass", "Gateway", "TCPRoute"}
