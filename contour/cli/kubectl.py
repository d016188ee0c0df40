"""`kubectl contour`: the commands that ask an instance in a cluster, as a plugin of kubectl.

kubectl starts `kubectl-contour` for `kubectl contour …`, and `kubectl_complete-contour` to complete
it (Kubernetes, "Extend kubectl with plugins"). The commands are those of `contour`, without what is
for one machine; whatever runs here, the cluster of the kubeconfig is asked.
"""

import copy
import sys
from collections.abc import Mapping
from typing import ClassVar

import click
from click.shell_completion import CompletionItem, ShellComplete

from contour import cli
from contour.cli import source

_NAMES = (
    "explain", "status", "analyze", "diff", "config", "translate", "collect",
    "version",
)  # fmt: skip
_NAME = "kubectl contour"
_SAID = {
    "ask the running `contour run`, or an instance in a cluster": "ask the instance",
    "those of the running `contour run`, or what a cluster has": "what the cluster has",
    "required without PATH and --from-cluster": "read the objects of the cluster",
}
"""Descriptions of defaults in the help of options, and their replacements for kubectl."""
_LEFT_OUT = {*source.ON_THIS_MACHINE, "from_cluster"}
_NO_FILES = 4  # ShellCompDirectiveNoFileComp of cobra


class _Commands(cli.Commands):
    names: ClassVar[Mapping[str, str]] = {it: cli.COMMANDS[it] for it in _NAMES}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = super().get_command(ctx, cmd_name)
        if found is None:
            return None
        here = copy.copy(found)
        here.params = [_said(it) for it in found.params if it.name not in _LEFT_OUT]
        return here


def _said(parameter: click.Parameter) -> click.Parameter:
    if not isinstance(parameter, click.Option) or parameter.show_default not in _SAID:
        return parameter
    here = copy.copy(parameter)
    here.show_default = _SAID[str(parameter.show_default)]
    return here


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="contour-ingress", prog_name=_NAME)
@source.of_kubectl
@click.pass_context
def group(ctx: click.Context) -> None:
    """Asks a Contour instance in the cluster of your kubeconfig, with your own rights."""
    source.require_cluster(ctx)


def main() -> None:
    """Runs the plugin."""
    group(prog_name=_NAME)


def complete() -> None:
    """Completes the last of the arguments, in the words of kubectl: a line each, and what to do
    with them."""
    *words, incomplete = sys.argv[1:] or [""]
    shell = ShellComplete(group, {}, _NAME, "")
    for it in shell.get_completions(words, incomplete):
        if it.type == "plain":  # not a request to complete files
            click.echo(_line(it))
    click.echo(f":{_NO_FILES}")


def _line(item: CompletionItem) -> str:
    return f"{item.value}\t{item.help}" if item.help else str(item.value)
