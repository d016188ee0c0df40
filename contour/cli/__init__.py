"""The command line: one module a command, each thin.

Exit codes: 0 fine, 1 the objects have errors (with `--strict`), 2 usage or unreadable input. A
command is imported when it is called: one that runs beside every Envoy must not carry the graph.
"""

import importlib

import click
from click.shell_completion import CompletionItem

_COMMANDS = {
    "demo": "Serves example manifests with example backends on this machine.",
    "run": "Serves manifests on this machine with a local Envoy, and follows their changes.",
    "serve": "Runs the control plane in a Kubernetes cluster.",
    "translate": "Prints the Envoy configuration or the statuses that manifests lead to.",
    "status": "Shows the status of every object of a running `contour run`, or of manifests.",
    "config": "Shows what the Envoy of a running `contour run` has accepted and refused.",
    "bootstrap": "Writes the bootstrap configuration of an Envoy that you run yourself.",
    "certgen": "Creates the TLS certificates for xDS, and renews them when they are due.",
    "manifests": "Prints the manifests of an installation, for `kubectl apply -f -`.",
    "envoy": "Drains an Envoy that this program did not start, such as one in a pod.",
    "version": "Prints the versions of this program and of its main dependencies.",
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
    """Configures Envoy from Ingress, HTTPProxy and Gateway API objects."""
