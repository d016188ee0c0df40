"""Sick endpoints and floods: what a cluster does about them; and every field that Envoy takes."""

import asyncio
from typing import Any

import pytest

from crds.meta import NamespacedName, ObjectRef
from dag import nodes
from tests.contour.envoy import proxies, world
from tests.contour.envoy.served import peers
from tests.contour.envoy.served.conftest import GRPC, HTTP, ONE, Served

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.asyncio(loop_scope="module"),
]

PEER = HTTP.services[0].port
CHECK = nodes.HealthCheck("/healthy", interval=0.05, timeout=1.0, healthy_threshold=1)
EVERY: dict[str, dict[str, Any]] = {
    # every field of a cluster at once and alone: Envoy takes them all
    "tcp": {"health_check": nodes.HealthCheck(), "health_port": 9},
    "grpc": {"protocol": "h2c", "health_check": nodes.HealthCheck("/h", host="h.test")},
    "h2": {"protocol": "h2", "tls": nodes.UpstreamTls(sni="a.test"), "idle_timeout": 0.0},
    "both": {"protocol": "tls", "tls": nodes.UpstreamTls(), "prefers_http2": True},
    "least": {
        "balancing": "WeightedLeastRequest",
        "slow_start": nodes.SlowStart(3.0, 1.5, 20),
        "connect_timeout": 0.5,
        "idle_timeout": 5.0,
    },
    "round": {"slow_start": nodes.SlowStart(3.0)},
    "maglev": {"balancing": "Maglev", "slow_start": nodes.SlowStart(3.0)},
    "random": {"balancing": "Random"},
    "limits": {"limits": nodes.CircuitBreakers(1, 2, 3, 4, 5)},
    "budget": {"retry_budget": nodes.RetryBudget(25.0, always=2)},
    "interval": {"retry_budget": nodes.RetryBudget(0.0, 3600.0, 0)},
    "outliers": {
        "outliers": nodes.OutlierDetection(5, 3, 1.0, 30.0, 10.0, 50),
        "health_check": nodes.HealthCheck("/", statuses=((200, 300), (404, 405))),
    },
    "dns": {
        "dns": nodes.DnsAddress("localhost", 1),
        "protocol": "tls",
        "tls": nodes.UpstreamTls(
            nodes.Trust((ObjectRef("Secret", "shop", "ca"),)),
            names=(nodes.AlternativeName("DNS", "a.test"), nodes.AlternativeName("URI", "u:x")),
            sni="a.test",
            client_certificate=NamespacedName("shop", "cert"),
            minimum="1.3",
            maximum="1.3",
            ciphers=("ECDHE-RSA-AES128-GCM-SHA256",),
            curves=("P-256", "X25519"),
        ),
    },
}


def hosts(served: Served) -> None:
    for name, fields in EVERY.items():
        served.serve(f"{name}.test", world.route(world.forward(world.cluster(name, **fields))))
    healthy = nodes.Cluster(PEER, health_check=CHECK)
    served.serve("healthy.test", world.route(world.forward(healthy)))
    sick = nodes.Cluster(PEER, health_check=nodes.HealthCheck("/sick", interval=0.05, timeout=1.0))
    served.serve("sick.test", world.route(world.forward(sick)))
    elsewhere = nodes.Cluster(ONE.port, health_check=CHECK, health_port=served.peers.http)
    served.serve("elsewhere.test", world.route(world.forward(elsewhere)))
    passive = nodes.OutlierDetection(
        consecutive_5xx=2, interval=0.05, ejection_time=30.0, max_ejection_percent=100
    )
    served.serve("passive.test", world.route(world.forward(nodes.Cluster(PEER, outliers=passive))))
    narrow = nodes.Cluster(
        ONE.port, limits=nodes.CircuitBreakers(connections=1, pending_requests=1)
    )
    served.serve("narrow.test", world.route(world.forward(narrow)))
    checked = nodes.ExtensionCluster(
        NamespacedName("shop", "several"),
        (nodes.WeightedPort(PEER, 3), nodes.WeightedPort(GRPC.services[0].port, 0)),
        protocol="http/1.1",
        limits=nodes.CircuitBreakers(9),
    )
    asked = nodes.Policies(authorization=nodes.Authorization(checked, "http"))
    served.serve("several.test", world.route(world.forward(ONE), policies=asked))


async def test_checked_endpoints_get_requests_while_they_are_healthy(envoy: Served) -> None:
    await proxies.until(envoy.plain, "healthy.test", 418)
    await proxies.until(envoy.plain, "sick.test", 503)
    visit = next(it for it in envoy.peers.visits if it.path == "/sick")
    assert visit.host == "contour-envoy-healthcheck"


async def test_checks_may_go_to_a_port_of_their_own(envoy: Served) -> None:
    await proxies.until(envoy.plain, "elsewhere.test", 200)
    envoy.peers.visits.clear()
    await peers.eventually(lambda: envoy.peers.visits)
    assert envoy.peers.visits[0].path in {"/healthy", "/sick"}


async def test_an_endpoint_that_only_fails_is_left_out(envoy: Served) -> None:
    for _ in range(2):
        assert (await envoy.ask("passive.test", **{"x-status": "500"})).status == 500
    answer = await proxies.until(envoy.plain, "passive.test", 503)
    assert "no healthy upstream" in answer.body


async def test_what_is_too_much_is_refused(envoy: Served) -> None:
    wait = (envoy.ask("narrow.test", "/wait?seconds=1") for _ in range(8))
    statuses = sorted(it.status for it in await asyncio.gather(*wait))
    assert statuses[0] == 200
    assert statuses[-1] == 503


async def test_an_extension_is_all_of_its_services(envoy: Served) -> None:
    assert (await envoy.ask("several.test")).status == 418
    # The server gets no headers that the user did not list, so nobody is let in.
    assert (await envoy.ask("several.test", **{"x-let-me-in": "please"})).status == 418


async def test_envoy_takes_every_field(envoy: Served) -> None:
    names = await envoy.proxy.admin("clusters?format=text")
    for name in EVERY:
        assert f"shop/{name}/80" in names
