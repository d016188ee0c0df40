"""Drains an Envoy of our own: no new connections, and time for open requests to finish.

Envoy does not close a connection that is idle between two requests, but sends `Connection: close`
in the next response. So when no request is open, connections get a short grace period for a last
request.
"""

import asyncio
import logging

from contour.host import administration, finishing

_log = logging.getLogger(__name__)

_IDLE_GRACE = 1.0
_POLL = 0.05


async def drain(envoy: administration.Administration, seconds: float) -> None:
    """Drains Envoy; returns when its end would affect no client, or when the time is up."""
    try:
        async with asyncio.timeout(seconds):
            await finishing.told(envoy.drain)
            await _tell(envoy, seconds)
            await finishing.quiet(envoy, idle_grace=_IDLE_GRACE, poll=_POLL)
    except (TimeoutError, finishing.ExitedError):
        # Out of time, or Envoy is gone: either way there is nothing left to wait for.
        return


async def _tell(envoy: administration.Administration, seconds: float) -> None:
    open_ones = (await finishing.told(envoy.activity)).requests
    if open_ones:
        _log.info(
            "draining: %d %s still open; waiting up to %g s. A second signal (Ctrl-C) ends it now",
            *(open_ones, "request is" if open_ones == 1 else "requests are", seconds),
        )
