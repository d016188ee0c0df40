"""Listeners that an Envoy of this machine refused because their port was taken.

A refusal is remembered until the listener changes. This one is not about the listener: once
nobody has the port, the same listener is served again.
"""

import asyncio
from collections.abc import Callable, Iterable

from contour.envoy import listeners
from contour.host import ports
from contour.xds.fleet import Fleet
from contour.xds.resources import LISTENER, Name
from dag.rawconfig import revisions

_EVERY = 3.0
"""Seconds between two looks at ports; without such a refusal there is nothing to look at."""


async def follow(fleets: Callable[[], Iterable[Fleet]]) -> None:
    """Looks every few seconds, until it is cancelled."""
    while True:
        await asyncio.sleep(_EVERY)
        for fleet in list(fleets()):
            serve_again(fleet)


def serve_again(fleet: Fleet) -> None:
    """Serves the listeners whose ports are free by now."""
    refused = {
        name
        for name, _, it in fleet.quarantine
        if name.type_url == LISTENER and revisions.is_local(it.words)
    }
    for name in sorted(refused):
        if all(ports.is_free(*it) for it in listeners.addresses(_head(fleet, name))):
            fleet.retry(name)


def _head(fleet: Fleet, name: Name) -> bytes:
    """The part that says where a listener listens, as it was published last."""
    refusal, resource = fleet.quarantine.refusal(name, ""), fleet.store.resource(name)
    head = refusal.part if refusal is not None else resource and resource.parts.get("")
    return head.body if head else b""
