"""Small HTTP backends that say who they are: for `contour demo`, benchmarks and tests.

Each answers `{"backend", "method", "host", "path", "headers"}` as JSON, `/stream?seconds=N` in ten
pieces over that time, `/wait?seconds=N` after that time, and echoes messages on a WebSocket. Run as
a program, with NAME=PORT arguments, it serves until it is told to end.
"""

import argparse
import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncGenerator, Mapping

from aiohttp import web


@contextlib.asynccontextmanager
async def serving(
    names: Mapping[str, int], address: str = "127.0.0.1"
) -> AsyncGenerator[Mapping[str, int]]:
    """Runs backends, by name and port; 0 means a free port. Yields the ports that they really
    have."""
    runners = {
        name: web.AppRunner(_application(name), access_log=None, shutdown_timeout=1)
        for name in names
    }
    try:
        yield {
            name: await _listening(runner, address, names[name]) for name, runner in runners.items()
        }
    finally:
        for runner in runners.values():
            await runner.cleanup()


async def _listening(runner: web.AppRunner, address: str, port: int) -> int:
    await runner.setup()
    await web.TCPSite(runner, address, port).start()
    bound: int = runner.addresses[0][1]
    return bound


def _application(name: str) -> web.Application:
    async def answer(request: web.Request) -> web.StreamResponse:
        if request.headers.get("upgrade", "").lower() == "websocket":
            return await _echo(request)
        if request.path.endswith("/stream"):
            return await _stream(request, name)
        if request.path.endswith("/wait"):
            await asyncio.sleep(float(request.query.get("seconds", "1")))
        return web.json_response(_told(request, name))

    application = web.Application(client_max_size=64 << 20)
    application.router.add_route("*", "/{path:.*}", answer)
    return application


def _told(request: web.Request, name: str) -> dict[str, object]:
    return {
        "backend": name,
        "method": request.method,
        "host": request.host,
        "path": request.raw_path,
        "headers": {key.lower(): value for key, value in request.headers.items()},
    }


async def _stream(request: web.Request, name: str) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for piece in range(10):
        await response.write(json.dumps({"backend": name, "piece": piece}).encode() + b"\n")
        await asyncio.sleep(float(request.query.get("seconds", "1")) / 10)
    return response


async def _echo(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        await socket.send_str(message.data)
    return socket


async def serve(names: Mapping[str, int], address: str = "127.0.0.1") -> None:
    """Serves until SIGTERM or SIGINT."""
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with serving(names, address) as ports:
        print(json.dumps(dict(ports)), flush=True)
        await ended.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("backends", nargs="+", metavar="NAME=PORT")
    parser.add_argument("--address", default="127.0.0.1")
    arguments = parser.parse_args()
    given = (backend.partition("=") for backend in arguments.backends)
    asyncio.run(serve({name: int(port) for name, _, port in given}, arguments.address))
