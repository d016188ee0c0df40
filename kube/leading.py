"""A client for everything that a leader runs: it writes only while this process leads.

The clock is asked directly before each write, and again when its body is sent, since opening a
connection may take any time: a process that was paused or cut off finds out here, whatever it was
about to do. A write ends before anybody else can lead.
"""

from collections.abc import Callable

from kube import client, errors, session
from kube.client import TIMEOUT, Raw
from kube.session import Request

WRITE_TIMEOUT = 4.0
"""Seconds. For the other candidates a Lease lasts five seconds longer than for its holder."""


class NotLeading(errors.RequestError):
    """Another process leads, or may do so at any moment."""


class Client(client.Client):
    """Shares the connections of an open client, and reads like it."""

    def __init__(self, opened: client.Client, is_leader: Callable[[], bool]) -> None:
        super().__init__(opened.access, opened.user_agent)
        self.reach = opened.reach
        self._opened = opened
        self._is_leader = is_leader

    @property
    def connections(self) -> session.Session:
        """Those of the other client, which also opens and closes them."""
        return self._opened.connections

    async def _write(self, request: Request, timeout: float = TIMEOUT) -> Raw:
        if not self._is_leader():
            raise NotLeading("this process is no longer the leader")
        fenced = request._replace(permit=self._is_leader)
        return await super()._write(fenced, min(timeout, WRITE_TIMEOUT))
