"""ContourConfigurations as they come, change and go: kopf, embedded, for their names and no more.

Raw events only: nothing of kopf's own is written to an object, neither a finalizer nor a copy of
its specification. kopf takes the process's signals for itself when it starts; they are taken back
here, because who stops first matters (the Lease is freed last). Its credentials are those of the
rest of the process, and are read again when the API server refuses them.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import kopf

from contour_operator import configurations
from contour_operator.definition import Definition
from kube import backoff
from kube.credentials import Access
from provisioning.keeping.ownership import Owner
from showing.signals import StopSignals

log = logging.getLogger(__name__)

LONGEST_PAUSE = 10.0  # seconds

Notice = Callable[[Owner, bool], None]
"""Who has changed, and whether it is gone."""


async def follow(
    access: Access, definition: Definition, notice: Notice, signals: StopSignals
) -> None:
    """Until it is cancelled, whatever keeps it from following: missing rights, a lost server."""
    for name in ("kopf", "aiohttp"):
        logging.getLogger(name).setLevel(logging.ERROR)
    registry = kopf.OperatorRegistry()
    _register(registry, access, notice)
    wait = backoff.Backoff(1.0, LONGEST_PAUSE)
    while True:
        outdated = asyncio.Event()
        try:
            await _followed(registry, definition, signals, outdated)
        except Exception as error:  # kopf's own, and whatever comes through it
            seconds = wait.next()
            log.warning(
                "cannot watch ContourConfigurations: %s; retrying in %.1f s", error, seconds
            )
            await asyncio.sleep(seconds)
        else:
            if not outdated.is_set():
                signals.stop()  # it was told to end by a signal that it had taken


async def _followed(
    registry: kopf.OperatorRegistry,
    definition: Definition,
    signals: StopSignals,
    outdated: asyncio.Event,
) -> None:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.execution.max_workers = 1
    ready = asyncio.Event()
    known = await definition.identity()
    waiting = [
        asyncio.ensure_future(_then(ready.wait(), signals.handle)),
        asyncio.ensure_future(_then(definition.other_than(known), outdated.set)),
    ]
    try:
        await kopf.operator(
            registry=registry,
            settings=settings,
            identity=_NOBODY,
            standalone=True,
            clusterwide=True,
            ready_flag=ready,
            stop_flag=outdated,
        )
    finally:
        for it in waiting:
            it.cancel()


_NOBODY: Any = "contour-operator"  # of a type that kopf does not export
"""Among kopf's peers, of which there are none. Without it kopf asks for the name of the user, which
containers do not have."""


async def _then(awaited: Awaitable[object], act: Callable[[], None]) -> None:
    await awaited
    act()


def _register(registry: kopf.OperatorRegistry, access: Access, notice: Notice) -> None:
    group, version, plural, _ = configurations.RESOURCE

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.AiohttpSession:
        return await _session(access)

    @kopf.on.event(group, version, plural, registry=registry)
    async def seen(*, namespace: str | None, name: str, type: str, **_: Any) -> None:  # noqa: A002
        notice(Owner(namespace or "", name), type == "DELETED")


async def _session(access: Access) -> kopf.AiohttpSession:
    """A new one each time it is asked for, since the last was refused."""
    found = await access.credentials()
    headers = {"Authorization": found.authorization} if found.authorization else {}
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=found.tls or True),
        headers=headers,
        proxy=found.proxy,
    )
    return kopf.AiohttpSession(server=found.url, aiohttp_session=session)
