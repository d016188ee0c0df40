"""An extension server that guards a path, and that can be made to fail; in a process of its own.

    python -m hack.measuring.guarding SOCKET

Each line of standard input names the script that it follows from then on (`SCRIPTS`). It prints a
line after each, and after its start.
"""

import asyncio
import itertools
import sys
from pathlib import Path

from envoy.config.route.v3 import route_components_pb2 as pb
from grpc import StatusCode

from contour.hooks import wire
from contour.hooks.wire import Hook
from tests.testbed.extensionserver import Script, Scripted, echoed, never
from tests.testbed.programs import Spoken

GUARDED = "/secret"
"""The path that it guards on each host."""
GOOD = "answers"
GOOD_TAG = "good"
"""The header value of hosts for which its reply was right."""


class Guarding(Spoken):
    """The process; it can be killed and started again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    async def start(self) -> None:
        """Starts the process; returns when it listens."""
        self.path.unlink(missing_ok=True)
        await self.speak(sys.executable, "-m", "hack.measuring.guarding", str(self.path))
        await self.line()


def _guarded(host: pb.VirtualHost, tag: str) -> bytes:
    """The host with a guard before all its routes, and a header that identifies the reply."""
    guard = pb.Route(name="guard", match=pb.RouteMatch(path_separated_prefix=GUARDED))
    guard.direct_response.status = 403
    host.routes.insert(0, guard)
    header = host.response_headers_to_add.add().header
    header.key, header.value = "x-tag", tag
    encoded = host.SerializeToString(deterministic=True)
    return wire.encoded_reply("VirtualHost", {"virtual_host": (encoded,)})


def _asked(body: bytes) -> pb.VirtualHost:
    (found,) = wire.decoded_request("VirtualHost", body).resources["virtual_host"]
    return pb.VirtualHost.FromString(found)


def _closed(body: bytes) -> bytes:
    (found,) = wire.decoded_request("Route", body).resources["route"]
    route = pb.Route.FromString(found)
    kept = pb.Route(name=route.name, match=route.match)
    kept.direct_response.status = 403
    return wire.encoded_reply("Route", {"route": (kept.SerializeToString(),)})


async def good(hook: Hook, body: bytes) -> bytes:
    """Guards a path of each host, and closes the routes that refer to its objects."""
    if hook == "Route":
        return _closed(body)
    return _guarded(_asked(body), GOOD_TAG) if hook == "VirtualHost" else await echoed(hook, body)


async def _garbage(_: Hook, __: bytes) -> bytes:
    return b"\xff" * 100


async def _large(_: Hook, __: bytes) -> bytes:
    return bytes(5 << 20)


async def _error(_: Hook, __: bytes) -> StatusCode:
    return StatusCode.INTERNAL


async def _of_others(hook: Hook, body: bytes) -> bytes:
    """Replies with names of routes and clusters that belong to others."""
    if hook == "VirtualHost":
        host = _asked(body)
        host.routes[0].route.cluster = "somebody-else"
        return _guarded(host, "others")
    resources = wire.decoded_request(hook, body).resources
    if hook == "Route":
        route = pb.Route(name="HTTPRoute/other/other/0123456789")
        return wire.encoded_reply(hook, {"route": (route.SerializeToString(),)})
    if hook == "Translation":
        return wire.encoded_reply(hook, {"clusters": resources["clusters"] * 2})
    return wire.encoded_reply(hook, {"listener": (pb.VirtualHost(name="o").SerializeToString(),)})


_NUMBERS = itertools.count()


async def _differently(hook: Hook, body: bytes) -> bytes:
    if hook != "VirtualHost":
        return await good(hook, body)
    return _guarded(_asked(body), str(next(_NUMBERS)))


SCRIPTS: dict[str, Script] = {
    GOOD: good,
    "hangs": never,
    "answers garbage": _garbage,
    "answers 5 MB": _large,
    "answers an error": _error,
    "answers for others": _of_others,
    "answers differently each time": _differently,
}


async def _serve(path: str) -> None:
    server = Scripted(good, address=f"unix:{path}")
    await server.start()
    print("{}", flush=True)
    lines = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(lines)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await lines.readline():
        server.script = SCRIPTS[line.decode().strip()]
        print("{}", flush=True)
    await server.stop()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
