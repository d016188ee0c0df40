"""`contour status` of manifests, offline; that of a running instance is in the end-to-end tests."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contour.cli import main

GOOD = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: good}
spec:
  virtualhost: {fqdn: good.example.com}
  routes:
  - directResponsePolicy: {statusCode: 200}
"""
BROKEN = GOOD.replace("good", "broken").replace(
    "directResponsePolicy: {statusCode: 200}", "services: [{name: nowhere, port: 80}]"
)


def status(*arguments: str) -> Result:
    # What runs the tests may have set the width of its own output.
    return CliRunner(env={"COLUMNS": None}).invoke(main, ["status", *arguments])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Path(tmp_path, "manifests.yaml").write_text(f"{GOOD}---{BROKEN}")
    return tmp_path


def test_the_table_names_each_object_and_why_it_is_not_fine(folder: Path) -> None:
    result = status("-f", str(folder))
    assert result.exit_code == 0
    good, broken = sorted(result.stdout.splitlines()[1:3], key=lambda it: "broken" in it)
    assert "default/good" in good
    assert "default/broken" in broken
    assert "nowhere" in result.stdout


def test_machines_get_the_same(folder: Path) -> None:
    rows = json.loads(status("-f", str(folder), "-o", "json").stdout)
    states = {row["subject"]["name"]: row["state"] for row in rows}
    assert states == {"good": "ok", "broken": "error"}


def test_strict_makes_an_error_the_exit_code(folder: Path) -> None:
    assert status("-f", str(folder), "--strict").exit_code == 1
    Path(folder, "manifests.yaml").write_text(GOOD)
    assert status("-f", str(folder), "--strict").exit_code == 0


@pytest.mark.parametrize("option", ["-f", "--state-dir"])
def test_what_is_not_there_is_told(tmp_path: Path, option: str) -> None:
    result = status(option, str(tmp_path / "nowhere"))
    assert result.exit_code == 2
    assert "nowhere" in result.stderr
