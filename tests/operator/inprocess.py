"""An operator without a process of its own, which can die at any write.

The parts are the real ones, with the shipped rights; only who wakes whom is left out: turns are
taken until nothing is left to do.
"""

import asyncio
from typing import Any

from contour_operator import children, configurations, desired
from contour_operator.reconciling import Reconciler
from contour_operator.trust import Trust
from kube import errors, kubeconfig
from kube.client import Client
from kube.credentials import Access
from provisioning.keeping.ownership import Owner

LONGEST = 30.0  # seconds


class Crash(BaseException):
    """Nothing is done any more, not even tidying up."""


class CrashingClient(Client):
    """Its process dies when a certain number of its writes have changed something."""

    def __init__(self, access: Access, after: int) -> None:
        super().__init__(access, "crashing")
        self.writes = 0
        self._after = after

    async def create(self, *given: Any, **named: Any) -> Any:
        """Adds an object, and perhaps dies."""
        return self._crash(await super().create(*given, **named))

    async def replace(self, *given: Any, **named: Any) -> Any:
        """Replaces an object, and perhaps dies."""
        return self._crash(await super().replace(*given, **named))

    async def patch(self, *given: Any, **named: Any) -> Any:
        """Changes an object, and perhaps dies."""
        return self._crash(await super().patch(*given, **named))

    async def apply(self, path: str, *given: Any, **named: Any) -> Any:
        """Applies an object, and perhaps dies, unless it was so already."""
        if named.get("is_dry_run"):
            return await super().apply(path, *given, **named)
        before = await self._version(path.removesuffix("/status"))
        answer = await super().apply(path, *given, **named)
        is_changed = answer["metadata"]["resourceVersion"] != before
        return self._crash(answer) if is_changed else answer

    async def delete(self, *given: Any, **named: Any) -> Any:
        """Removes an object, and perhaps dies."""
        return self._crash(await super().delete(*given, **named))

    async def _version(self, path: str) -> str:
        try:
            return str((await self.get(path))["metadata"]["resourceVersion"])
        except errors.Refused:
            return ""

    def _crash(self, answer: Any) -> Any:
        self.writes += 1
        if self.writes == self._after:
            raise Crash
        return answer


async def live(config: str, owner: Owner, after: int = 0) -> int:
    """The writes of a life that changed something: all that there was to do, or so many."""
    async with CrashingClient(kubeconfig.Kubeconfig(config), after) as client:
        followed = children.followed(client, lambda _: None)
        following = asyncio.ensure_future(followed.run())
        try:
            async with asyncio.timeout(LONGEST):
                await followed.synced()
                reconciler = Reconciler(
                    client, followed, desired.Release(), lambda *_: None, Trust(client)
                )
                await _until_done(client, reconciler, owner)
        except Crash:
            pass
        finally:
            following.cancel()
            await asyncio.wait([following])
        return client.writes


async def _until_done(client: CrashingClient, reconciler: Reconciler, owner: Owner) -> None:
    while True:
        try:
            await reconciler.reconcile(owner)
        except errors.RequestError:
            await asyncio.sleep(0.02)
            continue
        found = await configurations.read(client, owner)
        if found is None or not found.is_deleting:
            return
