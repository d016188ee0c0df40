"""A connection to a port of a pod through the API server, as `kubectl port-forward` makes it.

The API server passes a WebSocket on to the kubelet of the pod's node, which connects to the port on
the loopback interface of the pod. The protocol is `v4.channel.k8s.io`: each message begins with the
number of its channel, 0 for the data of the first port and 1 for what went wrong with it, and the
first message of a channel is the number of the port (Kubernetes, `pkg/kubelet` and
`staging/src/k8s.io/kubelet/pkg/cri/streaming/portforward/websocket.go`). It takes the right to
create `pods/portforward`.

It uses aiohttp and not `kubernetes.stream`: that is the synchronous half of the library, so the
kubeconfig and its exec plugin would be read twice, and it copies its buffer with every write.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import aiohttp

from kube import errors, session
from kube.client import Client
from kube.resources import Resource

PROTOCOL = "v4.channel.k8s.io"
PODS = Resource("", "v1", "pods")

_DATA, _ERROR = 0, 1
_CHUNK = 1 << 16  # bytes


@asynccontextmanager
async def opened(
    client: Client, namespace: str, pod: str, port: int
) -> AsyncGenerator[socket.socket]:
    """A socket that is connected to the port; another thread may use it.

    Raises `errors.RequestError` if the API server or the kubelet refuses it; also on exit, if the
    port could not be reached: then nothing could be read from the socket.
    """
    path = PODS.path(namespace, pod, "portforward")
    messages = await _connected(client, path, port)
    ours, theirs = socket.socketpair()
    try:
        reader, writer = await asyncio.open_connection(sock=theirs)
        forwarding = asyncio.gather(_sent(reader, messages), _received(messages, writer, path))
        try:
            yield ours
        finally:
            ours.close()
            await messages.close()
            with suppress(asyncio.CancelledError):
                await forwarding
            writer.close()
    finally:
        ours.close()


async def _connected(client: Client, path: str, port: int) -> aiohttp.ClientWebSocketResponse:
    params = {"ports": str(port)}
    try:
        return await client.connections.websocket(path, params, PROTOCOL)
    except aiohttp.WSServerHandshakeError as error:
        # The handshake hides what the answer says; without it, the same question is refused in
        # words.
        await client.get(path, params)
        raise errors.Refused(error.status, "", error.message) from None


async def _sent(reader: asyncio.StreamReader, messages: aiohttp.ClientWebSocketResponse) -> None:
    while data := await reader.read(_CHUNK):
        with suppress(ConnectionError):
            await messages.send_bytes(bytes((_DATA,)) + data)


async def _received(
    messages: aiohttp.ClientWebSocketResponse, writer: asyncio.StreamWriter, path: str
) -> None:
    begun: set[int] = set()
    try:
        with session.as_failures(path):
            async for message in messages:
                if not isinstance(message.data, bytes) or not message.data:
                    continue
                channel, data = message.data[0], message.data[1:]
                if channel not in begun:
                    begun.add(channel)  # the number of the port
                elif channel == _ERROR:
                    raise errors.Unreachable(f"{path}: {data.decode(errors='replace').strip()}")
                else:
                    writer.write(data)
                    await writer.drain()
    except ConnectionError:
        return  # nobody reads any more
    finally:
        writer.close()
