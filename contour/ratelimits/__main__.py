"""The process of our rate limit service.

    python -m contour.ratelimits XDS LISTEN

`XDS` is the address of the control plane, `LISTEN` the one on which it answers Envoys, over
HTTP/1.1 (`calls`); both in gRPC's notation (`unix:PATH`). One line of standard input has the
`settings`. SIGTERM ends the process.
"""

import asyncio
import logging
import os
import socket
import ssl
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial

import grpc
from grpc import aio

from contour.ratelimits import settings, subscription
from contour.ratelimits.calls import Connection
from contour.ratelimits.counting import Counters, Memory
from contour.ratelimits.limits import Domains
from contour.ratelimits.service import Service
from contour.ratelimits.settings import Settings
from observability import signals, writing
from provisioning.identities import CONTROL_PLANE, RATE_LIMIT_CLIENT

_BACKLOG = 1024
"""Connections that may wait to be accepted: an Envoy opens one for each call under way."""


async def serve(control_plane: str, listen: str, given: Settings) -> None:
    """Answers until SIGTERM or SIGINT. Raises OSError if it cannot listen."""
    stopped = signals.StopSignals().stopped
    counters = _counters(given)
    service = Service(counters, client=RATE_LIMIT_CLIENT if given.certificate else None)

    def take(domains: Domains) -> None:
        service.domains = domains

    server = await _listening(service, listen, given)
    following = asyncio.ensure_future(
        subscription.follow(partial(_channel, control_plane, given), control_plane, take)
    )
    try:
        await stopped.wait()
    finally:
        following.cancel()
        server.close()
        await counters.close()


async def _listening(service: Service, listen: str, given: Settings) -> asyncio.Server:
    loop, made = asyncio.get_running_loop(), partial(Connection, service)
    kind, _, path = listen.partition(":")
    if kind == "unix":
        return await loop.create_unix_server(made, path, backlog=_BACKLOG)
    host, _, port = listen.rpartition(":")
    tls = _terms(given) if given.certificate else None
    server = await loop.create_server(made, host.strip("[]"), int(port), ssl=tls, backlog=_BACKLOG)
    for it in server.sockets:
        # An Envoy that vanishes with its node does not end its connections.
        it.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return server


def _terms(given: Settings) -> ssl.SSLContext:
    """TLS with our certificate, for clients with one that is signed by the authority."""
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    found.verify_mode = ssl.CERT_REQUIRED
    found.load_verify_locations(cadata=given.authority)
    with _as_file(given.certificate) as certificate, _as_file(given.key) as key:
        found.load_cert_chain(certificate, key)
    return found


@contextmanager
def _as_file(content: str) -> Generator[str]:
    """A path from which a text can be read once: `ssl` reads its own certificate only from files,
    and private keys must not be on disk. The text fits into the buffer of a pipe."""
    reader, writer = os.pipe()
    try:
        with os.fdopen(writer, "w") as file:
            file.write(content)
        yield f"/dev/fd/{reader}"
    finally:
        os.close(reader)


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
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
        stream=writing.standard_error(),
    )
    control_plane, listen = sys.argv[1:]
    asyncio.run(serve(control_plane, listen, settings.decoded(sys.stdin.buffer.readline())))
