"""The process of our rate limit service.

    python -m contour.ratelimits XDS LISTEN [REDIS]

`XDS` is the address of the control plane and `LISTEN` where Envoys ask, both as gRPC writes them
(`unix:PATH`). With `REDIS`, a URL, counters are there and not in memory. Ends with SIGTERM.
"""

import asyncio
import logging
import sys
from collections.abc import Sequence

from grpc import aio

from contour.ratelimits import subscription
from contour.ratelimits.counting import Counters, Memory
from contour.ratelimits.limits import Domains
from contour.ratelimits.service import Service, handler
from showing import signals


async def serve(control_plane: str, listen: str, counters: Counters) -> None:
    """Answers until SIGTERM or SIGINT."""
    stopped = signals.StopSignals().stopped
    service = Service(counters)
    server = aio.server(options=(("grpc.so_reuseport", 0),))
    server.add_generic_rpc_handlers((handler(service),))
    server.add_insecure_port(listen)

    def take(domains: Domains) -> None:
        service.domains = domains

    await server.start()
    following = asyncio.ensure_future(subscription.follow(control_plane, take))
    try:
        await stopped.wait()
    finally:
        following.cancel()
        await server.stop(0.5)
        await counters.close()


def _counters(urls: Sequence[str]) -> Counters:
    if not urls:
        return Memory()
    from contour.ratelimits.redis import Redis  # noqa: PLC0415 - an extra, perhaps not installed

    return Redis(urls[0])


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    control_plane, listen, *urls = sys.argv[1:]
    asyncio.run(serve(control_plane, listen, _counters(urls)))
