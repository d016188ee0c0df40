"""`contour status`: every object, how it fares and why; of a running instance or of manifests."""

import sys
import time
from collections.abc import Iterator
from typing import Literal, NoReturn

import click

from contour.answers.shown import Row
from contour.answers.subjects import named
from contour.cli import options, output, running, source

_INTERVAL = 2.0
"""Seconds between two looks."""
_STYLES = {"ok": "green", "warning": "yellow", "error": "red"}


@click.command()
@options.manifests("ask the running `contour run`, or an instance in a cluster")
@source.options
@options.controller_name
@click.option(
    "-o", "--output", "format_", type=click.Choice(["table", "json", "yaml"]), default="table",
    show_default=True, help="Output format: a table for people, JSON or YAML for programs.",
)  # fmt: skip
@click.option(
    "--strict", is_flag=True, help="Exit with code 1 if any object has an error."
)  # fmt: skip
@click.option("--lenient", is_flag=True, help=options.LENIENT)
@click.option(
    "--all", "every", is_flag=True,
    help="Also show Services, Secrets and other objects that have no status of their own.",
)  # fmt: skip
@click.option(
    "-w", "--watch", "watches", is_flag=True,
    help="Stay, and print a line for each object that fares otherwise than before.",
)  # fmt: skip
def status(
    paths: tuple[str, ...],
    more: tuple[str, ...],
    controller_name: str | None,
    format_: Literal["table", "json", "yaml"],
    strict: bool,
    lenient: bool,
    every: bool,
    watches: bool,
) -> None:
    """Shows the status of every object of a running instance, or of manifests.

    Each PATH is a file, a folder (recursive), or - for standard input. With PATH no instance has to
    run: the manifests are checked offline, and Envoy is assumed to accept them. Files that cannot
    be read have a row too; with PATH the exit code is then 2.
    """
    if watches and (paths + more or format_ != "table"):
        raise click.UsageError("--watch is for the table of a running instance")
    source.refuse_contradictions(paths + more, "lenient", "controller_name")
    rows, is_unreadable = (
        _offline(paths + more, controller_name, every=every, lenient=lenient)
        if paths + more
        else (running.rows(every=every), False)
    )
    if format_ == "table":
        _print(rows)
    else:
        output.document(rows, format_)
    if watches:
        _watch(rows, every=every)
    if is_unreadable:
        sys.exit(2)
    if strict and any(it["state"] == "error" for it in rows):
        sys.exit(1)


def _offline(
    paths: tuple[str, ...], controller_name: str | None, *, every: bool, lenient: bool
) -> tuple[list[Row], bool]:
    """The rows, and whether anything cannot be read."""
    from contour.cli import manifestinput
    from contour.status import listing

    found = manifestinput.read(paths, controller_name, lenient=lenient, translates=False)
    rows = listing.plain(manifestinput.listed(found, every=every))
    if not rows:
        named = ", ".join(paths)
        none = f"there are no objects in {named}"
        hidden = f"no object in {named} has a status of its own; --all shows them"
        output.say(f"contour: {none if manifestinput.is_empty(found) else hidden}", err=True)
    return rows, found.is_unreadable


def _watch(rows: list[Row], *, every: bool) -> NoReturn:
    """Prints changes until it is interrupted, or until the instance no longer answers."""
    while True:
        time.sleep(_INTERVAL)
        now = running.rows(every=every)
        for line in _changes(rows, now):
            output.say(f"{time.strftime('%H:%M:%S')} {line}")
        rows = now


def _changes(before: list[Row], now: list[Row]) -> Iterator[str]:
    old, new = ({named(it["subject"]): it for it in rows} for rows in (before, now))
    for name, row in new.items():
        was = old.get(name)
        if was is None or _told(was) != _told(row):
            first = "" if was is None else f"{was['summary'] or was['state']} -> "
            yield f"{name}: {first}{_told(row)}"
    yield from (f"{name}: gone" for name in old.keys() - new.keys())


def _told(row: Row) -> str:
    return "; ".join((row["summary"] or row["state"], *row["reasons"]))


def _print(rows: list[Row]) -> None:
    output.table(("Kind", "Object", "Status", "Why"), [tuple(_cells(it)) for it in rows])


def _cells(row: Row) -> Iterator[output.Cell]:
    subject = row["subject"]
    yield subject["kind"], ""
    yield "/".join(it for it in (subject["namespace"], subject["name"]) if it), ""
    yield row["summary"] or row["state"], _STYLES[row["state"]]
    yield "\n".join(row["reasons"]), ""
