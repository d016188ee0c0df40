"""The command line of the operator. So far it tells its version and nothing else."""

import click


@click.command()
@click.version_option(package_name="contour-ingress", prog_name="contour-operator")
def main() -> None:
    """Provisions Contour instances from ContourConfiguration objects (not built yet)."""
    raise click.UsageError("the operator is not built yet; only --version is served")
