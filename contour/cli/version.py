"""`contour version`: what is installed here, and what runs in a cluster."""

from typing import Literal

import click

from contour import packages
from contour.cli import source


@click.command()
@click.option(
    "-o", "--output", "format_", type=click.Choice(["table", "json", "yaml"]), default="table",
    show_default=True, help="Output format: a table for people, JSON or YAML for programs.",
)  # fmt: skip
@source.in_clusters
def version(format_: Literal["table", "json", "yaml"]) -> None:
    """Prints the versions of this program and of its main dependencies.

    Where an option names a cluster, also those of every replica there, ready or not.
    """
    where = source.chosen()
    if where.is_cluster:
        _remote(where, format_)
        return
    found = dict(packages.versions())
    if format_ == "table":
        for name, number in found.items():
            click.echo(f"{name} {number}")
    else:
        from contour.cli import output

        output.document(found, format_)


def _remote(where: source.Source, format_: Literal["table", "json", "yaml"]) -> None:
    from contour.cli import output, remotely

    ours = dict(packages.versions())
    replicas = remotely.versions(where)
    if format_ != "table":
        output.document({"client": ours, "replicas": replicas}, format_)
        return
    rows = [("this program", "", ours[packages.OURS], "")]
    rows += [
        (it["instance"], it["pod"], it["versions"].get(packages.OURS, "unknown"), it["why"])
        for it in replicas
    ]
    output.table(("Instance", "Pod", "Version", "Why"), [[(it, "") for it in row] for row in rows])
