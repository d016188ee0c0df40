"""The command line: one module a command, each thin.

Exit codes: 0 fine, 1 the objects have errors (with `--strict`), 2 usage or unreadable input. A
command is imported when it is called: one that runs beside every Envoy must not carry the graph.
"""

import importlib

import click
from click.shell_completion import CompletionItem

_COMMANDS = {
    "demo": "Serves example manifests with example backends on this machine.",
    "run": "Serves the manifests in PATH… on this machine, and follows their changes.",
    "serve": "Serves the objects of a cluster to its Envoys, and writes their statuses.",
    "translate": "Shows what manifests become, without serving anything.",
    "status": "Shows the status of every object, of the running `contour run` or of manifests.",
    "config": "Shows what each Envoy of the running `contour run` has accepted.",
    "bootstrap": "Writes Envoy's bootstrap to PATH, or to standard output.",
    "certgen": "Makes the certificates for xDS, or renews those that are due.",
    "manifests": "Prints the manifests of an installation, for `kubectl apply -f -`.",
    "envoy": "Sees to an Envoy that somebody else started.",
    "version": "Prints the version of this program and of what it is built on.",
}
"""The commands, each with the first sentence of its help: that of all needs no import."""


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        found: click.Command = getattr(importlib.import_module(f"contour.cli.{cmd_name}"), cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = (it for it in _COMMANDS if it.startswith(incomplete))
        own = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(it, help=_COMMANDS[it]) for it in names), *own]


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="contour-ingress", prog_name="contour")
def main() -> None:
    """Turns Ingress, HTTPProxy and the Gateway API into Envoy configuration."""
