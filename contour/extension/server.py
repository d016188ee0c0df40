"""The server that an extension runs in: gRPC over TCP or a Unix socket, with TLS or without."""

import asyncio
import logging
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import click
import grpc
from grpc import aio
from pydantic import ValidationError

from contour.extension import answering
from contour.extension.interface import Extension, InvalidError
from contour.hooks import wire
from contour.hooks.wire import Hook

log = logging.getLogger(__name__)

MAX_MESSAGE_SIZE = 64 << 20
"""Bytes. The control plane has a bound of its own, which is lower."""
GRACE = 10.0
"""Seconds that open questions have when the server stops."""
_MOST_SAID = 2048
"""Bytes of an error's text. It is sent in a header, where a byte may take three (`%0A`); headers of
more than 8 KiB are not taken for sure."""
_HEALTH = "grpc.health.v1.Health"
_SERVING = b"\x08\x01"
"""The encoded answer of gRPC's health service to a probe, such as Kubernetes' `grpc` probes."""


@dataclass(frozen=True, slots=True)
class Tls:
    """Files in PEM. They are read at each handshake, so that renewed ones are used."""

    certificate: Path
    private_key: Path
    client_authority: Path | None = None
    """CA certificates: clients must have a certificate of one of them."""

    def credentials(self) -> grpc.ServerCredentials:
        """For gRPC. Raises OSError if a file cannot be read now."""
        is_mutual = self.client_authority is not None
        first, renewed = self.read(), _Renewal(self).renewed
        return grpc.dynamic_ssl_server_credentials(first, renewed, is_mutual)

    def read(self) -> grpc.ServerCertificateConfiguration:
        """The content of the files. Raises OSError."""
        pair = (self.private_key.read_bytes(), self.certificate.read_bytes())
        clients = None if self.client_authority is None else self.client_authority.read_bytes()
        return grpc.ssl_server_certificate_configuration([pair], clients)


class _Renewal:
    """Reads the files again. The log tells once why they cannot be read."""

    def __init__(self, files: Tls) -> None:
        self._files = files
        self._told = ""

    def renewed(self) -> grpc.ServerCertificateConfiguration | None:
        """What to serve from now on; None: what was served before. gRPC calls it in its own
        threads."""
        try:
            found = self._files.read()
        except OSError as error:
            if self._told != str(error):
                log.warning("certificates cannot be read again: %s", error)
            self._told = str(error)
            return None
        self._told = ""
        return found


class Server:
    """A server, from the beginning to the end of an `async with`.

    The address is `HOST:PORT`, where port 0 is any that is free, or `unix:/absolute/path`.
    """

    def __init__(
        self, extension: Extension, address: str, tls: Tls | None = None, grace: float = GRACE
    ) -> None:
        self.address = address
        """Where it listens, with the real port once it does."""
        self._grace = grace
        size = MAX_MESSAGE_SIZE
        self._server = aio.server(
            options=[
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", size),
                ("grpc.max_send_message_length", size),
            ]
        )
        self._tls = tls
        methods = {
            rpc: grpc.unary_unary_rpc_method_handler(_answering(extension, hook))
            for hook, rpc in wire.RPCS.items()
        }
        health = {"Check": grpc.unary_unary_rpc_method_handler(_check)}
        self._server.add_generic_rpc_handlers(
            [
                grpc.method_handlers_generic_handler(wire.SERVICE, methods),
                grpc.method_handlers_generic_handler(_HEALTH, health),
            ]
        )

    async def __aenter__(self) -> Self:
        """Listens. Raises RuntimeError or OSError if it cannot."""
        if self._tls is None:
            port = self._server.add_insecure_port(self.address)
        else:
            port = self._server.add_secure_port(self.address, self._tls.credentials())
        if not self.address.startswith("unix:"):
            self.address = f"{self.address.rpartition(':')[0]}:{port}"
        await self._server.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        """Takes no new questions, and waits for the open ones."""
        await self._server.stop(self._grace)


def _answering(
    extension: Extension, hook: Hook
) -> Callable[[bytes, aio.ServicerContext[bytes, bytes]], Awaitable[bytes]]:
    async def answer(question: bytes, call: aio.ServicerContext[bytes, bytes]) -> bytes:
        try:
            return await answering.answer(extension, hook, question)
        except (InvalidError, ValidationError, wire.UnreadableError) as error:
            code, text = grpc.StatusCode.INVALID_ARGUMENT, str(error)
        except Exception as error:
            log.exception("%s failed", wire.RPCS[hook])
            code, text = grpc.StatusCode.INTERNAL, f"{type(error).__name__}: {error}"
        return await call.abort(code, _shortened(text))

    return answer


def _shortened(text: str) -> str:
    """A text as far as it can be sent."""
    body = text.encode(errors="replace")
    if len(body) <= _MOST_SAID:
        return body.decode()
    return body[: _MOST_SAID - 3].decode(errors="ignore") + "…"


async def _check(_: bytes, __: aio.ServicerContext[bytes, bytes]) -> bytes:
    return _SERVING


async def _serve(extension: Extension, address: str, tls: Tls | None) -> None:
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with Server(extension, address, tls) as server:
        log.info("listening on %s", server.address)
        await stopped.wait()
        log.info("stopping")


def run(extension: Extension) -> None:
    """The whole command of an extension server: reads its options and serves until SIGTERM."""
    path = click.Path(path_type=Path, exists=True, dir_okay=False)

    @click.command(help=type(extension).__doc__)
    @click.option(
        "--listen", default="127.0.0.1:5005", show_default=True,
        help="Where to listen: HOST:PORT, or unix:/absolute/path.",
    )  # fmt: skip
    @click.option("--tls-cert", type=path, show_default="no TLS", help="Certificate chain, PEM.")
    @click.option("--tls-key", type=path, show_default="no TLS", help="Private key, PEM.")
    @click.option(
        "--client-ca", type=path, show_default="clients need no certificate",
        help="CA certificates, PEM: clients must have a certificate of one of them.",
    )  # fmt: skip
    def command(
        listen: str, tls_cert: Path | None, tls_key: Path | None, client_ca: Path | None
    ) -> None:
        logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
        if (tls_cert is None) != (tls_key is None) or (client_ca and tls_cert is None):
            raise click.UsageError("TLS needs --tls-cert and --tls-key")
        tls = Tls(tls_cert, tls_key, client_ca) if tls_cert and tls_key else None
        try:
            asyncio.run(_serve(extension, listen, tls))
        except (OSError, RuntimeError) as error:
            click.echo(f"Cannot listen on {listen}: {error}", err=True)
            sys.exit(1)

    command()
