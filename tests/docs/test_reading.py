"""The sentences of the user pages are short, and they are counted right."""

from pathlib import Path
from statistics import median

import pytest

from hack import sentences
from tests.testbed.processes import ROOT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One two three. Four five.", [3, 2]),
        ("# A heading\n\n| a | table |\n\nOne `a b c` two.", [3]),
        ("- one two\n- three [four five](six.md) seven", [2, 4]),
        ("One:\n\n```sh\nnot this one\n```\n\nTwo three.", [1, 2]),
        ("<!-- not this -->\nOne e.g. two", [3]),
    ],
)
def test_words_are_counted(text: str, expected: list[int]) -> None:
    assert sentences.lengths(text) == expected


@pytest.mark.parametrize("kind", sentences.KINDS)
def test_a_median_sentence_is_short(kind: str) -> None:
    pages = [it for pattern in sentences.KINDS[kind] for it in Path(ROOT).glob(pattern)]
    found = [it for page in pages for it in sentences.lengths(page.read_text())]
    assert median(found) <= sentences.TARGET
