"""Conditions of HTTPProxies: `two` answers where they are met, `one` where not."""

import pytest

from tests.e2e.standalone import Standalone

pytestmark = pytest.mark.envoy

_PATHS = {
    "/exact": "two",
    "/exact/more": "one",
    "/Exact": "one",
    "/prefix": "two",
    "/prefixed": "two",
    "/prefix/more": "two",
    "/pre": "one",
    "/42/items": "two",
    "/42/items/more": "one",
    "/4x2/items": "one",
}


@pytest.mark.parametrize("path", _PATHS)
def test_a_path(instance: Standalone, path: str) -> None:
    assert instance.ask(f"http://conditions.example.com{path}").backend == _PATHS[path]


_ABSENT = None
_HEADERS: dict[str, tuple[list[str | None], list[str | None]]] = {
    "exact": (["Yes!"], ["yes!", "Yes!!", "", _ABSENT]),
    "any-case": (["Yes!", "yES!"], ["no", _ABSENT]),
    "contains": (["Yes!", "es"], ["YES", _ABSENT]),
    "notcontains": (["no", "YES"], ["Yes!", _ABSENT]),
    "notexact": (["yes!", "no"], ["Yes!", _ABSENT]),
    "missing-as-empty": (["no", _ABSENT], ["Yes!"]),
    "regex": (["Yes", "Yas!"], ["Yes!!", "Oh, Yes!", _ABSENT]),
    "present": (["", "anything"], [_ABSENT]),
    "notpresent": ([_ABSENT], ["", "anything"]),
    "both": (["ab", "b-a"], ["a", "b", _ABSENT]),
}


@pytest.mark.parametrize("operator", _HEADERS)
def test_a_header(instance: Standalone, operator: str) -> None:
    met, unmet = _HEADERS[operator]

    def answers(values: list[str | None]) -> list[str]:
        url = f"http://conditions.example.com/header/{operator}"
        given = [{} if value is None else {"X-A": value} for value in values]
        return [instance.ask(url, headers=headers).backend for headers in given]

    assert answers(met) == ["two"] * len(met)
    assert answers(unmet) == ["one"] * len(unmet)


def test_the_method_is_a_header(instance: Standalone) -> None:
    url = "http://conditions.example.com/header/method"
    assert instance.ask(url, method="POST").backend == "two"
    assert instance.ask(url).backend == "one"


_QUERIES: dict[str, tuple[list[str], list[str]]] = {
    "exact": (["?a=Yes", "?b=1&a=Yes"], ["?a=yes", "?a=Yes1", "?A=Yes", "?a", ""]),
    "any-case": (["?a=YES", "?a=yes"], ["?a=no"]),
    "prefix": (["?a=Ye", "?a=Yes"], ["?a=Y", "?a=ye", ""]),
    "suffix": (["?a=Yes", "?a=es"], ["?a=Yesx", ""]),
    "regex": (["?a=Yes", "?a=Yas"], ["?a=Yess", "?a=Y", ""]),
    "contains": (["?a=Yes", "?a=e"], ["?a=Y", ""]),
    "present": (["?a=", "?a", "?a=1"], ["?b=1", ""]),
}


@pytest.mark.parametrize("operator", _QUERIES)
def test_a_query_parameter(instance: Standalone, operator: str) -> None:
    met, unmet = _QUERIES[operator]

    def answers(queries: list[str]) -> list[str]:
        url = f"http://conditions.example.com/query/{operator}"
        return [instance.ask(f"{url}{query}").backend for query in queries]

    assert answers(met) == ["two"] * len(met)
    assert answers(unmet) == ["one"] * len(unmet)
