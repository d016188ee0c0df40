"""What one Envoy may use."""

import json

import aiohttp
import pytest

from contour import bootstrap
from contour.bootstrap import limits
from contour.host import state
from contour.xds.server import Server
from tests.contour.bootstrap.conftest import live, serving, settings
from tests.testbed.ports import free_port

pytestmark = pytest.mark.envoy


async def test_statistics_are_bounded_per_service(directory: state.StateDirectory) -> None:
    server = Server((f"unix:{directory.socket('xds.sock')}",))
    text, port = bootstrap.text(settings(directory)), free_port()
    async with serving(server, port), live(directory, text) as session:
        await _ask(port)
        async with session.get("/stats", params={"format": "json"}) as answer:
            found = [it["name"] for it in json.loads(await answer.text())["stats"] if "name" in it]
    kept = {name.removeprefix("cluster.one.") for name in found if name.startswith("cluster.one.")}
    assert {"membership_total", "upstream_cx_connect_fail", "upstream_rq_total"} <= kept
    # Envoy counts responses by where requests came from, too: `external.upstream_rq_5xx`.
    assert {name.rsplit(".", 1)[-1] for name in kept} <= limits.KEPT_OF_A_CLUSTER
    assert "server.live" in found
    assert "cluster.contour.upstream_cx_destroy" in found
    assert not [name for name in found if name.startswith(("vhost.", "sds."))]


async def _ask(port: int) -> None:
    """Nothing listens behind the cluster: every kind of statistic of a failure comes to be."""
    headers = {"Host": "example.com"}
    async with (
        aiohttp.ClientSession() as client,
        client.get(f"http://127.0.0.1:{port}/", headers=headers) as answer,
    ):
        assert answer.status == 503


async def test_a_regex_is_refused_by_envoy_only_where_we_refuse_it(
    directory: state.StateDirectory,
) -> None:
    document = bootstrap.document(settings(directory))
    del document["dynamic_resources"]
    del document["layered_runtime"]["layers"][0]  # which comes from there
    async with (
        live(directory, json.dumps(document)) as session,
        session.get("/runtime") as answer,
    ):
        entries = json.loads(await answer.text())["entries"]
    assert entries["re2.max_program_size.error_level"]["final_value"] == str(
        limits.REGEX_PROGRAM_SIZE
    )
