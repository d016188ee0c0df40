"""The demonstration in one process: the backends, and `contour run` on a copy of the manifests."""

import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import click

from contour import run, rundir
from contour.demo import backends, copying
from contour.host import errors, ports, state
from dag.nodes import Listener

_PORTS = {80: 8080, 443: 8443}
"""The local ports for the ports that users see, if they are free."""


async def show(directory: state.StateDirectory, folder: Path, options: run.RunOptions) -> None:
    """Serves the quickstart until SIGTERM or SIGINT, and prints requests to try.

    `folder` is empty or not there yet; the manifests are written to it. The paths of `options`
    are not used, and without a port map free ports are found. Raises what `run.run` raises, and
    RefusedError if the folder cannot be written to.
    """
    async with backends.serving(dict.fromkeys(copying.BACKENDS, 0)) as found:
        copy = _written(folder, found)
        click.echo(f"The manifests are in {copy.manifests}. Starting Envoy ...")

        def explain(listeners: Sequence[Listener]) -> None:
            click.echo(_explanation(copy, directory, listeners))

        await run.run(directory, options.serving([copy.manifests], explain))


def moved_ports(given: Collection[int], address: str) -> tuple[tuple[int, int], ...]:
    """A free local port for each port that users see and the command line does not map."""
    return tuple(
        (external, ports.free(address, preferred))
        for external, preferred in _PORTS.items()
        if external not in given
    )


def _written(folder: Path, found: Mapping[str, int]) -> copying.Copy:
    try:
        if folder.exists() and any(folder.iterdir()):
            raise errors.RefusedError(f"{folder} is not empty: name a new folder")
        return copying.written(folder, found)
    except OSError as error:
        raise errors.RefusedError(f"cannot write the manifests to {folder}: {error}") from error


def _explanation(
    copy: copying.Copy, directory: state.StateDirectory, listeners: Sequence[Listener]
) -> str:
    bound = {it.port: f"{it.address}:{it.bind_port}" for it in listeners}
    where = (
        "" if directory.path == rundir.default_path() else f" --state-dir {_quoted(directory.path)}"
    )
    return "\n".join(
        (
            click.style("The manifests are served. Try in another terminal", bold=True),
            f"  curl -H 'Host: shop.example.com' http://{bound[80]}/cart",
            f"  curl -H 'Host: canary.example.com' http://{bound[80]}/",
            f"  curl --cacert {_quoted(copy.authority)} --connect-to ::{bound[443]} "
            "https://account.example.com/",
            f"Show the status of each object with\n  {_contour()} status{where}",
            f"Edit the files in {copy.manifests}: a change takes effect at once.",
            "Ctrl-C ends the demonstration.",
        )
    )


def _contour() -> str:
    """How to call `contour` in another terminal, where this environment may not be activated."""
    program = Path(sys.argv[0])
    return _quoted(program.absolute()) if program.name == "contour" else "contour"


def _quoted(path: Path) -> str:
    """As a shell reads it."""
    return shlex.quote(str(path))
