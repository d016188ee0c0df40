"""The process of our rate limit service.

    python -m contour.ratelimits XDS LISTEN

`XDS` is the address of the control plane and `LISTEN` where Envoys ask, both as gRPC writes them
(`unix:PATH`). One line of standard input has the `settings`. Ends with SIGTERM.
"""

import asyncio
import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import grpc
from grpc import aio

from contour.ratelimits import settings, subscription
from contour.ratelimits.counting import Counters, Memory
from contour.ratelimits.limits import Domains
from contour.ratelimits.service import Service, handler
from contour.ratelimits.settings import Settings
from provisioning.identities import CONTROL_PLANE, RATE_LIMIT_CLIENT
from showing import signals

WORKERS = 32
"""Threads that answer: so many hits can share a round trip to a Redis."""


async def serve(control_plane: str, listen: str, given: Settings) -> None:
    """Answers until SIGTERM or SIGINT."""
    stopped = signals.StopSignals().stopped
    counters = _counters(given)
    service = Service(counters, client=RATE_LIMIT_CLIENT if given.certificate else None)
    workers = ThreadPoolExecutor(WORKERS)
    server = grpc.server(workers, options=(("grpc.so_reuseport", 0),))
    server.add_generic_rpc_handlers((handler(service),))
    _listen(server, listen, given)

    def take(domains: Domains) -> None:
        service.domains = domains

    server.start()
    following = asyncio.ensure_future(
        subscription.follow(partial(_channel, control_plane, given), control_plane, take)
    )
    try:
        await stopped.wait()
    finally:
        following.cancel()
        await asyncio.to_thread(server.stop(0.5).wait)
        counters.close()


def _listen(server: grpc.Server, listen: str, given: Settings) -> None:
    if not given.certificate:
        server.add_insecure_port(listen)
        return
    pair = (given.key.encode(), given.certificate.encode())
    credentials = grpc.ssl_server_credentials(
        [pair], given.authority.encode(), require_client_auth=True
    )
    server.add_secure_port(listen, credentials)


def _channel(control_plane: str, given: Settings) -> aio.Channel:
    options = (("grpc.max_receive_message_length", -1),)
    if not given.certificate:
        return aio.insecure_channel(control_plane, options)
    credentials = grpc.ssl_channel_credentials(
        given.authority.encode(), given.key.encode(), given.certificate.encode()
    )
    name = ("grpc.ssl_target_name_override", CONTROL_PLANE)
    return aio.secure_channel(control_plane, credentials, (*options, name))


def _counters(given: Settings) -> Counters:
    if not given.redis:
        return Memory()
    from contour.ratelimits.redis import Redis  # noqa: PLC0415 - an extra, perhaps not there

    return Redis(given.redis, given.redis_authority)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    control_plane, listen = sys.argv[1:]
    asyncio.run(serve(control_plane, listen, settings.decoded(sys.stdin.buffer.readline())))
