"""Redirects of backends that Envoy follows where headers say which address a client has."""

import pytest

from contour.envoy import shards
from dag import nodes
from dag.configuration.reading import Settings
from tests.contour.envoy import world
from tests.contour.envoy.served.conftest import HTTP, ONE, Served

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.asyncio(loop_scope="module"),
]

STRANGER = "8.8.8.8"
BESIDE = "bba.test"
"""A host in the table of the first one (`shards`)."""
BACKEND = world.forward(
    nodes.Cluster(HTTP.services[0].port),
    internal_redirect=nodes.InternalRedirect(cross_scheme="Always"),
)
"""It redirects to where the request says."""


def _guard(source: str) -> nodes.Policies:
    allowed = nodes.IpRange("127.0.0.0/8", source)  # type: ignore[arg-type]
    return nodes.Policies(ip_filter=nodes.IpFilter("ALLOW", (allowed,)))


def hosts(served: Served) -> None:
    """Behind TLS the address is in a header of its own, on plain HTTP it is a trusted hop's."""
    served.proxy.world.engine.write(world.SETTINGS, (), Settings(num_trusted_hops=1))
    routes = (
        world.route(world.forward(ONE), nodes.Exact("/client"), policies=_guard("Remote")),
        world.route(world.forward(ONE), nodes.Exact("/peer"), policies=_guard("Peer")),
        world.route(world.forward(ONE), nodes.Exact("/open")),
        world.route(BACKEND),
    )
    for host in ("one.test", BESIDE, "two.test"):
        served.serve(host, *routes)
    by_header = nodes.ClientTraffic(address=nodes.ClientAddress(header="x-client"))
    served.proxy.world.secure("one.test", world.tls(traffic=by_header))


@pytest.mark.parametrize(
    ("place", "status"),
    [
        ("one.test/client", 302),
        ("one.test/peer", 200),
        ("one.test/open", 200),
        (f"{BESIDE}/client", 302),
        (f"{BESIDE}/open", 302),
        ("two.test/client", 302),
    ],
)
async def test_none_leads_past_a_guard_of_the_address(
    envoy: Served, place: str, status: int
) -> None:
    assert shards.hashed(BESIDE) % shards.EXACT == shards.hashed("one.test") % shards.EXACT
    headers = {"x-forwarded-for": STRANGER, "x-client": STRANGER}
    for answer in await envoy.ask_both("one.test", "/client", **headers):
        assert answer.status == 403
    for answer in await envoy.ask_both("one.test", **headers, **{"x-location": f"http://{place}"}):
        assert answer.status == status
