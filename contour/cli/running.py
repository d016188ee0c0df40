"""What commands ask of a running `contour run`, by its inspection socket."""

import http.client
import json
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contour import rundir
from contour.analyzed import ShownFinding

if TYPE_CHECKING:
    from contour.explained import Explained


def page(name: str, state_dir: Path | None) -> list[dict[str, Any]]:
    """A page of the instance with this state directory; ends the program if there is none."""
    found: list[dict[str, Any]] = _from(state_dir, name)
    return found


def findings(state_dir: Path | None) -> list[ShownFinding]:
    """What it finds wrong or worth a look; ends the program likewise."""
    found: list[ShownFinding] = _from(state_dir, "findings")
    return found


def explained(question: str, state_dir: Path | None) -> "Explained":
    """Its answer to a question about a request; ends the program likewise."""
    found: Explained = _from(state_dir, "explain", question)
    return found


def _from(state_dir: Path | None, name: str, question: str | None = None) -> Any:
    directory = state_dir or rundir.default_path()
    try:
        return ask(rundir.socket(directory, rundir.INSPECTION), name, question)
    except (OSError, http.client.HTTPException):
        click.echo(
            f"contour: no instance runs with the state directory {directory}; "
            "name that of a running `contour run` with --state-dir",
            err=True,
        )
        sys.exit(2)


def ask(address: Path, name: str, question: str | None = None) -> Any:
    """A page of the instance with this inspection socket, or its answer to a question.

    Raises OSError if there is no instance, or if the question makes no sense to it.
    """
    connection = _Connection(address)
    try:
        connection.request("GET" if question is None else "POST", f"/{name}", question)
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            raise OSError(f"answered {answer.status}")
        return json.load(answer)
    finally:
        connection.close()


class _Connection(http.client.HTTPConnection):
    """One to a Unix socket."""

    def __init__(self, address: Path) -> None:
        super().__init__("inspect", timeout=60)
        self._address = address

    def connect(self) -> None:
        """Connects; called by the first request."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._address))
