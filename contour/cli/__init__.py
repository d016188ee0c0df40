"""The command line: one module a command, each thin.

Exit codes: 0 fine, 1 the objects have errors (with `--strict`), 2 usage or unreadable input.
"""

import click

from contour.cli.bootstrap import bootstrap
from contour.cli.certgen import certgen
from contour.cli.config import config
from contour.cli.run import run
from contour.cli.status import status
from contour.cli.translate import translate
from contour.cli.version import version


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="contour-ingress", prog_name="contour")
def main() -> None:
    """Turns Ingress, HTTPProxy and the Gateway API into Envoy configuration."""


for command in (run, translate, status, config, bootstrap, certgen, version):
    main.add_command(command)
