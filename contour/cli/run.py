"""`contour run`: serves manifests on this machine with a real Envoy."""

import logging
import sys
from pathlib import Path

import click

from contour import files, host, process
from contour import run as running
from contour.cli import failures
from contour.host import ports, state
from crds.draining import DRAIN_SECONDS


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH…", type=click.Path(path_type=Path))
@click.option("--bind", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--map-port",
    "port_map",
    multiple=True,
    metavar="EXTERNAL=LOCAL",
    help="The local port for a port that users see. Default: the same; below 1024, plus 8000.",
)
@click.option(
    "--state-dir", type=click.Path(path_type=Path), help="Where sockets and logs are kept."
)
@click.option("--controller-name", help="Serve the GatewayClasses of this controller.")
@click.option("--concurrency", type=click.IntRange(1), help="Envoy's threads. Default: one a core.")
@click.option(
    "--drain-time", type=click.FloatRange(0), default=30, show_default=True, help="Seconds."
)
@click.option(
    "--listener-drain-time", type=click.IntRange(1), default=DRAIN_SECONDS, show_default=True,
    help="Seconds that connections may go on at least after a change of their TLS settings.",
)  # fmt: skip
@click.option("--verbose", is_flag=True, help="Log what happens, not only what is wrong.")
def run(
    paths: tuple[Path, ...],
    bind: str,
    port_map: tuple[str, ...],
    state_dir: Path | None,
    controller_name: str | None,
    concurrency: int | None,
    drain_time: float,
    listener_drain_time: int,
    verbose: bool,
) -> None:
    """Serves the manifests in PATH… on this machine, and follows their changes.

    Runs until it is told to stop (Ctrl-C or SIGTERM), then lets requests finish. The file `ready`
    in the state directory exists while Envoy serves a complete configuration.
    """
    log_to_stderr(verbose)
    with failures.told(host.Error, files.UnreadableInput):
        options = running.Options(
            paths=paths,
            address=bind,
            port_map=tuple(sorted(ports.mapping(port_map).items())),
            controller_name=controller_name,
            envoy=host.Options(
                concurrency=concurrency,
                drain_seconds=drain_time,
                replaced_seconds=listener_drain_time,
            ),
        )
        with state.claimed(state_dir or state.default_path()) as directory:
            process.run(running.run(directory, options))


def log_to_stderr(verbose: bool) -> None:
    """One line a message, for people."""
    level = logging.DEBUG if verbose else logging.INFO
    logging.basicConfig(level=level, format="%(levelname)s %(message)s", stream=sys.stderr)
