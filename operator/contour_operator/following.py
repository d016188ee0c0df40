"""ContourConfigurations as they come, change and go: kopf, embedded, for their names and no more.

Raw events only: nothing of kopf's own is written to an object, neither a finalizer nor a copy of
its specification. kopf takes the process's signals for itself when it starts; they are taken back
here, because who stops first matters (the Lease is freed last). Its credentials are those of the
rest of the process, and are read again when the API server refuses them.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import aiohttp
import kopf

from contour_operator import configurations
from kube.credentials import Access
from provisioning.ownership import Owner

Notice = Callable[[Owner, bool], None]
"""Who has changed, and whether it is gone."""


async def follow(access: Access, notice: Notice, signals: Callable[[], None]) -> None:
    """Until it is cancelled. `signals` puts the process's own signals back in their place."""
    registry = kopf.OperatorRegistry()
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.execution.max_workers = 1
    _register(registry, access, notice)
    for name in ("kopf", "aiohttp"):
        logging.getLogger(name).setLevel(logging.WARNING)
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        taking_back = group.create_task(_then(ready, signals))
        await kopf.operator(
            registry=registry,
            settings=settings,
            standalone=True,
            clusterwide=True,
            ready_flag=ready,
        )
        taking_back.cancel()
    raise RuntimeError("kopf has ended though nobody told it to")


async def _then(ready: asyncio.Event, signals: Callable[[], None]) -> None:
    await ready.wait()
    signals()


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
