"""Options and arguments of several commands, with the same meaning and help in each."""

import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from contour.cli.names import NAMESPACE
from contour.cli.texts import Text

C = TypeVar("C", bound=Callable[..., object])

LENIENT = (
    "Take objects with unknown fields, without these fields, and report them as warnings. "
    "Otherwise an unknown field is an error, as it is for `kubectl apply`."
)
"""The help of `--lenient`."""


_URL = re.compile(r"https?://", re.IGNORECASE)


class ManifestPath(Text):
    """The path of manifests, which is not empty: `Path("")` is the current folder, which nobody
    means by a variable that is not set."""

    name = "path"

    def refusal(self, text: str) -> str:
        """Why the text is no path of manifests; empty if it is one."""
        if not text:
            return "it is empty; write . for the current folder"
        if _URL.match(text):
            return f"{text} is a URL: fetch it, and read standard input with -"
        return ""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Files, of which the shell knows more."""
        return [CompletionItem(incomplete, type="file")]


def names(_: click.Context, __: click.Parameter, value: str) -> str:
    """Refuses a list of namespaces without any, such as a comma, which would mean all of them, and
    one with a name that no namespace can have."""
    named = [it.strip() for it in value.split(",") if it.strip()]
    if value and not named:
        raise click.BadParameter("it names no namespace; leave it out to watch all")
    for it in named:
        if why := NAMESPACE.refusal(it):
            raise click.BadParameter(why)
    return value


def refuse(names: Collection[str], why: str) -> None:
    """Raises UsageError if the command line gives the running command one of these parameters;
    `why` follows its name in the message."""
    context = click.get_current_context()
    for it in context.command.params:
        is_given = context.get_parameter_source(it.name or "") is ParameterSource.COMMANDLINE
        if it.name in names and is_given:
            name = it.opts[-1] if isinstance(it, click.Option) else it.human_readable_name
            raise click.UsageError(f"{name} {why}")


def manifests(without: str) -> Callable[[C], C]:
    """`PATH…` and `-f PATH`: the manifests to read. `without`: what happens if none is named."""

    def added(command: C) -> C:
        named = click.option(
            "-f", "--filename", "more", multiple=True, metavar="PATH", show_default=without,
            type=ManifestPath(),
            help="Manifests to read, like the argument PATH: a file, a folder (recursive), or - "
            "for standard input. Can be given several times.",
        )  # fmt: skip
        paths = click.argument("paths", nargs=-1, metavar="[PATH]...", type=ManifestPath())
        return paths(named(command))

    return added


class ControllerName(Text):
    """The name of a controller, as GatewayClasses have it; an empty one is that of none."""

    def refusal(self, text: str) -> str:
        """Why no controller has this name; empty if one may."""
        from dag.configuration import sites

        why = sites.controller_refusal(text) if text else ""
        return f"{text!r} {why}" if why else ""


def controller_name(command: C) -> C:
    """`--controller-name`: which GatewayClasses are served."""
    return click.option(
        "--controller-name", type=ControllerName(), metavar="DOMAIN/PATH",
        show_default="that of the ContourConfiguration, or Contour's",
        help="Serve GatewayClasses with this `spec.controllerName`.",
    )(command)  # fmt: skip


def state_dir(command: C) -> C:
    """`--state-dir`: which running instance is asked."""
    return click.option(
        "--state-dir", type=click.Path(path_type=Path),
        show_default="$XDG_RUNTIME_DIR/contour, or contour-UID in the temporary directory",
        help="State directory of the running `contour run`.",
    )(command)  # fmt: skip


def no_fleet(name: str, there: Sequence[str]) -> click.UsageError:
    """The error that `--fleet` names none of the fleets that are there."""
    shown = ", ".join(there) or "none"
    return click.UsageError(f"--fleet: there is no fleet {name!r}; there are: {shown}")


def no_shared_fleet(name: str, there: Sequence[str]) -> str:
    """The message that there is no shared fleet, while `--fleet` was not given."""
    return f"there is no fleet {name!r}; choose with --fleet one of {', '.join(there)}"
