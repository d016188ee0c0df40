"""The command line: one module a command, each thin.

Exit codes: 0 fine, 1 the objects have errors (with `--strict`), 2 usage or unreadable input. A
command is imported when it is called: one that runs beside every Envoy must not carry the graph.
"""

import importlib

import click

_COMMANDS = (
    "demo", "run", "serve", "translate", "status", "config", "bootstrap", "certgen", "manifests",
    "envoy", "version",
)  # fmt: skip


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        found: click.Command = getattr(importlib.import_module(f"contour.cli.{cmd_name}"), cmd_name)
        return found


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="contour-ingress", prog_name="contour")
def main() -> None:
    """Turns Ingress, HTTPProxy and the Gateway API into Envoy configuration."""
