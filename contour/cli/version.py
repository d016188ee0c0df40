"""`contour version`: what is installed here."""

from typing import Literal

import click

from contour import packages


@click.command()
@click.option(
    "-o", "--output", "format_", type=click.Choice(["table", "json", "yaml"]), default="table",
    show_default=True, help="Output format: a table for people, JSON or YAML for programs.",
)  # fmt: skip
def version(format_: Literal["table", "json", "yaml"]) -> None:
    """Prints the versions of this program and of its main dependencies."""
    found = dict(packages.versions())
    if format_ == "table":
        for name, number in found.items():
            click.echo(f"{name} {number}")
    else:
        from contour.cli import output

        output.document(found, format_)
