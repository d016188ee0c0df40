"""Replicas on a real API server that start while their extension is away."""

import asyncio
from pathlib import Path

import pytest
from envoy.config.route.v3 import route_components_pb2 as pb

from contour.serve import Replica
from tests.cluster.cluster import Cluster
from tests.contour.extensioncalls.served import Shaped, add_header
from tests.contour.extensioncalls.test_listeners import (
    ADDED,
    BOTH,
    PLAIN,
    add_filter,
    changing,
    names,
)
from tests.contour.test_serve import HOST, PATIENCE, configuration, proxy, running
from tests.testbed.extensionserver import Scripted, scripted
from tests.testbed.world import Document

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]


def _configuration(namespace: str, server: Scripted) -> Document:
    """Both hooks of an extension."""
    found = configuration(namespace, 0)
    host, _, port = server.address.rpartition(":")
    service = {"host": host, "port": int(port)}
    found["spec"] = {"extensions": [{"name": "shaper", "service": service} | BOTH]}
    return found


def _served(replica: Replica) -> tuple[pb.VirtualHost, bytes]:
    """The host and the listener, which are as the extension wants them."""
    found = Shaped(replica.instance, ())
    host, listener = next(found.parts(HOST)), found.listener(PLAIN)
    assert host.response_headers_to_add, "it is closed"
    assert listener is not None
    assert ADDED in names(found.managers(PLAIN)[0])
    return host, listener.SerializeToString(deterministic=True)


async def test_a_restarted_replica_serves_what_was_answered_and_another_one_the_same(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    async def serve(state: Path, *, ends_server: bool = False) -> tuple[pb.VirtualHost, bytes]:
        async with running(cluster, namespace, tmp_path, state) as of, asyncio.timeout(PATIENCE):
            while not of.replica.server.ports:
                await asyncio.sleep(0.02)
            found = _served(of.replica)
            if ends_server:
                await server.stop()
            return found

    async with scripted(changing(add_filter, add_header)) as server:
        for it in (_configuration(namespace, server), proxy(namespace, "one")):
            await asyncio.to_thread(cluster.apply, it)
        first = await serve(tmp_path / "one")
        assert await serve(tmp_path / "two", ends_server=True) == first
        assert await serve(tmp_path / "one") == first
