"""What a client leaves behind on the wire: nothing, even with an API server that has frozen."""

import asyncio
import socket
import ssl
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kube.client import Client
from kube.credentials import Credentials
from provisioning import certificates, pem
from tests.kube.followed import At


async def test_a_closed_client_has_no_connection_open(tmp_path: Path) -> None:
    asked: Future[None] = Future()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        frozen = asyncio.to_thread(_freeze, listening, _server(tmp_path), asked)
        async with asyncio.TaskGroup() as group:
            ended = group.create_task(frozen)
            async with Client(Trusting(listening)) as client:
                asking = group.create_task(client.get("/version"))
                await asyncio.wrap_future(asked)
                asking.cancel()
                await asyncio.wait([asking])
            await asyncio.wait_for(ended, 5)  # a goodbye that nobody answers takes 30


class Trusting(At):
    """Somebody to whom any server is the API server."""

    def __init__(self, listening: socket.socket) -> None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        self._all = [Credentials(f"https://127.0.0.1:{listening.getsockname()[1]}", tls=tls)]


def _freeze(listening: socket.socket, tls: ssl.SSLContext, asked: "Future[None]") -> None:
    """Hears one request, says nothing more, not even goodbye; ends with the connection."""
    connection, _ = listening.accept()
    wrapped = tls.wrap_socket(connection, server_side=True)
    wrapped.recv(1)
    with socket.socket(fileno=wrapped.detach()) as bare:
        asked.set_result(None)
        while bare.recv(65536):
            pass


def _server(folder: Path) -> ssl.SSLContext:
    now = datetime.now(UTC)
    subject = certificates.Subject(("api",), ("server",))
    made = certificates.leaf(certificates.authority(now), subject, timedelta(hours=1), now)
    (folder / "tls.pem").write_bytes(pem.key(made.key) + pem.certificate(made.certificate))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "tls.pem")
    return tls
