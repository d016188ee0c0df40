"""What `contour translate` prints: the same answers that a running instance would send."""

import dataclasses
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import click

from contour.cli import manifestinput, options, output, xdsview
from contour.controller import Controller
from contour.offline import rendering
from crds import shape
from crds.meta import ObjectRef
from crds.raw import Raw, is_mapping
from dag import hosts, listeners, tables
from dag.fleetnames import DEFAULT_FLEET


class Wanted(NamedTuple):
    """What the options ask to print."""

    to: Literal["xds", "routes", "status", "objects", "dag", "fleets"]
    format: Literal["table", "json", "yaml"] | None
    fleet: str | None
    types: tuple[str, ...]
    host: str | None
    raw: bool


def show(found: manifestinput.Read, wanted: Wanted) -> None:
    """Prints it."""
    format_: output.Format = "json" if wanted.format == "json" else "yaml"
    match wanted.to:
        case "xds":
            output.document(_resources(found.fleets, wanted), format_)
        case "routes":
            _routes(found.fleets, wanted)
        case "status":
            output.stream([it for _, it in _statuses(found)], format_)
        case "objects":
            shown = [_whole(it, found.original(ref) or {}) for ref, it in _statuses(found)]
            output.stream(shown, format_)
        case "fleets":
            output.document(sorted(found.fleets.by_name), format_)
        case "dag":
            output.document(_graph(found.controller), format_)


def _statuses(found: manifestinput.Read) -> Iterator[tuple[ObjectRef, Raw]]:
    return found.controller.board.objects(_generations(found.controller))


def _whole(shown: Raw, original: Raw) -> Raw:
    """An object as it is written in its file, with the status that it gets here."""
    own, known = original.get("metadata"), shown["metadata"]
    metadata = {**own, **known} if is_mapping(own) and is_mapping(known) else known
    return {**original, **shown, "metadata": metadata}


def _resources(fleets: rendering.Fleets, wanted: Wanted) -> xdsview.Sections:
    shown = fleets.shown(_fleet(fleets, wanted), every=wanted.raw)
    if not wanted.raw and wanted.format != "json":
        shown = xdsview.joined(shown)
    shown = _of_host(shown, wanted.host)
    return xdsview.of_types(shown, wanted.types)


def _routes(fleets: rendering.Fleets, wanted: Wanted) -> None:
    shown = xdsview.joined(fleets.shown(_fleet(fleets, wanted), every=False))
    shown = _of_host(shown, wanted.host)
    rows = list(xdsview.routes(shown))
    if wanted.format in ("json", "yaml"):
        output.document(
            [it._asdict() for it in rows], "json" if wanted.format == "json" else "yaml"
        )
    else:
        headers = ("Listener", "Host", "Match", "Object", "Action")
        output.table(headers, [[(text, "") for text in it] for it in rows])


def _of_host(shown: xdsview.Sections, host: str | None) -> xdsview.Sections:
    """The virtual hosts that can serve a host; everything if it is None. Standard error says so if
    there are none."""
    if host is None:
        return shown
    found = xdsview.of_host(shown, host)
    if not found["routes"]:
        output.say(f"contour: no virtual host serves {host}", err=True)
    return found


def _fleet(fleets: rendering.Fleets, wanted: Wanted) -> str:
    """The fleet to print. An unknown name ends the program. If the shared fleet does not exist but
    others do, nothing is printed, and standard error names the others."""
    names = sorted(fleets.by_name)
    if wanted.fleet is not None:
        if wanted.fleet not in names:
            raise options.no_fleet(wanted.fleet, names)
        return wanted.fleet
    if names and DEFAULT_FLEET not in names:
        click.echo(f"contour: {options.no_shared_fleet(DEFAULT_FLEET, names)}", err=True)
    return DEFAULT_FLEET


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
    """A node as plain data; paths and actions contain the name of their type."""
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
