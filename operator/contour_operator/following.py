"""Follows ContourConfigurations with an embedded kopf, which yields only their names.

Only raw events are used: kopf writes nothing to an object, neither a finalizer nor a copy of its
specification. kopf installs its own signal handlers when it starts; ours are restored here, because
the order of shutdown matters (the Lease is freed last). Its credentials are those of the rest of
the process, and are read again when the API server refuses them.
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
from observability.signals import StopSignals
from provisioning.keeping.ownership import Owner

log = logging.getLogger(__name__)

LONGEST_PAUSE = 10.0  # seconds

Notice = Callable[[Owner, bool], None]
"""Called with the configuration that has changed, and whether it is gone."""


async def follow(
    access: Access, definition: Definition, notice: Notice, signals: StopSignals
) -> None:
    """Follows until it is cancelled, through missing rights and an unreachable server."""
    for name in ("kopf", "aiohttp"):
        logging.getLogger(name).setLevel(logging.ERROR)
    registry = kopf.OperatorRegistry()
    _register(registry, access, notice)
    wait, loop = backoff.Backoff(1.0, LONGEST_PAUSE), asyncio.get_running_loop()
    while True:
        outdated, began = asyncio.Event(), loop.time()
        try:
            await _followed(registry, definition, signals, outdated)
        except Exception as error:  # kopf's own, and whatever comes through it
            if loop.time() - began > LONGEST_PAUSE:
                wait.reset()
            seconds = wait.next()
            log.warning(
                "cannot watch ContourConfigurations: %s; retrying in %.1f s", error, seconds
            )
            await asyncio.sleep(seconds)
        else:
            if not outdated.is_set():
                signals.stop()  # a signal whose handler it had installed has ended it


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
"""Our name among kopf's peers, of which there are none. Without it kopf looks up the name of the
user, which containers do not have."""


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
    """A session with new credentials; called again when the last ones were refused."""
    found = await access.credentials()
    headers = {"Authorization": found.authorization} if found.authorization else {}
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=found.tls or True),
        headers=headers,
        proxy=found.proxy,
    )
    return kopf.AiohttpSession(server=found.url, aiohttp_session=session)
