"""What `docs/troubleshooting.md` shows of `contour explain` is what it prints."""

import re
import shlex

import pytest
from click.testing import CliRunner

from contour.cli import main
from tests.tidy.test_house import ROOT

SHOWN = re.findall(
    r"^\$ contour (explain .*)\n((?:.*\n)*?)(?=\n\$|```)",
    (ROOT / "docs" / "troubleshooting.md").read_text(),
    re.MULTILINE,
)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[it for it, _ in SHOWN])
def test_the_page_shows_what_is_printed(
    command: str, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner(env={"COLUMNS": None}).invoke(main, shlex.split(command))
    assert result.exit_code == 0, result.output
    assert result.stdout == output


def test_there_are_some() -> None:
    assert len(SHOWN) >= 2
