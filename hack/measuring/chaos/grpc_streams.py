"""A thousand gRPC clients on one control plane: endpoints of the Service that they call change."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from hack.measuring.streams.processes import Process
from tests.contour.envoy.grpcclients.plane import configuration, endpoints, plane, service
from tests.testbed.figures import Figure, percentile
from tests.testbed.measuring import Options, measures
from tests.testbed.programs import resident
from tests.testbed.world import Document

TARGET = "echo.shop:50051"
OTHERS = 200
"""Exported Services that nobody calls."""


@measures("grpc-streams")
def grpc_streams(options: Options) -> Iterator[Figure]:
    """Scripted streams as gRPC opens them; they share the two cores with the server."""
    number, times = (300 if options.quick else 1_000), options.times(10, 3)
    seconds, busy, each = asyncio.run(_measured(number, times))
    label = f"one endpoint changes at {number:,} streams"
    yield Figure(f"{label}: last one has it, median", percentile(seconds, 0.5), "s", 0.3)
    yield Figure(f"{label}: last one has it, slowest", max(seconds), "s")
    yield Figure(f"{label}: processor time of the server, median", percentile(busy, 0.5), "s")
    yield Figure(f"{label}: memory of the server per stream", each, "KiB", 60)


async def _measured(number: int, times: int) -> tuple[list[float], list[float], float]:
    with TemporaryDirectory(prefix="callers-") as folder:
        async with plane(Path(folder), configuration(), *_world()) as it:
            clients = Process("callers", it.address, str(number), TARGET)
            try:
                before = resident()
                await clients.start()
                await clients.line()
                await clients.line()
                each = (resident() - before) * 1024 / number
                seconds, busy = list[float](), list[float]()
                for turn in range(times):
                    start, used = time.monotonic(), time.process_time()
                    it.take(endpoints("echo", 1000, zone=f"zone-{turn}"))
                    everywhere = await clients.line()
                    seconds.append(everywhere["all"] - start)
                    busy.append(time.process_time() - used)
                return seconds, busy, each
            finally:
                await clients.end()


def _world() -> Iterator[Document]:
    yield service("echo")
    yield endpoints("echo", 1000)
    for number in range(OTHERS):
        yield service(f"other-{number}")
