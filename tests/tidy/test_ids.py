"""What `tests.tidy.ids` takes for a test that has gone."""

import pytest

from tests.tidy import ids


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tests/a.py::test_x[1]", "tests/b.py::test_x[1]"),
        ("tests/c.py::test_x[a::b]", "tests/c.py::test_x[a::b]"),
    ],
)
def test_a_test_in_a_renamed_file_has_not_gone(before: str, after: str) -> None:
    assert ids.moved({before}, {"tests/a.py": "tests/b.py"}) == {after}
