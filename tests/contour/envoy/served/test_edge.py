"""How every listener is read: logs, traces, compression, the proxy protocol, server headers."""

import asyncio
import json
from datetime import UTC, datetime

import pytest

from crds.meta import NamespacedName
from dag import nodes
from dag.configuration import logs
from dag.problems import configuration as problems
from tests.contour.envoy import world
from tests.contour.envoy.served import peers
from tests.contour.envoy.served.conftest import GRPC, ONE, Served
from tests.testbed.patience import PATIENCE

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.asyncio(loop_scope="module"),
]


def _format(*pieces: str | nodes.Operator) -> nodes.Format:
    return nodes.Format(pieces)


ANYWHERE = problems.spec(NamespacedName("ns", "contour"))
CODE = nodes.Operator("RESPONSE_CODE")
FIELDS = (
    ("status", _format(CODE)),
    ("host", _format("100% ", nodes.Operator("REQ", ":AUTHORITY"))),
    ("none", _format(nodes.Operator("REQ", "X-NONE"))),
    ("start", _format(nodes.Operator("REQ", "X-LONG", 4))),
    ("year", _format(nodes.Operator("START_TIME", "20%y"))),
    ("whose", logs._format(ANYWHERE, logs.FIELDS["contour_config_name"])),
)


def hosts(served: Served) -> None:
    folder = served.proxy.folder
    edge = nodes.Edge(
        compression="gzip",
        server_header="pass_through",
        exact_balance=True,
        max_requests_per_connection=1,
        max_concurrent_streams=7,
        buffer_limit=65536,
        max_connections_per_event=2,
        tos=32,
        traffic_class=32,
        ja3=True,
        ja4=True,
        http_log=nodes.AccessLog(str(folder / "plain.log"), json=FIELDS),
        https_log=nodes.AccessLog(
            str(folder / "secure.log"), _format("secure ", CODE, "\n"), level="error"
        ),
        tracing=nodes.Tracing(
            GRPC,
            tags=(nodes.CustomTag("t", literal="fixed value"), nodes.CustomTag("h", header="x-h")),
            timeout=1.0,
        ),
    )
    served.proxy.world.engine.write(world.EDGES, (), edge)
    served.serve("large.test", world.route(nodes.Respond(200, "large " * 500)))
    served.serve("gone.test", world.route(nodes.Respond(404)))
    served.serve("behind.test", world.route(world.forward(ONE)))


async def _ask(port: int, host: str, *lines: str, proxied: str = "") -> bytes:
    """The whole answer on a connection that may say for whom it was opened."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = "\r\n".join((f"GET / HTTP/1.1\r\nhost: {host}", *lines))
    writer.write(f"{proxied}{head}\r\n\r\n".encode())
    async with asyncio.timeout(PATIENCE):
        found = await reader.read()
    writer.close()
    return found


async def test_answers_are_compressed_for_those_who_can_read_that(envoy: Served) -> None:
    found = await _ask(envoy.plain, "large.test", "accept-encoding: gzip")
    assert b"content-encoding: gzip" in found
    assert len(found) < 500
    found = await _ask(envoy.plain, "large.test")
    assert found.count(b"large ") == 500


async def test_a_connection_ends_after_so_many_requests_and_names_the_server(
    envoy: Served,
) -> None:
    found = await _ask(envoy.plain, "behind.test")
    assert b"connection: close" in found
    assert b"server: Python" in found


async def test_logs_have_the_form_that_is_asked_for(envoy: Served) -> None:
    await _ask(envoy.plain, "gone.test", "x-long: abcdefgh")
    path = envoy.proxy.folder / "plain.log"
    await peers.eventually(lambda: "gone.test" in path.read_text())
    lines = [json.loads(it) for it in path.read_text().splitlines()]
    year = str(datetime.now(UTC).year)
    written = {"host": "100% gone.test", "start": "abcd", "year": year, "whose": "front"}
    assert {"status": "404", **written} in [
        {key: str(value) for key, value in it.items()} for it in lines
    ]


async def test_no_client_forges_a_line_of_the_log_or_a_field(envoy: Served) -> None:
    forged = '","\\'
    await _ask(envoy.plain, "gone.test", f"x-long: {forged}")
    path = envoy.proxy.folder / "plain.log"
    await peers.eventually(lambda: json.dumps(forged) in path.read_text())
    lines = [json.loads(it) for it in path.read_text().splitlines()]
    assert forged in [it.get("start") for it in lines]
    assert {name for it in lines for name in it} <= {name for name, _ in FIELDS}


async def test_traces_reach_the_collector(envoy: Served) -> None:
    await _ask(envoy.plain, "behind.test")
    await peers.eventually(lambda: any(b"behind.test" in it for it in envoy.peers.traced))
    assert b"fixed value" in envoy.peers.traced[-1]
    assert b"service.name" in envoy.peers.traced[-1]


async def test_who_a_proxy_speaks_for_is_believed(envoy: Served) -> None:
    made = envoy.proxy.world
    made.engine.write(world.EDGES, (), nodes.Edge(use_proxy_protocol=True))
    await envoy.proxy.publish()
    await peers.eventually(lambda: envoy.proxy.fleet.acceptance.is_settled)
    proxied = "PROXY TCP4 192.0.2.7 127.0.0.1 1234 80\r\n"
    found = await _ask(envoy.plain, "behind.test", "connection: close", proxied=proxied)
    assert b'"x-forwarded-for": "192.0.2.7"' in found
