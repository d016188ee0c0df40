"""A stream is idle for ten minutes: afterwards it must still be the same stream."""

import asyncio
from collections.abc import Iterator

from tests.testbed import probe, served, world
from tests.testbed.envoys import backends
from tests.testbed.figures import Figure
from tests.testbed.load import Connection, Request
from tests.testbed.measuring import Options, measures
from tests.testbed.world import World

NAME = "idle-stream"


@measures(NAME)
def idle_stream(options: Options) -> Iterator[Figure]:
    """Nothing happens; then a change has to arrive over the connection there was."""
    seconds = options.times(600, 20)
    connections, connected = asyncio.run(_idle(seconds))
    yield Figure("seconds without a change", seconds, "s")
    yield Figure("connections that Envoy made to the control plane", connections, "", 1)
    yield Figure("connected at the end, and a change observed", connected, "", 1, at_least=True)


async def _idle(seconds: int) -> tuple[int, int]:
    async with backends(1) as ports:
        of = World.of(10, backends=ports)
        async with served.running(of) as it:
            await asyncio.sleep(seconds)
            await it.change([of.child(0, header="awake")])
            await probe.observed(
                Connection(it.port),
                Request(world.fqdn(0), "/api/v1"),
                lambda answer: answer.headers.get("x-edit") == "awake",
            )
            made = await it.envoy.stats("cluster.contour.upstream_cx_total")
            state = await it.envoy.stats("control_plane.connected_state")
            return made["cluster.contour.upstream_cx_total"], state["control_plane.connected_state"]
