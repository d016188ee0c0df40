"""What commands ask of a running `contour run`, by its inspection socket."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click

from contour import inspection
from contour.explained import Explained
from contour.host import state

T = TypeVar("T")


def page(name: str, state_dir: Path | None) -> list[dict[str, Any]]:
    """A page of the instance with this state directory; ends the program if there is none."""
    found: list[dict[str, Any]] = _from(state_dir, lambda it: inspection.page(it, name))
    return found


def explained(question: str, state_dir: Path | None) -> Explained:
    """Its answer to a question about a request; ends the program likewise."""
    found: Explained = _from(state_dir, lambda it: inspection.answer(it, "explain", question))
    return found


def _from(state_dir: Path | None, ask: Callable[[Path], Coroutine[None, None, T]]) -> T:
    directory = state_dir or state.default_path()
    try:
        return asyncio.run(ask(state.socket(directory, inspection.SOCKET)))
    except OSError:
        click.echo(
            f"contour: no instance runs with the state directory {directory}; "
            "name that of a running `contour run` with --state-dir",
            err=True,
        )
        sys.exit(2)
