"""Conditions on cookies: the expression of the header means what is meant of its cookies."""

import re
from random import Random

import pytest
import re2

from dag.values import cookies


def meets(header: str, name: str, expression: str) -> bool:
    """Whether a cookie of the header has this name and a value that the expression matches, as
    Envoy reads cookies."""
    for each in header.split(";"):
        key, sign, value = each.strip(" \t").partition("=")
        quoted = len(value) > 1 and value[0] == value[-1] == '"'
        values = {value, value[1:-1]} if quoted else {value}
        if sign and key == name and any(re2.fullmatch(expression, it) for it in values):
            return True
    return False


@pytest.mark.parametrize(
    ("value", "header", "is_met"),
    [
        ("one", "a=one", True),
        ("one", "b=x; a=one", True),
        ("one", "a=one; b=x", True),
        ("one", "b=x;a=one;c=y", True),
        ("one", 'a="one"', True),
        ("one", "a=two; a=one", True),
        ("one", "", False),
        ("one", "a=ones", False),
        ("one", "a=ONE", False),
        ("one", "A=one", False),
        ("one", "xa=one", False),
        ("one", "b=a=one", False),
        ("one", "b=x a=one", False),
        ("a.c", "a=abc", False),
        ("a.c", "a=a.c", True),
        ("x=y", "a=x=y", True),
    ],
)
def test_a_value_is_compared_as_a_whole(value: str, header: str, is_met: bool) -> None:
    assert (re2.fullmatch(cookies.exact("a", value), header) is not None) == is_met


EXPRESSIONS = (
    "one", "o.*", "^(one|two)$", "[^x]+", "[a-z]+", "(?i)ONE", r"\w+", r"o\we", "o{1,2}ne?", ".",
    "", "x|y", "^.*$", r"\$", "[^]x]*", r"[\w=]+", "(?:x|y)*", r"^\^$", r"x\.y",
)  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_matches_a_value_and_nothing_beyond(expression: str) -> None:
    made, chance, met = cookies.matching("a", expression), Random(expression), 0
    for _ in range(3000):
        pieces = (
            "a",
            "b",
            "=",
            ";",
            "; ",
            "one",
            "two",
            "x",
            "y",
            "$",
            "^",
            ".",
            "]",
            '"',
            "ONE",
            "x.y",
        )
        header = chance.choice(("", "a=", "b=x; a=")) + "".join(chance.choices(pieces, k=4))
        is_met = re2.fullmatch(made, header) is not None
        assert is_met == meets(header, "a", f"(?:{expression})"), (made, header)
        met += is_met
    assert met


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("(", "is not a valid RE2 expression"),
        ("a$|b", "has $ within it"),
        ("a|^b", "has ^ within it"),
        ("a;b", "has ; within it"),
        (r"a\;", r"has \; within it"),
        ("[!-~]", "matches a semicolon"),
        ("[[:print:]]", "not served of cookies"),
        (r"\D", "not served of cookies"),
        (r"[\S]", "not served of cookies"),
        (r"\x3b", "not served of cookies"),
        (r"[\x3b]", "not served of cookies"),
        (r"\pP", "not served of cookies"),
        (r"\ba", "not served of cookies"),
        ("(?s)a", "not served of cookies"),
        ("(?P<x>a)", "not served of cookies"),
        ("a{900}", "too complex"),
        ("a" * 1025, "longer than"),
        ("a)|(b", "not a valid RE2"),
    ],
)
def test_what_might_match_beyond_a_value_is_refused(expression: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        cookies.matching("a", expression)


@pytest.mark.parametrize("value", ["a;b", " a", "a\nb", "a\0"])
def test_what_no_cookie_has_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="no value of a cookie"):
        cookies.exact("a", value)


@pytest.mark.parametrize("name", ["a b", "a=", "a;", "ä", ""])
def test_names_are_tokens(name: str) -> None:
    assert cookies.name_refusal(name) is not None
