"""What CONTRIBUTING says of the code is so: files, names, and the titles of commits."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\|(?: \d \|)? `([^`]+)` \| `([^`]+)` \|", re.MULTILINE)
_STEPS = _ROW.findall(Path(ROOT, "CONTRIBUTING.md").read_text())


def test_the_example_has_all_its_steps() -> None:
    assert len(_STEPS) == 12


@pytest.mark.parametrize(("path", "name"), _STEPS)
def test_a_step_of_the_example_is_where_it_is_said_to_be(path: str, name: str) -> None:
    assert name in Path(ROOT, path).read_text()


@pytest.mark.parametrize(
    ("title", "code"),
    [
        ("dag/httpproxy: bound request bodies", 0),
        ("dag, contour: give modules rooms", 0),
        ('Revert "xds: leave descriptors open"', 0),
        ("Equal is the same", 1),
        ("xds:no space", 1),
        ("dag: " + 68 * "x", 1),
        ("dag: " + 67 * "x", 0),
    ],
)
def test_titles_of_commits_are_checked(title: str, code: int, tmp_path: Path) -> None:
    message = tmp_path / "message"
    message.write_text(f"{title}\n\nWhy.\n")
    found = subprocess.run([ROOT / "hack/commit-title", message], check=False, capture_output=True)
    assert found.returncode == code, found.stderr
