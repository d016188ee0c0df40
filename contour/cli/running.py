"""What commands ask of a running `contour run`, by its inspection socket."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import click

from contour import inspection
from contour.host import state


def page(name: str, state_dir: Path | None) -> list[dict[str, Any]]:
    """A page of the instance with this state directory; ends the program if there is none."""
    directory = state_dir or state.default_path()
    try:
        rows: list[dict[str, Any]] = asyncio.run(
            inspection.page(state.socket(directory, inspection.SOCKET), name)
        )
    except OSError:
        click.echo(
            f"contour: no instance runs with the state directory {directory}; "
            "name that of a running `contour run` with --state-dir",
            err=True,
        )
        sys.exit(2)
    return rows
