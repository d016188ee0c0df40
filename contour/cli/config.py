"""`contour config`: what every Envoy has been sent, has accepted, refuses and waits for."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from contour.cli import options, output, running, xdsview
from crds.raw import Raw, items, mapping


@click.command()
@options.state_dir
@click.option(
    "-o", "--output", "format_", type=click.Choice(["table", "json", "yaml"]), default="table",
    show_default=True, help="Output format: a table for people, JSON or YAML for programs.",
)  # fmt: skip
@click.option(
    "--raw", is_flag=True,
    help="Count the shards of a listener's RouteConfigurations one by one in the table. Without "
    "it, the shards of a listener count as one.",
)  # fmt: skip
def config(state_dir: Path | None, format_: Any, raw: bool) -> None:
    """Shows what the Envoy of a running `contour run` has accepted and refused.

    For each xDS type: the number of accepted and of pending resources, the error message of each
    refused resource, and what held-back resources wait for.
    """
    fleets = running.page("config", state_dir)
    if format_ == "table":
        _print(fleets, raw=raw)
    else:
        output.document(fleets, format_)


def _print(fleets: list[dict[str, Any]], *, raw: bool) -> None:
    rows = [
        tuple(_row(fleet["fleet"], envoy["id"], type_, set() if raw else _scopes(envoy)))
        for fleet in fleets
        for envoy in fleet["envoys"]
        for type_ in envoy["types"]
    ]
    output.table(("Fleet", "Envoy", "Type", "Accepted", "Pending", "Why"), rows)


def _scopes(envoy: Raw) -> set[str]:
    types = (mapping(it) for it in items(envoy.get("types")))
    scoped = (it for it in types if str(it.get("type")).endswith(".ScopedRouteConfiguration"))
    return {name for it in scoped for name in mapping(it.get("versions"))}


def _row(fleet: str, envoy: str, type_: dict[str, Any], scopes: set[str]) -> Iterator[output.Cell]:
    def counted(names: Iterable[str]) -> set[str]:
        return {xdsview.listener(it, scopes) for it in names}

    versions = type_["versions"]
    pending = counted((*type_["unsent"], *type_["unanswered"], *type_["waiting"]))
    unaccepted = counted(name for name, version in versions.items() if version is None)
    accepted = len(counted(versions) - unaccepted)
    yield fleet, ""
    yield envoy, ""
    yield type_["type"].rpartition(".")[2], ""
    yield f"{accepted} of {len(counted(versions))}", "green" if not pending else "yellow"
    yield str(len(pending)), ""
    yield "\n".join(_reasons(type_)), "red"


def _reasons(type_: dict[str, Any]) -> Iterator[str]:
    for name, parts in type_["refused"].items():
        for part, words in parts.items():
            yield f"refuses {part or 'all'} of {name}: {words}"
    for name, why in type_.get("malformed", {}).items():
        yield f"asks for {name!r}, which is no name: {why}"
    for name, parts in type_["waiting"].items():
        for part, needs in parts.items():
            yield f"{part or 'all'} of {name} waits for {', '.join(needs)}"
