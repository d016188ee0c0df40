"""Asks a running instance for its pages: HTTP over an open socket.

For commands that ask `contour run` by its inspection socket, or `contour serve` through the API
server. It imports only the standard library.
"""

import http.client
import socket
from typing import NamedTuple

TIMEOUT = 60.0  # seconds without a byte


class Reply(NamedTuple):
    """What came back."""

    status: int
    body: bytes


class Connection(http.client.HTTPConnection):
    """Requests one after the other over one socket, which it closes."""

    def __init__(self, connected: socket.socket) -> None:
        super().__init__("localhost")
        connected.settimeout(TIMEOUT)
        self.sock = connected

    def ask(self, path: str, question: str | None = None) -> Reply:
        """A page, or the answer to a question. Raises OSError and http.client.HTTPException."""
        self.request("GET" if question is None else "POST", path, question)
        answer = self.getresponse()
        return Reply(answer.status, answer.read())
