"""`pipx install` and `uvx` with our wheel, as people type them."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from email import message_from_string
from pathlib import Path

import pytest

from tests.packaging.conftest import built
from tests.testbed.processes import ROOT

HERE = Path(sys.executable).parent

pytestmark = pytest.mark.timeout(300)


def run(command: tuple[str | Path, ...], environment: Mapping[str, str] | None = None) -> str:
    """What it prints; it is to succeed."""
    done = subprocess.run(
        command, env=os.environ | (environment or {}), cwd="/", check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_a_wheel_that_is_built_again_is_equal(wheel: Path, tmp_path: Path) -> None:
    """Elsewhere, and of files that are a year older."""
    again = built(tmp_path, wheel.stat().st_mtime - 31_536_000)
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


def test_pipx_installs_the_commands_and_their_manual_pages(wheel: Path, tmp_path: Path) -> None:
    places = {f"PIPX_{it}": str(tmp_path / it) for it in ("HOME", "BIN_DIR", "MAN_DIR")}
    run((HERE / "pipx", "install", "--quiet", wheel), places)
    assert "contour-ingress" in run((tmp_path / "BIN_DIR" / "contour", "version"))
    page = tmp_path / "MAN_DIR" / "man1" / "contour-run.1"
    assert "CONTOUR-RUN" in page.read_text()


def test_uvx_runs_the_command(wheel: Path) -> None:
    uvx = (HERE / "uv", "tool", "run", "--python", sys.executable, "--from", wheel)
    said = run((*uvx, "contour", "version"))
    assert "contour-ingress" in said


def test_the_metadata_are_complete_and_name_no_address_of_others(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (it for it in opened.namelist() if it.endswith("/METADATA"))
        found = message_from_string(opened.read(name).decode())
    for field in ("Summary", "License-Expression", "Requires-Python", "Keywords", "Classifier"):
        assert found[field], field
    assert found["Description-Content-Type"] == "text/markdown"
    assert found["Project-URL"] is None


def test_what_people_are_told_to_install_is_there() -> None:
    """This project is in no package index: messages name packages that an extra of it names."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    known = {it.partition(";")[0] for extra in extras.values() for it in extra}
    folders = (ROOT / it for it in ("contour", "kube", "operator", "docs"))
    texts = [*ROOT.glob("*.md"), *(it for folder in folders for it in folder.rglob("*.*"))]
    told = {
        it
        for text in texts
        if text.suffix in {".md", ".py"}
        for it in re.findall(r"(?:pipx?|uvx?) (?:install )?'([^']+)'", text.read_text())
    }
    assert told
    assert all(it in known or it.startswith(".[") for it in told), told
