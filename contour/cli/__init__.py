"""The command line: one module a command, each thin.

Exit codes: 0 fine, 1 what a command looks for was found (objects with errors, findings,
differences) or not everything could be done, 2 usage or unreadable input. A command is imported
when it is called, so that a command that runs beside every Envoy does not load the graph.
"""

import difflib
import errno
import gc
import importlib
import os
import signal
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import ClassVar

import click
from click.shell_completion import CompletionItem

from contour.cli.texts import Text

COMMANDS = {
    "demo": "Serves example manifests with example backends on this machine.",
    "run": "Serves manifests on this machine with a local Envoy, and follows their changes.",
    "serve": "Runs the control plane in a Kubernetes cluster.",
    "translate": "Prints the Envoy configuration or the statuses that manifests lead to.",
    "status": "Shows the status of every object of a running instance, or of manifests.",
    "explain": "Says which objects serve a request, which do not, and why.",
    "analyze": "Finds what is wrong with manifests, and what is worth a look although it works.",
    "diff": "Shows which requests would be answered differently, and how.",
    "convert": "Converts manifests of ingress-nginx, or the settings of upstream Contour.",
    "config": "Shows what the Envoys of a running instance have accepted and refused.",
    "collect": "Writes one archive for a bug report, without secrets.",
    "doctor": "Checks whether `contour run`, or `contour serve` in a cluster, can work here.",
    "bootstrap": "Writes the bootstrap configuration of an Envoy or gRPC application that you run "
    "yourself.",
    "certgen": "Creates the TLS certificates for xDS, and renews them when they are due.",
    "manifests": "Prints the manifests of an installation, for `kubectl apply -f -`.",
    "envoy": "Drains an Envoy that this program did not start, such as one in a pod.",
    "completion": "Prints the script by which a shell completes commands and options.",
    "version": "Prints the versions of this program and of its main dependencies.",
}
"""The commands, each with the first sentence of its help: that of all needs no import."""

UNUSABLE = 2
"""Usage errors, and input or output that cannot be used."""

INTERRUPTED = 130
"""128 and the number of SIGINT, as shells have it."""


@contextmanager
def importing() -> Generator[None]:
    """While a command is imported, garbage collection is off, and Ctrl-C ends the process.

    Imported objects stay alive, so looking for garbage among them would waste a fifth of the time.
    """
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        with _ending_at_once():
            yield
    finally:
        if was_collecting:
            gc.enable()


@contextmanager
def _ending_at_once() -> Generator[None]:
    """Ctrl-C ends the process at once while there is nothing to clean up.

    With KeyboardInterrupt, a second Ctrl-C could interrupt the exit of the interpreter, with a
    traceback.
    """
    before = signal.getsignal(signal.SIGINT)
    ignored = before is not signal.default_int_handler  # as in the background of a script
    if ignored or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _end_at_once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end_at_once(_: int, __: FrameType | None) -> None:
    os._exit(INTERRUPTED)


def _with_texts(command: click.Command) -> click.Command:
    """The same command, which takes no other text than UTF-8 where it takes any text."""
    for parameter in command.params:
        if parameter.type is click.STRING:
            parameter.type = Text()
    for it in command.commands.values() if isinstance(command, click.Group) else ():
        _with_texts(it)
    return command


class Commands(click.Group):
    """Imports a command when it is called, and knows the first sentence of each."""

    names: ClassVar[Mapping[str, str]] = COMMANDS

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All of them, in the order of the help."""
        return list(self.names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the command and returns it."""
        if cmd_name not in self.names:
            return None
        with importing():
            module = importlib.import_module(f"contour.cli.{cmd_name}")
        found: click.Command = getattr(module, cmd_name)
        return _with_texts(found)

    def __call__(self, *arguments: object, **options: object) -> object:
        """Runs the program; output that cannot be written ends it with one line and code 2."""
        if sys.stdout is None:  # closed by whoever started this
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        try:
            return super().__call__(*arguments, **options)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the rest cannot be written either
            click.echo(f"Error: {error.filename or 'the output'}: {error.strerror}", err=True)
            sys.exit(UNUSABLE)

    def invoke(self, ctx: click.Context) -> object:
        """Ctrl-C ends any command without a word, with the exit code of an interrupted one."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command, or an error with the one that was probably meant."""
        if args[0] not in self.names and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], self.names, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists them without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.names.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Those that begin so, and the options of the group."""
        names = (it for it in self.names if it.startswith(incomplete))
        own = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(it, help=self.names[it]) for it in names), *own]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="contour-ingress", prog_name="contour")
def main() -> None:
    """Configures Envoy from Ingress, HTTPProxy and Gateway API objects."""
