"""`contour config`: what every Envoy has been sent, has accepted, refuses and waits for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from contour.cli import output, running


@click.command()
@click.option(
    "--state-dir", type=click.Path(path_type=Path),
    show_default="$XDG_RUNTIME_DIR/contour, or contour-UID in the temporary directory",
    help="State directory of the running `contour run`.",
)  # fmt: skip
@click.option(
    "-o", "--output", "format_", type=click.Choice(["table", "json", "yaml"]), default="table",
    show_default=True, help="Output format: a table for people, JSON or YAML for programs.",
)  # fmt: skip
def config(state_dir: Path | None, format_: Any) -> None:
    """Shows what the Envoy of a running `contour run` has accepted and refused.

    For each xDS type: the number of accepted and of pending resources, the error message of each
    refused resource, and what held-back resources wait for.
    """
    fleets = running.page("config", state_dir)
    if format_ == "table":
        _print(fleets)
    else:
        output.document(fleets, format_)


def _print(fleets: list[dict[str, Any]]) -> None:
    rows = [
        tuple(_row(fleet["fleet"], envoy["id"], type_))
        for fleet in fleets
        for envoy in fleet["envoys"]
        for type_ in envoy["types"]
    ]
    output.table(("Fleet", "Envoy", "Type", "Accepted", "Pending", "Why"), rows)


def _row(fleet: str, envoy: str, type_: dict[str, Any]) -> Iterator[Text]:
    versions = type_["versions"]
    pending = sorted({*type_["unsent"], *type_["unanswered"], *type_["waiting"]})
    accepted = sum(version is not None for version in versions.values())
    yield Text(fleet)
    yield Text(envoy)
    yield Text(type_["type"].rpartition(".")[2])
    yield Text(f"{accepted} of {len(versions)}", style="green" if not pending else "yellow")
    yield Text(str(len(pending)))
    yield Text("\n".join(_reasons(type_)), style="red")


def _reasons(type_: dict[str, Any]) -> Iterator[str]:
    for name, parts in type_["refused"].items():
        for part, words in parts.items():
            yield f"refuses {part or 'all'} of {name}: {words}"
    for name, why in type_.get("malformed", {}).items():
        yield f"asks for {name!r}, which is no name: {why}"
    for name, parts in type_["waiting"].items():
        for part, needs in parts.items():
            yield f"{part or 'all'} of {name} waits for {', '.join(needs)}"
