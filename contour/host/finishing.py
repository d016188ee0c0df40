"""Waits until an Envoy has nothing open, whoever started it.

An answer of its administration interface that is late, an error, or without the gauges that count
says nothing about what is open: it is asked for again, as long as the caller has time. Only an
interface that refuses connections several times in a row belongs to an Envoy that has exited.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import aiohttp

from contour.host.administration import Administration, UncountedError

_log = logging.getLogger(__name__)

_PAUSE = 0.2
"""Seconds until what failed is asked again."""
_REFUSALS = 5
"""Connections refused in a row after which Envoy counts as gone."""

T = TypeVar("T")


class ExitedError(Exception):
    """Nobody listens on the administration interface."""


async def answer(ask: Callable[[], Awaitable[T]]) -> T:
    """The answer of the administration interface, asked until it gives one. Raises ExitedError."""
    refusals, last = 0, ""
    while True:
        try:
            return await ask()
        except (aiohttp.ClientError, TimeoutError, UncountedError) as error:
            is_refused = isinstance(error, aiohttp.ClientConnectorError)
            refusals = refusals + 1 if is_refused else 0
            if refusals == _REFUSALS:
                raise ExitedError(str(error)) from error
            if (said := str(error) or "no answer in time") != last:
                _log.info("Envoy's administration interface: %s; trying again", said)
            last = said
        await asyncio.sleep(_PAUSE)


async def quiet(
    envoy: Administration, *, idle_grace: float, poll: float, connections: int = 0
) -> None:
    """Returns when neither a request nor a TCP stream is open and at most so many connections are,
    or when none of the former was for `idle_grace` seconds. Raises ExitedError."""
    idle = 0.0
    while idle < idle_grace:
        activity = await answer(envoy.activity)
        if not activity.is_busy and activity.connections <= connections:
            return
        idle = 0 if activity.is_busy else idle + poll
        await asyncio.sleep(poll)
