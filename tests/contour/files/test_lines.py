"""Finding the line of a field."""

import pytest

from contour.files import lines

DOCUMENT = b"""# a comment
kind: HTTPProxy
metadata:
  name: a
  labels: {app: web,
           tier: front}
spec:
  routes:
  - services:
    - name: web

      port: nine
  - conditions: []
"""

CASES: list[tuple[lines.FieldPath, int]] = [
    ((), 1),
    (("kind",), 1),
    (("metadata", "name"), 3),
    (("metadata", "labels", "tier"), 5),
    (("spec", "routes", 0, "services", 0, "port"), 11),
    (("spec", "routes", 1), 12),
    (("spec", "routes", 1, "conditions", 3), 12),
    (("spec", "routes", 1, "services"), 12),
    (("spec", "virtualhost", "fqdn"), 6),
    (("spec", "routes", "name"), 7),
]


@pytest.mark.parametrize(("path", "line"), CASES)
def test_a_field_has_a_line_and_a_missing_one_that_of_what_should_hold_it(
    path: lines.FieldPath, line: int
) -> None:
    assert lines.Lines(DOCUMENT).found([path]) == [line]


def test_json_has_lines_too() -> None:
    assert lines.Lines(b'{\n "a": [1,\n  {"b": 2}]\n}').found([("a", 1, "b"), ("a",)]) == [2, 1]


def test_json_that_is_no_yaml_has_its_first_line() -> None:
    assert lines.Lines(b'{"a":\n "\\ud83d\\ude00"}').found([("a",)]) == [0]
