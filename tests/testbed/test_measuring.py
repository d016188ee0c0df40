"""Measurements run only if they are asked for, and report their figures in three ways."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.testbed import published

ROOT = Path(__file__).parents[2]
ROWS = """
from tests.faults.rows import Limit, fault
from tests.testbed.figures import Figure
from tests.testbed.measuring import measures


@fault("survived", figure=Limit("s", 2))
async def survived(run, _):
    run.prove("it happened", True)
    run.sent += 3
    run.figures["figure"] = run.number / 2


@fault("beyond", figure=Limit("s", 2))
async def beyond(run, _):
    run.figures["figure"] = 3


@fault("lost")
async def lost(run, _):
    run.failures["no answer"] += 1


@fault("not-injected")
async def not_injected(run, _):
    run.prove("it happened", False)


@measures("cost", "bench")
def cost(options):
    yield Figure("times", options.times(9, 1), "")


@measures("broken", "bench")
def broken(options):
    raise LookupError


def test_of_the_usual_kind():
    pass
"""


def asked(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Of a folder with these rows."""
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (folder / "test_rows.py").write_text(ROWS)
    plugin = ("-p", "tests.testbed.measuring", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", "-q", f"--rootdir={folder}", *plugin, str(folder)]
    config = ("-c", str(folder / "pytest.ini"), "--figures", str(folder / "figures.json"))
    return subprocess.run(
        [*command, *config, *arguments], cwd=ROOT, text=True, capture_output=True, check=False
    )


def figures(folder: Path) -> dict[str, Any]:
    """What is written as JSON, by name."""
    found = json.loads((folder / "figures.json").read_text())
    return {it["name"]: (it["value"], it["reached"]) for it in found}


def test_nothing_is_measured_that_nobody_asks_for(tmp_path: Path) -> None:
    found = asked(tmp_path)
    assert "1 passed, 6 deselected" in found.stdout, found.stdout


def test_a_marker_asks_for_all_of_a_kind(tmp_path: Path) -> None:
    found = asked(tmp_path, "-m", "bench", "--quick", "--publish", str(tmp_path / "published"))
    assert "1 failed, 1 passed, 5 deselected" in found.stdout, found.stdout
    failed = {"broken: measurements that failed": (1, False)}
    assert figures(tmp_path) == {"cost: times": (1, None), **failed}
    assert [it.name for it in (tmp_path / "published").iterdir()] == ["cost.json"]


def test_a_row_that_is_survived_says_so_in_a_table_in_json_and_a_line_a_run(
    tmp_path: Path,
) -> None:
    found = asked(tmp_path, "--row", "survived", "--runs", "3", "--seed", "7")
    assert found.returncode == 0, found.stdout
    assert "survived  (seed 7)" in found.stdout
    assert figures(tmp_path) == {
        "survived: tried": (3, None),
        "survived: survived": (3, True),
        "survived: requests sent": (9, None),
        "survived: requests lost": (0, True),
        "survived: figure, worst run": (1.5, True),
    }
    lines = (tmp_path / ".measured" / "chaos.jsonl").read_text().splitlines()
    runs = [json.loads(it) for it in lines]
    assert [(it["run"], it["seed"], it["survived"]) for it in runs] == [
        (1, 7, True), (2, 7, True), (3, 7, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("beyond", "figure is 3 s, beyond 2"),
        ("lost", "requests lost"),
        ("not-injected", "NotInjectedError: it happened"),
    ],
)
def test_a_row_that_is_not_survived_fails_and_says_why(
    tmp_path: Path, row: str, words: str
) -> None:
    found = asked(tmp_path, "--row", row, "--runs", "1")
    assert found.returncode == 1
    assert words in found.stdout
    assert figures(tmp_path)[f"{row}: survived"] == (0, False)


def test_a_row_that_is_not_there_is_an_error_that_names_those_that_are(tmp_path: Path) -> None:
    found = asked(tmp_path, "--row", "nothing")
    assert found.returncode == pytest.ExitCode.USAGE_ERROR
    assert "no nothing here; there is survived, beyond, lost" in found.stderr


def test_what_is_published_names_its_command_its_commit_and_the_load(tmp_path: Path) -> None:
    folder = tmp_path / "measured"
    asked(tmp_path, "--row", "cost", "--runs", "3", "--publish", str(folder))
    (record,) = published.records(folder)
    assert record["command"] == "hack/bench cost --runs 3"
    assert re.fullmatch("[0-9a-f]{8}", record["commit"])
    assert record["figures"][0]["value"] == 3
    assert {"load", "calibration", "seconds", "cores", "python", "envoy"} <= record.keys()


def test_figures_of_what_is_not_committed_are_not_published(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    product, folder = tmp_path / "product.py", tmp_path / "measured"
    product.write_text("")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "one")
    published.write(folder, "cost", {})
    published.check_committed(tmp_path, folder)
    product.write_text("changed")
    with pytest.raises(published.UncommittedError, match=r"product\.py"):
        published.check_committed(tmp_path, folder)


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True)
