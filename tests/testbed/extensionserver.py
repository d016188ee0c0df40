"""A scripted extension server: its reply is a function of the hook and the request.

It knows bytes only; `goextension` tests against a server that is written with gRPC's own tools.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from grpc import aio

from contour.hooks import wire
from contour.hooks.wire import Hook

Script = Callable[[Hook, bytes], Awaitable[bytes | grpc.StatusCode]]
"""An encoded reply, or the status with which the call ends."""


async def unchanged(_: Hook, __: bytes) -> bytes:
    """An empty reply: nothing is modified (a translation has no clusters and Secrets any more)."""
    return b""


async def echoed(hook: Hook, question: bytes) -> bytes:
    """Replies with what the request contains, unmodified."""
    return wire.encoded_reply(hook, wire.decoded_request(hook, question).resources)


async def never(_: Hook, __: bytes) -> bytes:
    """Never replies."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


@dataclass(slots=True)
class Scripted:
    """A server; its script may be replaced at any time."""

    script: Script = unchanged
    address: str = ""
    credentials: grpc.ServerCredentials | None = None
    asked: Counter[Hook] = field(default_factory=Counter)
    most_at_once: int = 0
    _at_once: int = 0
    _server: Any = None

    async def start(self) -> None:
        """Listens; at the same address as before if it is started again."""
        self._server = aio.server(options=[("grpc.so_reuseport", 0)])
        methods = {
            rpc: grpc.unary_unary_rpc_method_handler(self._answering(hook))
            for hook, rpc in wire.RPCS.items()
        }
        self._server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler(wire.SERVICE, methods)]
        )
        where = self.address or "127.0.0.1:0"
        port = self._listen(where)
        self.address = where if where.startswith("unix:") else f"127.0.0.1:{port}"
        await self._server.start()

    async def stop(self) -> None:
        """Stops at once; open calls are aborted."""
        await self._server.stop(None)

    def _listen(self, where: str) -> int:
        if self.credentials is None:
            return int(self._server.add_insecure_port(where))
        return int(self._server.add_secure_port(where, self.credentials))

    def _answering(self, hook: Hook) -> Callable[..., Awaitable[bytes]]:
        async def answer(question: bytes, call: aio.ServicerContext[bytes, bytes]) -> bytes:
            self.asked[hook] += 1
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            try:
                found = await self.script(hook, question)
            finally:
                self._at_once -= 1
            if isinstance(found, grpc.StatusCode):
                await call.abort(found, "as the script says")
            return found

        return answer


@asynccontextmanager
async def scripted(script: Script = unchanged, **how: Any) -> AsyncIterator[Scripted]:
    """A server that has started."""
    server = Scripted(script, **how)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
