"""Follows our CRD, for whether ContourConfigurations were served when kopf looked for them.

For `following`. kopf looks for resources when a CRD becomes established. The API server may serve
them only a moment later, and then kopf would never see a configuration.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress

from contour_operator import configurations
from crds import raw
from crds.raw import Raw
from kube import conditions, errors, versioncache
from kube.client import Client
from kube.discovery import Discovery, Wanted
from kube.reflector import Collection, Reflector

log = logging.getLogger(__name__)

PATIENCE = 2.0  # seconds after which kopf starts, even if the CRD is not known yet
AGAIN = 0.2  # seconds between questions whether it is served

_GROUP, _VERSION, _PLURAL, _ = configurations.RESOURCE
_CRDS = Wanted("apiextensions.k8s.io", ("v1",), "customresourcedefinitions", namespaced=False)
_OURS = {"fieldSelector": f"metadata.name={_PLURAL}.{_GROUP}"}


class Definition:
    """Follows the CRD, in `run`."""

    def __init__(self, client: Client) -> None:
        self._discovery = Discovery(client, good_for=AGAIN / 2)
        self._reflector = Reflector(client, self._discovery, Collection(_CRDS, "", _OURS), self)
        self._uid = ""
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Never ends."""
        await self._reflector.run()

    async def identity(self) -> str:
        """The UID of the CRD by which configurations are served now; empty if there is none."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._reflector.settled.wait()
        return await self._served()

    async def other_than(self, known: str) -> str:
        """Waits for another CRD by which they are served; returns its UID."""
        while (found := await self._served()) in {known, ""}:
            await self._news.wait()
        return found

    async def _served(self) -> str:
        """Waits until the resource of an established CRD is served."""
        self._news.clear()
        while self._uid and not await self._is_served():
            await asyncio.sleep(AGAIN)
        return self._uid

    async def _is_served(self) -> bool:
        wanted = Wanted(_GROUP, (_VERSION,), _PLURAL)
        try:
            return await self._discovery.resource(wanted) is not None
        except errors.RequestError:
            return False

    def on_deltas(self, news: Sequence[versioncache.Delta]) -> None:
        """Of the reflector."""
        for _, found in news:
            self._uid = _uid(found) if found is not None else ""
        self._news.set()

    def on_error(self, message: str) -> None:
        """Of the reflector."""
        if message:
            log.warning("cannot watch the CRD of ContourConfigurations: %s", message)
        else:
            log.info("watching the CRD of ContourConfigurations again")


def _uid(crd: Raw) -> str:
    """Empty unless it is established."""
    established = conditions.by_type(raw.mapping(crd.get("status"))).get("Established", {})
    return str(raw.at(crd, "metadata", "uid")) if established.get("status") == "True" else ""
