"""Each figure in the README and the docs names what repeats it."""

from pathlib import Path

import pytest

from hack import sources
from tests.testbed.processes import ROOT


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A replica takes 300 MiB of memory.", ["A replica takes 300 MiB of memory."]),
        ("Median: 7 ms (`hack/bench changes`).", []),
        ("The memory ([figures](figures.md)):\n\n| a | memory |\n|---|---|\n| b | 3 MiB |", []),
        ("# A\n\n`hack/bench a`\n\n# B\n\nThe median is 7 ms.", ["The median is 7 ms."]),
        ("A timeout of 7 ms.", []),
        ("| `buffer` | yes | Saves memory: 32 KiB. |", []),
        ("| memory | 32 KiB |\n| b | c |", ["| memory | 32 KiB |"]),
        ("```\nmedian 7 ms\n```", []),
    ],
)
def test_a_figure_without_a_source_is_found(text: str, found: list[str]) -> None:
    assert [it.strip() for it in sources.unsourced(text)] == found


@pytest.mark.parametrize(
    "page", list(sources.pages()), ids=lambda it: str(Path(it).relative_to(ROOT))
)
def test_the_figures_of_a_page_have_sources(page: Path) -> None:
    assert list(sources.unsourced(page.read_text())) == []
