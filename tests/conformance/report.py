"""What the suite reports, as a table: for the terminal, and for the documents.

A report is the suite's own YAML ("ConformanceReport"), which goes upstream untouched.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.golang import ROOT

Raw = dict[str, Any]

FOLDER = ROOT / "docs" / "conformance"
"""The last reports: a folder for each release of the API, with one for each channel."""


class Row(NamedTuple):
    """A profile, and how many of its tests passed, failed and were skipped."""

    profile: str
    core: tuple[int, int, int]
    extended: tuple[int, int, int]
    claimed: int
    """The features beyond the core that we claim."""
    unclaimed: tuple[str, ...]


def read(path: Path) -> Raw:
    """A report."""
    found: Raw = yaml.load(path.read_text(), yaml.CSafeLoader)
    return found


def rows(report: Raw) -> Iterator[Row]:
    """One for each profile, in order of their names."""
    for it in sorted(report["profiles"], key=lambda it: str(it["name"])):
        extended = it.get("extended") or {}
        yield Row(
            it["name"],
            _counts(it["core"]),
            _counts(extended),
            len(extended.get("supportedFeatures") or ()),
            tuple(extended.get("unsupportedFeatures") or ()),
        )


def line(row: Row) -> str:
    """As the documents have it."""
    core, extended = (" / ".join(map(str, it)) for it in (row.core, row.extended))
    missing = ", ".join(row.unclaimed) or "none"
    return f"| {row.profile} | {core} | {extended} | {row.claimed} | {missing} |"


def table(report: Raw) -> str:
    """All of it, in Markdown."""
    head = (
        "| profile | core: passed / failed / skipped | extended | features claimed | not claimed |"
    )
    return "\n".join([head, "|---|---|---|---|---|", *map(line, rows(report))])


def name(report: Raw) -> str:
    """The file of a report, as upstream wants it to be called."""
    version = report["implementation"]["version"]
    return f"{report['gatewayAPIChannel']}-{version}-{report['mode']}-report.yaml"


def published(written: Path) -> Path:
    """Keeps a report among the documents; its file there."""
    found = read(written)
    target: Path = FOLDER / str(found["gatewayAPIVersion"]) / name(found)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(written.read_bytes())
    return target


def _counts(half: Raw) -> tuple[int, int, int]:
    found = half.get("statistics") or {}
    passed, failed, skipped = (int(found.get(it, 0)) for it in ("Passed", "Failed", "Skipped"))
    return passed, failed, skipped
