"""Where `contour run` serves the dashboard: a port on the loopback address of this machine."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from contour.dashboard import pages
from contour.dashboard.links import ROOT
from contour.instance import Instance
from contour.pages.listeners import Listeners
from contour.pages.settings import ListenAddress, Sites

log = logging.getLogger(__name__)

ADDRESS = "127.0.0.1"
USUAL_PORT = 6060
"""The port of the debug pages of `contour serve`, which have the dashboard, too."""


@asynccontextmanager
async def served(instance: Instance, port: int | None) -> AsyncGenerator[str]:
    """Serves the dashboard while the context lasts, and yields its URL. Without `port` it is the
    usual one, or any free one if that is taken. If a port cannot be opened, Envoy is served
    nevertheless: the URL is empty then, and a warning says why.
    """
    listeners = Listeners({"debug": pages.pages(instance)}, logging.DEBUG)
    problems: tuple[str, ...] = ()
    for wanted in (USUAL_PORT, 0) if port is None else (port,):
        found = Sites({ListenAddress(ADDRESS, wanted): frozenset({"debug"})})
        problems = await listeners.update(found)
        if not problems:
            break
    for it in problems:
        log.warning("no dashboard: %s", it)
    opened = listeners.port("debug")
    try:
        yield f"http://{ADDRESS}:{opened}{ROOT}" if opened is not None else ""
    finally:
        await listeners.close()
