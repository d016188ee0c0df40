"""`contour translate`: manifests in; xDS, statuses or the graph out. Offline.

What it prints is what a running instance would send: the same controller, with collections in
place of Envoys. Scripts rely on this interface; it changes only by addition.
"""

import dataclasses
import sys
from typing import Any, Literal

import click

from contour import offline
from contour.cli import manifestinput, output
from contour.controller import Controller
from crds import shape
from crds.meta import ObjectRef
from dag import hosts, listeners, tables

To = Literal["xds", "status", "dag", "fleets"]


@click.command()
@click.option(
    "-f", "--filename", "paths", multiple=True, required=True, metavar="PATH",
    help="Manifests to read: a file, a folder (recursive), or - for standard input. Can be given "
    "several times.",
)  # fmt: skip
@click.option(
    "--to", type=click.Choice(["xds", "status", "dag", "fleets"]), default="xds", show_default=True,
    help="What to print: Envoy's resources, the statuses of the objects, the internal graph, or "
    "the names of the fleets.",
)  # fmt: skip
@click.option(
    "-o", "--output", "format_", type=click.Choice(["json", "yaml"]), default="yaml",
    show_default=True, help="Output format of the printed documents.",
)  # fmt: skip
@click.option(
    "--fleet", default=listeners.DEFAULT_FLEET, show_default=True,
    help="Fleet whose resources `--to xds` prints. `--to fleets` lists the names.",
)  # fmt: skip
@click.option(
    "--controller-name", show_default="that of the ContourConfiguration, or Contour's",
    help="Serve GatewayClasses with this `spec.controllerName`.",
)  # fmt: skip
@click.option(
    "--strict", is_flag=True, help="Exit with code 1 if any object has an error."
)  # fmt: skip
@click.option("--lenient", is_flag=True, help=manifestinput.LENIENT)
def translate(
    paths: tuple[str, ...],
    to: To,
    format_: output.Format,
    fleet: str,
    controller_name: str | None,
    strict: bool,
    lenient: bool,
) -> None:
    """Prints the Envoy configuration or the statuses that manifests lead to.

    Works offline: nothing is served. Errors and warnings about documents go to standard error,
    each with its file, line and field. Exit code 2 means that some input could not be read.
    """
    found = manifestinput.read(paths, controller_name, lenient=lenient)
    for line in found.complaints:
        click.echo(line, err=True)
    _print(found.controller, found.fleets, to, format_, fleet)
    if found.is_unreadable:
        sys.exit(2)
    if strict and any(it.state == "error" for it in manifestinput.listed(found)):
        sys.exit(1)


def _print(
    controller: Controller, fleets: offline.Fleets, to: To, format_: output.Format, fleet: str
) -> None:
    match to:
        case "xds":
            output.document(fleets.shown(fleet), format_)
        case "status":
            shown = controller.board.objects(_generations(controller))
            output.stream(list(shown), format_)
        case "fleets":
            output.document(sorted(fleets.by_name), format_)
        case "dag":
            output.document(_graph(controller), format_)


def _generations(controller: Controller) -> dict[ObjectRef, int]:
    return {
        ObjectRef(kind, *key): found.metadata.generation
        for kind, table in tables.BY_KIND.items()
        for key, found in controller.engine.rows(table)
    }


def _graph(controller: Controller) -> dict[str, Any]:
    answers = controller.engine.answers
    return {
        "listeners": [_plain(it) for _, it in sorted(answers(listeners.listener))],
        "hosts": [
            {"fleet": key.fleet, "listener": key.listener, **_plain(found)}
            for key, found in sorted(answers(hosts.virtual_host))
        ],
        "secure_hosts": [
            {"fleet": key.fleet, "listener": key.listener, "host": key.host, **_plain(found)}
            for key, found in sorted(answers(hosts.secure_host))
        ],
    }


def _plain(value: object) -> Any:
    """A node as plain data; each kind of path and action says which it is."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found = {it.name: _plain(getattr(value, it.name)) for it in dataclasses.fields(value)}
        shown = {name: it for name, it in found.items() if it not in (None, "", [], {})}
        return {"kind": type(value).__name__, **shown}
    items = shape.items(value)
    if items is None:
        return value
    names: tuple[str, ...] | None = getattr(items, "_fields", None)
    plain = [_plain(it) for it in items]
    return plain if names is None else dict(zip(names, plain, strict=True))
