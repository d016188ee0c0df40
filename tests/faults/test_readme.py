"""What README.md says of rows that have gone is so."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_tests_that_prove_the_rows_that_have_gone_are_there() -> None:
    text = Path(__file__).with_name("README.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)?::(\w+)`", text)
    file = ""
    for path, function in named:
        file = path or file
        assert f"def {function}(" in Path(ROOT, file).read_text(), f"{file}::{function}"
    assert len(named) > 15
