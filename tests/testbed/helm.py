"""The real Helm, built once from the module that hack/helm/go.mod requires."""

import os
import subprocess
from pathlib import Path

import pytest

from tests import golang

HELM = golang.Program(
    "helm",
    "helm",
    golang.ROOT / "hack" / "helm",
    ("build", *golang.FLAGS, "-ldflags=-s -w"),
    "helm.sh/helm/v4/cmd/helm",
)


def run(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a command of Helm, with its files in a folder. Skips the test where Helm is not
    built."""
    if not HELM.path.is_file() and "CI" not in os.environ:
        pytest.skip("Helm is not built: hack/build-helm builds it")
    folders = {f"HELM_{it}_HOME": str(folder / it.lower()) for it in ("CACHE", "CONFIG", "DATA")}
    return subprocess.run(
        [HELM.path, *arguments],
        env=os.environ | folders, capture_output=True, text=True, check=False,
    )  # fmt: skip
