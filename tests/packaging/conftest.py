"""The wheel of this checkout."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pods.images import copied


@pytest.fixture(scope="session", name="wheel")
def _wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    source = copied(folder / "source")
    subprocess.run([*pip, "wheel", "--no-deps", "-w", folder, source], check=True)
    shutil.rmtree(source)
    (found,) = folder.glob("contour_ingress-*.whl")
    return found
