"""`contour collect`: one archive for a bug report."""

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from contour import packages, rundir
from contour.cli import source

if TYPE_CHECKING:
    from contour.collecting.archive import Archive


@click.command()
@source.options
@click.option(
    "-o", "--output", "path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    show_default="contour-DATE-TIME.tar.gz in this folder",
    help="Archive to write, a .tar.gz. It must not be there yet.",
)  # fmt: skip
def collect(path: Path | None) -> None:
    """Writes one archive for a bug report, without secrets.

    Of a running instance, here or in a cluster: versions, objects and how they fare, findings, what
    Envoys have, metrics and logs. Left out are Secrets, the values of ConfigMaps and
    environments, private keys, passwords, tokens and the queries of requests; look through it all
    the same before you send it. What cannot be had is listed in missing.txt. Exit code 2 means that
    nobody could be asked or that the file cannot be written.
    """
    from contour.collecting.archive import Archive

    archive = Archive()
    archive.data("versions.json", dict(packages.versions()))
    where = source.chosen()
    if where.is_cluster or not _of_run(where, archive):
        _of_cluster(where, archive)
    path = path or Path(f"contour-{datetime.now():%Y%m%d-%H%M%S}.tar.gz")
    try:
        archive.write(path)
    except OSError as error:
        click.echo(f"contour: {path}: {error.strerror}", err=True)
        sys.exit(2)
    click.echo(f"{path}: {len(archive.files)} files, {len(archive.missing)} things are missing")


def _of_run(where: source.Source, archive: "Archive") -> bool:
    """Whether a `contour run` has answered; ends the program if no cluster may be asked instead."""
    import http.client

    from contour.collecting import machine

    directory = where.state_dir or rundir.default_path()
    try:
        machine.gather(directory, archive, _progress)
    except (OSError, http.client.HTTPException):
        if not where.may_be_cluster:
            click.echo(f"contour: {source.nobody(directory)}", err=True)
            sys.exit(2)
        return False
    return True


def _of_cluster(where: source.Source, archive: "Archive") -> None:
    from contour.cli import remotely
    from contour.collecting import cluster
    from contour.remote import instances
    from kube.client import Client

    async def gather(client: Client) -> None:
        found = await instances.one(client, where.namespace, where.instance)
        await cluster.gather(client, found, archive, _progress)

    remotely.connected(where, gather)


def _progress(what: str) -> None:
    """Says on a terminal what is being gathered."""
    if sys.stderr.isatty():
        click.echo(f"gathering {what}", err=True)
