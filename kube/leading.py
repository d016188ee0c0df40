"""A client for the work of a leader: it writes only while this process leads.

The clock is read directly before each write, and again when its body is sent, since opening a
connection may take any time: here a process that was paused or cut off notices it. A write ends
before any other process can lead.
"""

from collections.abc import Callable

from kube import client, errors, session
from kube.client import TIMEOUT, Raw
from kube.session import Request

WRITE_TIMEOUT = 4.0
"""Seconds; less if the other candidates wait for the holder of a Lease less than five seconds
longer than it leads."""


class NotLeading(errors.RequestError):
    """This process does not lead: another one does, or may do so at any moment."""


class Client(client.Client):
    """Uses the connections of an open client; reads are not restricted."""

    def __init__(
        self, opened: client.Client, is_leader: Callable[[], bool], write_timeout: float
    ) -> None:
        super().__init__(opened.access, opened.user_agent)
        self.reachability = opened.reachability
        self._opened = opened
        self._is_leader = is_leader
        self._write_timeout = min(write_timeout, WRITE_TIMEOUT)

    @property
    def connections(self) -> session.Session:
        """The session of the other client, which also opens and closes it."""
        return self._opened.connections

    async def _write(self, request: Request, timeout: float = TIMEOUT) -> Raw:
        if not self._is_leader():
            raise NotLeading("this process is no longer the leader")
        fenced = request._replace(permit=self._is_leader)
        return await super()._write(fenced, min(timeout, self._write_timeout))
