"""Redirects of backends to other hosts, which Envoy follows on plain HTTP alone."""

import json

import pytest

from contour.envoy import shards
from dag import nodes
from tests.contour.envoy import world
from tests.contour.envoy.served.conftest import HTTP, ONE, Served

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.asyncio(loop_scope="module"),
]

BACKEND = world.forward(
    nodes.Cluster(HTTP.services[0].port),
    internal_redirect=nodes.InternalRedirect(cross_scheme="Always"),
)
"""It redirects to where the request says."""
OTHER = "good.test"
BESIDE, ELSEWHERE = "b375.test", "b0.test"
"""A host in the table of the other one (`shards`), and one that is not."""


def hosts(served: Served) -> None:
    for host in (BESIDE, ELSEWHERE):
        served.serve(
            host, world.route(world.forward(ONE), nodes.Exact("/own")), world.route(BACKEND)
        )
    served.serve(OTHER, world.route(world.forward(ONE)))


@pytest.mark.parametrize("host", [BESIDE, ELSEWHERE])
async def test_a_connection_with_tls_leads_to_its_own_host(envoy: Served, host: str) -> None:
    tables = {shards.hashed(it) % shards.EXACT for it in (OTHER, host)}
    assert (len(tables) == 1) == (host == BESIDE)
    plain, secure = await envoy.ask_both(host, **{"x-location": f"https://{OTHER}/"})
    assert (plain.status, json.loads(plain.body)["host"]) == (200, OTHER)
    assert (secure.status, secure.headers["location"]) == (302, f"https://{OTHER}/")
    for answer in await envoy.ask_both(host, **{"x-location": f"https://{host}/own"}):
        assert (answer.status, json.loads(answer.body)["path"]) == (200, "/own")
