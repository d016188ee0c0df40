"""A server that stops ends its streams in time, whoever hangs."""

import time
from pathlib import Path
from typing import Any

from grpc import aio

from contour.xds.resources import CLUSTER
from contour.xds.server import Server
from tests.contour.xds import world
from tests.contour.xds.test_server import SHAPES, Caller, node


async def test_streams_end_in_time_also_those_that_nobody_reads(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/xds"
    server = Server((address,))
    server.fleet("web").publish(world.site("a.test", "a", 1))
    await server.start()
    alone: Any = (("grpc.use_local_subchannel_pool", 1),)
    async with (
        aio.insecure_channel(address, options=alone) as one,
        aio.insecure_channel(address, options=alone) as other,
    ):
        idle, deaf = Caller(one, SHAPES[0]), Caller(other, SHAPES[0])
        for caller in (idle, deaf):
            await caller.ask(type_url=CLUSTER, node=node())
        await idle.answer()
        for number in range(20):
            big = world.cluster("big", alt_stat_name=f"{number}" * 999_999)
            server.fleets["web"].publish([big])
            await idle.answer()
        began = time.monotonic()
        await server.stop()
        assert time.monotonic() - began < 2
        assert not server.fleets["web"].envoys
