"""Every command and every manifest of the tutorials and how-to guides does what its page says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hack import pages
from hack.pages import Block, PageError
from tests.docs.pages.matching import appears, matches
from tests.testbed.processes import ROOT

PATIENCE = 480.0  # seconds, for a page
ALONE = (
    *("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"),
    *(() if os.getuid() == 0 else ("--map-root-user",)),
)
LONGEST = 120  # lines that are not empty, for what is followed without leaving it


def _name(page: Path) -> str:
    return f"{page.parent.name}/{page.stem}"


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """Where a reader works: what is named there of a checkout is there."""
    folder = tmp_path / "reader"
    folder.mkdir()
    (folder / "manifests").symlink_to(ROOT / "manifests")
    return folder


def follow(page: Path, folder: Path, patience: float = 90) -> str:
    """Follows a page; what is wrong with it, or an empty text. Each block has so many seconds."""
    here = Path(sys.executable).parent
    environment = {
        "PATH": f"{here}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "LANG": "C.UTF-8",
        "TMPDIR": str(folder.parent),
        "PYTHONPATH": str(ROOT),
        "NO_COLOR": "1",
        "PAGE_PATIENCE": str(patience),
    }
    command = (*ALONE, sys.executable, "-m", "tests.docs.pages.following", page, folder)
    done = subprocess.run(
        command, cwd=ROOT, env=environment, timeout=PATIENCE, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return done.stdout or f"ends with {done.returncode}" if done.returncode else ""


@pytest.mark.envoy
@pytest.mark.timeout(PATIENCE + 30)
@pytest.mark.parametrize(
    "page", [it for it in pages.pages() if not pages.needs_cluster(it)], ids=_name
)
def test_a_page_can_be_followed(page: Path, folder: Path) -> None:
    if problem := follow(page, folder):
        pytest.fail(problem, pytrace=False)


@pytest.mark.parametrize("page", pages.pages(), ids=_name)
def test_a_page_is_short_and_each_block_has_its_part(page: Path) -> None:
    assert sum(map(bool, page.read_text().splitlines())) <= LONGEST
    assert any(not it.reason for it in pages.blocks(page))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("```sh\necho one\n```\n```text\none\n```\n", ""),
        ("```sh\necho one\n```\n```text\ntwo\n```\n", "line 1: ends with 0 and prints:\none"),
        ("```sh\nfalse\ntrue\n```\n", "line 1: ends with 1"),
        ("```sh\nA=1; cd /tmp\n```\n```sh\necho $A; pwd\n```\n```text\n1\n/tmp\n```\n", ""),
        ("Write `a/b.txt`:\n\n```ini\nx\n```\n```sh\ncat a/b.txt\n```\n```text\nx\n```\n", ""),
        ("<!-- not run: no cloud -->\n```sh\nfalse\n```\n", ""),
        (
            "<!-- keeps running -->\n```sh\necho up; sleep 60\n```\n```text\nup\n```\n"
            "<!-- terminal -->\n```text\ndown\n```\n",
            "line 8: no terminal says:\ndown",
        ),
    ],
)
def test_what_is_wrong_with_a_page_is_found(body: str, problem: str, folder: Path) -> None:
    page = ROOT / ".pytest_cache" / f"page-{os.getpid()}.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(body)
    try:
        found = follow(page, folder, 3)
    finally:
        page.unlink()
    assert problem in found
    assert bool(problem) == bool(found)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("```yaml\na: 1\n```\n", ":1: a file without a name"),
        ("\n```text\na\n```\n", ":2: a text that no commands print"),
        ("<!-- not runn -->\n```sh\na\n```\n", ":1: unknown comment 'not runn'"),
    ],
)
def test_a_block_without_a_part_is_told(body: str, problem: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(body)
    with pytest.raises(PageError, match=problem):
        pages.blocks(page)


def test_a_reason_is_read() -> None:
    assert Block("sh", "", 1, "not run: no cloud").reason == "no cloud"


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("a\nb", "a\nb\n", True),
        ("a", "a\nb", False),
        ("a\nb", "a", False),
        ("a … c", "a b c", True),
        ("a.c", "abc", False),
        ("a\n…\nd", "a\nb\nc\nd", True),
        ("a\n…", "a", True),
        ("…", "", True),
    ],
)
def test_what_is_printed_is_compared(expected: str, printed: str, same: bool) -> None:
    assert matches(expected, printed) is same


def test_lines_appear_wherever_they_begin() -> None:
    assert appears("b\nc", "a\nb\nc\nd")
    assert not appears("b\nd", "a\nb\nc\nd")
