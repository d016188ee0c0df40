"""Texts that are made up for expressions."""

import pytest

from dag.comparison.samples import samples
from dag.values import cookies, regexes

FIRST = {
    "": "",
    "/cart": "/cart",
    "/v[0-9]+/admin.*": "/v1/admin",
    "[a-z]+-admin": "a-admin",
    "^/(a|b)$": "/a",
    "(|a)b": "b",
    r"/\d{3}-\w{2,}": "/111-aa",
    "a{2,3}?": "aa",
    "a{x": "a{x",
    "(?i)A(?P<name>b)(?:c)": "Abc",
    "[^a-z]": "1",
    "[]a]": "a",
    "[[:upper:]_]": "A",
    r"\x41\x{42}\.\/": "AB./",
    "é+": "é",
    r"(.*; *)?canary=always( *;.*)?": "canary=always",
    cookies.matching("session", "[0-9]+"): "session=1",
    r"\bfoo\b": "foo",
}


@pytest.mark.parametrize("expression", FIRST)
def test_the_simplest_text_comes_first_and_all_match(expression: str) -> None:
    found = samples(expression)
    assert found[0] == FIRST[expression]
    assert len(set(found)) == len(found)
    assert all(regexes.matches(expression, it) for it in found)


def test_every_alternative_has_a_text() -> None:
    assert samples("/(a|b|c)/[xy]") == ("/a/x", "/b/y", "/c/x", "/a/y", "/b/x", "/c/y")


@pytest.mark.parametrize(
    "expression",
    [
        r"\Qa.b\E", rf"\Qa{{{'9' * 20}}}\E",  # not read
        r"a\bb", r"\n", r"[^ -~]", "a^",  # without a text that could be sent
        "(" * 70 + "a" + ")" * 70,
    ],
)  # fmt: skip
def test_there_may_be_none(expression: str) -> None:
    assert regexes.refusal(expression) is None
    assert samples(expression) == ()


def test_nested_repetitions_stay_short() -> None:
    assert max(map(len, samples("(((((a+)+)+)+b?)+)+" * 8))) <= regexes.MAX_LENGTH
