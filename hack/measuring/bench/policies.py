"""The cost of Envoy Gateway's policies: edits among many routes that one policy affects."""

from collections.abc import Iterator, Mapping

from hack.measuring import fresh, metered
from hack.measuring.bench import edited
from hack.measuring.bench.edited import Edit
from tests.testbed import world
from tests.testbed.figures import Figure
from tests.testbed.measuring import Options, measures
from tests.testbed.world import Document, World

EDITS = 50
OF_GATEWAY = 5
MOST = 5.0
"""Milliseconds that an edit of a policy may take, the median."""
A_HOST = 0.2
"""Milliseconds more that an edit of a Gateway's policy may take for each host."""


@measures("policy-edits", "bench")
def edits(options: Options) -> Iterator[Figure]:
    """A policy of a route is edited, then one of the Gateway of all routes."""
    routes = 1_000 if options.quick else 10_000
    for what, found in fresh.fresh(_edited, routes).items():
        most = MOST + (A_HOST * routes if "Gateway" in what else 0)
        name = f"{routes:,} routes under policies: {what} edited"
        yield from edited.figures(name, found, most, None)


async def _edited(routes: int) -> dict[str, Edit]:
    of = World.of(100)
    made, _ = metered.built([
        *of.documents(),
        *world.gateway(),
        *(world.http_route(it, it % of.services) for it in range(routes)),
        *(_security(it, of, "GET") for it in range(routes)),
        *(_traffic(it, of, 7) for it in range(EDITS)),
        _of_gateway(7),
    ])  # fmt: skip
    await made.connect()
    return {
        "a SecurityPolicy of one":
            await edited.edit(made, (_security(it, of, "PUT") for it in range(EDITS))),
        "a BackendTrafficPolicy of one":
            await edited.edit(made, (_traffic(it, of, 8) for it in range(EDITS))),
        "the BackendTrafficPolicy of the Gateway":
            await edited.edit(made, (_of_gateway(8 + it) for it in range(OF_GATEWAY))),
    }  # fmt: skip


def _security(number: int, of: World, method: str) -> Document:
    spec = {"cors": {"allowOrigins": ["https://www.example.com"], "allowMethods": [method]}}
    return _of_route("SecurityPolicy", number, of, spec)


def _traffic(number: int, of: World, seconds: int) -> Document:
    return _of_route("BackendTrafficPolicy", number, of, _timeout(seconds))


def _of_gateway(seconds: int) -> Document:
    """A policy of the Gateway, for routes without a policy of their own."""
    return _policy("BackendTrafficPolicy", 0, "Gateway", "gateway", _timeout(seconds))


def _timeout(seconds: int) -> Mapping[str, object]:
    return {"timeout": {"http": {"requestTimeout": f"{seconds}s"}}}


def _of_route(kind: str, number: int, of: World, spec: Mapping[str, object]) -> Document:
    return _policy(kind, number % of.services, "HTTPRoute", f"route-{number}", spec)


def _policy(kind: str, home: int, of: str, name: str, spec: Mapping[str, object]) -> Document:
    target = {"group": "gateway.networking.k8s.io", "kind": of, "name": name}
    return {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": world.namespace(home)},
        "spec": {"targetRefs": [target], **spec},
    }
