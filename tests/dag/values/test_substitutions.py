"""Parts of a path that a regular expression finds, and what replaces them."""

import pytest

from dag.values import substitutions


@pytest.mark.parametrize(
    ("pattern", "text", "field", "why"),
    [
        ("(", "", "pattern", "is not a valid RE2 expression"),
        ("a", "b\n", "substitution", "holds a line break"),
        ("a", "\\", "substitution", "has a backslash before neither"),
        ("a", "\\x", "substitution", "has a backslash before neither"),
        ("(a)", "\\2", "substitution", "names group 2, but the pattern has 1"),
    ],
)
def test_what_envoy_would_ignore_is_refused(pattern: str, text: str, field: str, why: str) -> None:
    found = substitutions.refusal(pattern, text)
    assert found is not None
    assert found[0] == field
    assert found[1].startswith(why)


@pytest.mark.parametrize(
    ("pattern", "text", "path", "expected"),
    [
        ("^/service/([^/]+)(/.*)$", "\\2/instance/\\1", "/service/foo/v1", "/v1/instance/foo"),
        ("one", "two", "/one/one", "/two/two"),
        ("(?i)/xxx/", "/y/", "/a/XxX/b", "/a/y/b"),
        ("o(n)?e", "[\\0\\1\\\\]", "/one", "/[onen\\]"),
        ("none", "two", "/one", "/one"),
    ],
)
def test_every_match_is_replaced(pattern: str, text: str, path: str, expected: str) -> None:
    assert substitutions.refusal(pattern, text) is None
    assert substitutions.applied(pattern, text, path) == expected
