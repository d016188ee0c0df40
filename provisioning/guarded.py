"""A client that writes only while this process leads.

For operators, and for instances that keep a fleet. The question is put to the clock directly before
each request: who was paused or cut off finds out here, whatever it was about to do. A write ends
before anybody else can lead (`applying.WRITE_TIMEOUT`).
"""

from collections.abc import Callable
from typing import Any

from kube import client, errors
from kube.client import Params, Patch, Raw
from kube.credentials import Access
from provisioning.applying import WRITE_TIMEOUT


class Deposed(errors.RequestError):
    """Somebody else leads, or may do so at any moment."""


class Client(client.Client):
    """Reads like any other."""

    def __init__(self, access: Access, user_agent: str, is_leader: Callable[[], bool]) -> None:
        super().__init__(access, user_agent)
        self._is_leader = is_leader

    async def create(
        self, path: str, body: Raw, params: Params | None = None, timeout: float = WRITE_TIMEOUT
    ) -> Raw:
        """Adds an object, if we lead."""
        self._require_leadership()
        return await super().create(path, body, params, timeout)

    async def replace(
        self, path: str, body: Raw, params: Params | None = None, timeout: float = WRITE_TIMEOUT
    ) -> Raw:
        """Replaces an object, if we lead."""
        self._require_leadership()
        return await super().replace(path, body, params, timeout)

    async def patch(
        self,
        path: str,
        body: Raw | list[Raw],
        kind: Patch = "merge",
        params: Params | None = None,
        timeout: float = WRITE_TIMEOUT,
        permit: Callable[[], bool] | None = None,
    ) -> Raw:
        """Changes an object, if we lead, also in the moment in which it is sent."""
        self._require_leadership()
        permit = permit or self._is_leader
        return await super().patch(path, body, kind, params, timeout, permit)

    async def apply(self, *arguments: Any, **named: Any) -> Raw:
        """Server-side apply, if we lead, also in the moment in which it is sent."""
        self._require_leadership()
        return await super().apply(*arguments, **{"permit": self._is_leader, **named})

    async def delete(self, *arguments: Any, **named: Any) -> Raw:
        """Removes an object, if we lead."""
        self._require_leadership()
        return await super().delete(*arguments, **named)

    def _require_leadership(self) -> None:
        if not self._is_leader():
            raise Deposed("this process is no longer the leader")
