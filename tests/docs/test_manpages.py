"""docs/man has a page for every command, which the formatter of `man` takes without a warning."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hack.reference import commands, manpages
from tests.testbed.processes import ROOT

PAGES = sorted(Path(ROOT, "docs", "man").glob("*.1"))


def test_every_command_and_option_has_its_place() -> None:
    texts = {it.name: it.read_text() for it in PAGES}
    for path, command in commands.commands():
        text = texts[f"{path.replace(' ', '-')}.1"]
        for option in commands.options(command):
            assert manpages.escaped(option.opts[0]) in text
        assert manpages.escaped(path.replace(" ", "-")) in texts[f"{path.split()[0]}.1"]


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
@pytest.mark.parametrize("page", PAGES, ids=lambda it: it.stem)
def test_a_page_is_formatted_without_a_warning(page: Path) -> None:
    command = ("groff", "-man", "-K", "utf8", "-T", "utf8", "-ww", page)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not done.stderr
    assert "NAME" in re.sub(".\x08", "", done.stdout)  # bold is typed twice


def test_nothing_in_a_text_is_a_request() -> None:
    assert manpages.escaped(".so /etc/passwd") == "\\&.so /etc/passwd"
    assert manpages.escaped("a\\b-c") == "a\\eb\\-c"
