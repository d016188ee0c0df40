"""Many Envoys at once, as far as the xDS server can tell: a process of mTLS streams.

    python -m hack.measuring.faults.crowd PORT STREAMS FOLDER RESOURCE

Says how long it took until each had the resource, at first and whenever all of them have lost
their streams and come back, which each does at once. Ends with its standard input.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import grpc

from contour.xds import resources
from hack.measuring.faults import scripted


class Crowd:
    """All the streams."""

    def __init__(self, port: int, number: int, folder: Path, resource: str) -> None:
        self._address = f"127.0.0.1:{port}"
        self._number, self._resource = number, resource
        read = {it: (folder / it).read_bytes() for it in ("tls.crt", "tls.key", "ca.crt")}
        self._credentials = grpc.ssl_channel_credentials(
            read["ca.crt"], read["tls.key"], read["tls.crt"]
        )
        self._synced = 0

    async def live(self) -> None:
        """Connects, and connects again, until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for number in range(self._number):
                tasks.create_task(self._one(f"envoy-{number}"))

    async def _one(self, node: str) -> None:
        more = (("grpc.ssl_target_name_override", "control-plane"),)
        while True:
            try:
                async with scripted.client(
                    self._address, node, "web", self._credentials, more
                ) as it:
                    await it.say(resources.ROUTE, resource_names_subscribe=[self._resource])
                    answer = await it.hear(60)
                    await it.accept(answer)
                    self._count(len(answer.SerializeToString()))
                    await it.hear(600)
            except (grpc.RpcError, EOFError, asyncio.InvalidStateError, TimeoutError):
                await asyncio.sleep(0.05)

    def _count(self, size: int) -> None:
        self._synced += 1
        if self._synced % self._number == 0:
            said: dict[str, Any] = {"all": self._synced, "at": time.monotonic(), "bytes": size}
            print(json.dumps(said), flush=True)


async def main(port: int, number: int, folder: Path, resource: str) -> None:
    """Until standard input ends."""
    crowd = Crowd(port, number, folder, resource)
    async with asyncio.TaskGroup() as tasks:
        living = tasks.create_task(crowd.live())
        await asyncio.to_thread(sys.stdin.read)
        living.cancel()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]))
