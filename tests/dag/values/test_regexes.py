"""Expressions that become part of longer ones mean there what they mean alone."""

import pytest

from dag.values import regexes


@pytest.mark.parametrize(
    ("expression", "text", "is_met"),
    [
        ("/x", "/a.b/x", True),
        ("/x", "/aXb/x", False),
        ("/x|/y.*", "/a.b/x", True),
        ("/x|/y.*", "/a.b/y1", True),
        ("/x|/y.*", "/y1", False),
        ("/(x|y)", "/a.b/y", True),
        ("/x|/(?i)y", "/a.b/Y", True),
        ("/x|/(?i)y", "/A.B/Y", False),
        (r"/[|)]", "/a.b/|", True),
        (r"/\Qx|\E|/y", "/a.b/x|", True),
        (r"/\Qx|\E|/y", "/y", False),
    ],
)
def test_an_expression_after_a_text(expression: str, text: str, is_met: bool) -> None:
    assert regexes.refusal(expression) is None
    assert regexes.matches(regexes.after("/a.b", expression), text) == is_met


@pytest.mark.parametrize("expression", [r"/\Qx|", r"/\Q)|(/y"])
def test_what_swallows_the_end_of_its_group_is_refused(expression: str) -> None:
    assert regexes.refusal(expression) is None
    assert regexes.refusal(regexes.after("/a", expression)) is not None
