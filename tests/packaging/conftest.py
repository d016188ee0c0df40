"""The wheel of this checkout."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pods.images import copied


@pytest.fixture(scope="session", name="wheel")
def _wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


def built(folder: Path, time: float | None = None) -> Path:
    """A wheel made in a folder, from a copy of the checkout; its files may be of another time."""
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    source = copied(folder / "source")
    if time is not None:
        for it in source.rglob("*"):
            os.utime(it, (time, time))
    subprocess.run([*pip, "wheel", "--no-deps", "-w", folder, source], check=True)
    shutil.rmtree(source)
    (found,) = folder.glob("contour_ingress-*.whl")
    return found
