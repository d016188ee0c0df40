"""Connects to ports of pods for the API server, as a kubelet does for `pods/portforward`.

Over a WebSocket with the protocol `v4.channel.k8s.io` and for one port. `kubectl port-forward`
speaks SPDY to the kubelet, which is not answered here.
"""

import asyncio
import ctypes
import os
import socket
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from aiohttp import web

PROTOCOL = "v4.channel.k8s.io"
FindNetwork = Callable[[str, str], str]  # namespace, pod: the network namespace, or ""

_DATA, _ERROR = b"\x00", b"\x01"
_NETWORK = 0x40000000  # CLONE_NEWNET
_CHUNK = 32 << 10


class Forwarding:
    """Answers `/portForward/{namespace}/{pod}?port=N`."""

    def __init__(self, find: FindNetwork) -> None:
        self._find = find

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """One connection to a port of a pod."""
        network = self._find(request.match_info["namespace"], request.match_info["pod"])
        if not network:
            return web.Response(status=404, text="no such pod")
        port = int(request.query["port"])
        messages = web.WebSocketResponse(protocols=(PROTOCOL,))
        await messages.prepare(request)
        for channel in (_DATA, _ERROR):
            await messages.send_bytes(channel + port.to_bytes(2, "little"))
        try:
            connected = await asyncio.to_thread(_connected, network, port)
        except OSError as error:
            told = f"error forwarding port {port} to pod {request.match_info['pod']}: {error}"
            await messages.send_bytes(_ERROR + told.encode())
        else:
            await _forward(messages, connected)
        await messages.close()
        return messages


async def _forward(messages: web.WebSocketResponse, connected: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=connected)

    async def send() -> None:
        while data := await reader.read(_CHUNK):
            await messages.send_bytes(_DATA + data)
        await messages.close()

    with closing(writer):
        sending = asyncio.ensure_future(send())
        async for message in messages:
            writer.write(message.data[1:])
            await writer.drain()
        sending.cancel()


def _connected(network: str, port: int) -> socket.socket:
    """A connection that is made within the network namespace; a thread ends there."""
    found: list[socket.socket | OSError] = []

    def connect() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        opened = os.open(Path("/run/netns", network), os.O_RDONLY)
        try:
            if libc.setns(opened, _NETWORK):
                raise OSError(ctypes.get_errno(), "setns")
            found.append(socket.create_connection(("127.0.0.1", port), timeout=10))
        except OSError as error:
            found.append(error)
        finally:
            os.close(opened)

    thread = threading.Thread(target=connect)
    thread.start()
    thread.join()
    if isinstance(found[0], OSError):
        raise found[0]
    found[0].setblocking(False)
    return found[0]
