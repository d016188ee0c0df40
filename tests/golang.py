"""Go for the tests: its toolchain, modules that it fetches, programs that are built once and kept.

A program is known by its sources: it stays in the user's cache under a hash of them, and of how it
is built. Building can take minutes and so is never a surprise: callers ask for it expressly.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests import cache

ROOT = Path(__file__).parents[1]
FLAGS = ("-mod=readonly", "-trimpath", "-buildvcs=false")


class MissingError(Exception):
    """What is not there, and how to get it."""


@dataclass(frozen=True, slots=True)
class Program:
    """What is built from a module of ours."""

    name: str
    shelf: str
    """A folder of the cache, for what belongs together."""
    module: Path
    """Where its go.mod is."""
    command: tuple[str, ...]
    """Of Go: what makes it, with the flags; `-o FILE` comes last but for the package."""
    package: str = "."

    @property
    def path(self) -> Path:
        """Where it is, once it is built."""
        return cache.folder(self.shelf, self._hash()) / self.name

    def build(self) -> None:
        """Builds it unless it is there; at most one process does, the others wait for it."""
        target = self.path
        if target.is_file():
            return
        go = toolchain()
        with cache.alone(target):
            if target.is_file():
                return
            print(f"Building {self.name} (once, some minutes) ...", file=sys.stderr)
            fresh = target.with_suffix(f".{os.getpid()}")
            subprocess.run(
                [go, *self.command, "-o", str(fresh), self.package],
                cwd=self.module, env=os.environ | {"CGO_ENABLED": "0"}, check=True,
            )  # fmt: skip
            fresh.rename(target)

    def _hash(self) -> str:
        """Of what it is made from."""
        sources = [self.module / it for it in ("go.mod", "go.sum")]
        sources += sorted(self.module.glob("*.go"))
        made = " ".join(it for it in (*self.command[1:], self.package) if it != ".")
        content = b"".join(it.read_bytes() for it in sources) + made.encode()
        return hashlib.sha256(content).hexdigest()[:16]


def required(module: Path, name: str) -> str:
    """The version of another module that one of ours requires."""
    lines = (module / "go.mod").read_text().splitlines()
    words = (line.removeprefix("require").split() for line in lines)
    return next(it[1] for it in words if it[:1] == [name] and len(it) > 1)


def folder(module: Path, name: str) -> Path:
    """Where Go keeps a module that one of ours requires, after it fetched it if need be."""
    told = subprocess.run(
        [toolchain(), "mod", "download", "-json", name],
        cwd=module, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = json.loads(told.stdout or "{}")
    if "Dir" not in found:
        raise MissingError(f"no {name}: {found.get('Error', told.stderr)}")
    return Path(found["Dir"])


def toolchain() -> str:
    """The command `go`."""
    found = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if not found:
        raise MissingError("no Go toolchain (`go`) to build with or to fetch a module with")
    return found
