"""Asks a running instance for commands: `contour run` on this machine, or an instance in a cluster.

`contour run` is asked by its inspection socket. An instance in a cluster is asked through the API
server, if an option says so or no `contour run` answers.
"""

import http.client
import json
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from contour import rundir
from contour.answers import subjects
from contour.answers.analyzed import ShownFinding
from contour.answers.shown import Fleet, Row
from contour.cli import output, source, waiting
from contour.cli.source import Source
from contour.inspection import connections

if TYPE_CHECKING:
    from contour.answers.explained import Explained


class UnansweredError(Exception):
    """An instance is there, but does not tell what it was asked."""


def rows(*, every: bool) -> list[Row]:
    """How the objects of the instance fare; ends the program if there is none.

    `every`: also those without a status of their own.
    """
    found: list[Row] = _asked("objects" if every else "status")[0]
    return sorted(found, key=lambda it: subjects.order(**it["subject"]))


def fleets() -> Mapping[str, list[Fleet]]:
    """What Envoys have, by the pod of their replica; empty for `contour run`."""
    where = source.chosen()
    if not where.is_cluster and (found := _of_run(where, "config")) is not None:
        return {"": found}
    from contour.cli import remotely

    return remotely.everywhere(where, "config")


def findings() -> list[ShownFinding]:
    """Its findings; ends the program if there is no instance."""
    found: list[ShownFinding] = _asked("findings")[0]
    return found


def explained(question: str) -> "tuple[Explained, bool]":
    """Its answer to a question about a request, and whether it is a `contour run` on this machine;
    ends the program if there is no instance.
    """
    return _asked("explain", question)


class Followed(NamedTuple):
    """The arguments of a `contour run`."""

    paths: tuple[str, ...]
    backends: tuple[str, ...] = ()
    """Values of `--backend`."""


def followed() -> Followed | None:
    """The arguments of the `contour run` here; None if an instance in a cluster is to be asked."""
    where = source.chosen()
    found = None if where.is_cluster else _of_run(where, "manifests")
    if found is None:
        return None
    backends = _of_run(where, "backends")
    return Followed(tuple(str(it["path"]) for it in found), tuple(backends or ()))


def _asked(name: str, question: str | None = None) -> tuple[Any, bool]:
    where = source.chosen()
    if not where.is_cluster and (found := _of_run(where, name, question)) is not None:
        return found, True
    from contour.cli import remotely

    return remotely.asked(where, name, question), False


def _of_run(where: Source, name: str, question: str | None = None) -> Any:
    """The answer of the `contour run` here; None if there is none and a cluster may be asked. Ends
    the program if it is there and does not answer."""
    directory = where.state_dir or rundir.default_path()
    try:
        return ask(rundir.socket(directory, rundir.INSPECTION), name, question)
    except UnansweredError as error:
        output.say(f"contour: the instance with the state directory {directory} {error}", err=True)
    except OSError:
        if where.may_be_cluster:
            return None
        click.echo(f"contour: {source.nobody(directory)}", err=True)
    sys.exit(2)


def ask(address: Path, name: str, question: str | None = None) -> Any:
    """A page of the instance with this inspection socket, or its answer to a question.

    Raises OSError if there is no instance, UnansweredError if it does not answer or if the question
    makes no sense to it.
    """
    connected = socket.socket(socket.AF_UNIX)
    try:
        connected.settimeout(connections.TIMEOUT)
        connected.connect(str(address))
        with waiting.shown("waiting for the instance"):
            reply = _reply(connected, f"/{name}", question)
    finally:
        connected.close()
    if reply.status != http.client.OK:
        why = " ".join(reply.body.decode(errors="replace").split())
        raise UnansweredError(f"answered {reply.status}: {why}")
    return json.loads(reply.body)


def _reply(connected: socket.socket, path: str, question: str | None) -> connections.Reply:
    try:
        return connections.Connection(connected).ask(path, question)
    except (OSError, http.client.HTTPException) as error:
        raise UnansweredError(f"does not answer: {error}") from error
