"""Drains an Envoy of our own: no new connections, and time for open requests to finish.

Envoy does not close a connection that is idle between two requests, but sends `Connection: close`
in the next response. So when no request is open, connections get a short grace period for a last
request.
"""

import asyncio
import logging

import aiohttp

from contour.host import administration

_log = logging.getLogger(__name__)

_IDLE_GRACE = 1.0
_POLL = 0.05


async def drain(envoy: administration.Administration, seconds: float) -> None:
    """Drains Envoy; returns when its end would affect no client, or when the time is up."""
    try:
        async with asyncio.timeout(seconds):
            await envoy.drain()
            await _tell(envoy, seconds)
            await _quiet(envoy)
    except (TimeoutError, aiohttp.ClientError):
        # The time is up, or Envoy is gone: there is nothing left to wait for.
        return


async def _tell(envoy: administration.Administration, seconds: float) -> None:
    open_ones = (await envoy.activity()).requests
    if open_ones:
        _log.info(
            "draining: %d %s still open; waiting up to %g s. A second signal (Ctrl-C) ends it now",
            *(open_ones, "request is" if open_ones == 1 else "requests are", seconds),
        )


async def _quiet(envoy: administration.Administration) -> None:
    idle = 0.0
    while idle < _IDLE_GRACE:
        activity = await envoy.activity()
        if not activity.connections and not activity.requests:
            return
        idle = 0 if activity.requests else idle + _POLL
        await asyncio.sleep(_POLL)
