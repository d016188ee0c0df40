"""Drains an Envoy of our own: no new connections, and time for open requests to finish.

Envoy does not close a connection that idles between two requests, it says `Connection: close` in
the next response. So once no request is open, connections get a short grace to say what they want.
A TCP stream is waited for like a request.
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
            await finishing.answer(envoy.drain)
            await _tell(envoy, seconds)
            await finishing.quiet(envoy, idle_grace=_IDLE_GRACE, poll=_POLL)
    except (TimeoutError, finishing.ExitedError):
        # Out of time, or Envoy is gone: either way there is nothing left to wait for.
        return


async def _tell(envoy: administration.Administration, seconds: float) -> None:
    activity = await finishing.answer(envoy.activity)
    if activity.is_busy:
        _log.info(
            "draining: %s still open; waiting up to %g s. A second signal (Ctrl-C) ends it now",
            *(_open_ones(activity), seconds),
        )


def _open_ones(activity: administration.Activity) -> str:
    kinds = ((activity.requests, "request"), (activity.streams, "TCP stream"))
    named = " and ".join(f"{n} {kind}{'s' if n > 1 else ''}" for n, kind in kinds if n)
    return f"{named} {'is' if sum(n for n, _ in kinds) == 1 else 'are'}"
