"""`contour demo`: a first look with nothing but this package."""

from pathlib import Path

import click

from contour.cli import importing


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option(
    "--map-port", "port_map", multiple=True, metavar="EXTERNAL=LOCAL",
    show_default="80=8080 and 443=8443, or free ports",
    help="Listen on port LOCAL of this machine for port EXTERNAL of the manifests. Can be given "
    "several times.",
)  # fmt: skip
@click.option(
    "--state-dir", type=click.Path(path_type=Path), show_default="that of `contour run`",
    help="Private directory for sockets and files of this run.",
)  # fmt: skip
@click.option("--verbose", is_flag=True, help="Also log messages of level debug.")
def demo(
    folder: Path | None, port_map: tuple[str, ...], state_dir: Path | None, verbose: bool
) -> None:
    """Serves example manifests with example backends on this machine.

    Writes the manifests to FOLDER, a new or empty folder where you can edit them (default: a
    temporary folder, removed at the end). Then starts the backends, serves the manifests as
    `contour run` does, and prints requests to try. Ctrl-C ends the demonstration.
    """
    with importing():
        import tempfile

        from contour import files, host, rundir
        from contour import run as running
        from contour.cli.run import log_to_stderr
        from contour.demo import showing
        from contour.host import ports, state
        from observability import failures, signals

    log_to_stderr(verbose)
    with failures.fatal(host.Error, files.UnreadableInput):
        named = ports.mapping(port_map)
        options = running.RunOptions(
            port_map=tuple(sorted(named.items())),
            moved_ports=showing.moved_ports(named, "127.0.0.1"),
            envoy=host.EnvoyOptions(concurrency=1, drain_seconds=5),
        )
        with (
            tempfile.TemporaryDirectory(prefix="contour-demo-") as made,
            state.claimed(state_dir or rundir.default_path()) as directory,
        ):
            place = folder.absolute() if folder else Path(made, "quickstart")
            signals.run(showing.show(directory, place, options))
