"""Drains an Envoy in a pod, in the container that runs beside it.

First Envoy fails its health checks, so that it becomes unready and load balancers and clients turn
away. Until that has taken effect everywhere, new connections are still served. Then open requests
may finish. Only SIGTERM, which only the kubelet sends, starts this: a request from the network can
only wait for the end. Elsewhere: draining an Envoy of our own (`draining`).
"""

import asyncio
import logging
import signal
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from contour.host import finishing
from contour.host.administration import Administration
from observability import requests

_log = logging.getLogger(__name__)

_POLL = 0.1


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits of waiting, in seconds except for `connections`."""

    delay: float = 5
    """How long new connections are still accepted."""
    idle_grace: float = 5
    """Without any request or TCP stream for so long, open connections count as idle."""
    connections: int = 0
    """So many idle connections are not waited for."""
    timeout: float = 280
    """The limit for the whole drain."""


async def drain(envoy: Administration, patience: Patience) -> None:
    """Drains Envoy; returns when its end would affect no client, or when the time is up."""
    try:
        async with asyncio.timeout(patience.timeout):
            await finishing.answer(envoy.fail_health_checks)
            await asyncio.sleep(patience.delay)
            await finishing.quiet(
                envoy,
                idle_grace=patience.idle_grace,
                poll=_POLL,
                connections=patience.connections,
            )
    except TimeoutError:
        _log.warning(
            "Envoy still has open requests or TCP streams after %g seconds; they will be cut",
            patience.timeout,
        )
    except finishing.ExitedError:
        _log.warning("nobody listens on %s; not waiting for Envoy", envoy.address)
    else:
        _log.info("Envoy is drained")


class Waiting:
    """Waits for SIGTERM, then drains Envoy; answers `GET /shutdown` when Envoy is drained."""

    def __init__(
        self,
        envoy: Administration,
        patience: Patience,
        port: int,
        was_told: Callable[[], bool],
    ) -> None:
        """`was_told`: whether SIGTERM came before it could be waited for."""
        self._was_told = was_told
        self._envoy = envoy
        self._patience = patience
        self._port = port
        self._is_told = asyncio.Event()
        self._is_done = asyncio.Event()

    async def run(self) -> None:
        """Returns when Envoy is drained and all waiting requests have been answered."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._is_told.set)
        if self._was_told():
            self._is_told.set()
        runner = web.AppRunner(
            self._application(), access_log=None, logger=requests.log, shutdown_timeout=2
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, port=self._port).start()
            await self._is_told.wait()
            await drain(self._envoy, self._patience)
            self._is_done.set()
        finally:
            # Waits for the answers that are on their way.
            await runner.cleanup()

    def _application(self) -> web.Application:
        application = web.Application()
        application.router.add_get("/healthz", _healthy, allow_head=False)
        application.router.add_get("/shutdown", self._done, allow_head=False)
        return application

    async def _done(self, _: web.Request) -> web.Response:
        await self._is_done.wait()
        return web.Response(text="drained\n")


async def _healthy(_: web.Request) -> web.Response:
    return web.Response(text="ok\n")
