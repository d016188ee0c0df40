"""Which tests went, and which came, between two commits: `python -m tests.tidy.ids BEFORE [AFTER]`.

A test is its id as pytest collects it. One whose file was renamed, as git sees it, has not gone.
Ends with 1 if any has.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from io import BytesIO


def collected(commit: str) -> set[str]:
    """The ids of a commit's tests."""
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(["git", "archive", commit], check=True, capture_output=True)
        with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
            archive.extractall(folder, filter="data")
        found = subprocess.run(
            [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"],
            cwd=folder, env=os.environ | {"PYTHONPATH": f"{folder}:{folder}/operator"},
            check=True, capture_output=True, text=True,
        )  # fmt: skip
    return {line for line in found.stdout.splitlines() if "::" in line}


def renamed(before: str, after: str) -> Mapping[str, str]:
    """The new path of each renamed file."""
    told = subprocess.run(
        ["git", "diff", "--name-status", "--diff-filter=R", "-M40%", before, after, "--", "tests"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return {old: new for _, old, new in (line.split("\t") for line in told.stdout.splitlines())}


def moved(ids: set[str], paths: Mapping[str, str]) -> set[str]:
    """The same tests where their files are now."""
    parts = (it.partition("::") for it in ids)
    return {f"{paths.get(path, path)}::{name}" for path, _, name in parts}


def main(before: str, after: str = "HEAD") -> int:
    """Prints them; the exit code."""
    old, new = moved(collected(before), renamed(before, after)), collected(after)
    for sign, ids in (("-", old - new), ("+", new - old)):
        for it in sorted(ids):
            print(sign, it)
    print(f"{len(old)} before, {len(new)} after, {len(old - new)} gone, {len(new - old)} new")
    return 1 if old - new else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
