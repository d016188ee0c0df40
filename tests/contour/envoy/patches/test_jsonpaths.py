"""JSONPath of users: which places, and that no expression takes the event loop for long."""

import pytest
from jsonpath import JSONPathError

from contour.envoy.patches import jsonpaths
from crds.raw import Raw

ROUTES: Raw = {"routes": [{"name": "shop", "match": {"prefix": "/"}}, {"name": "blog", "age": 1}]}


def _deep(depth: int = 90) -> Raw:
    """A document whose `$..*` finds 20 places at each of its levels."""
    inner: Raw = {}
    for _ in range(depth):
        inner = {"below": inner, "list": list(range(20))}
    return inner


DEEP = _deep()
NESTED: Raw = {"list": [[[[[[[1]]]]]]]}


@pytest.mark.parametrize(
    ("expression", "places"),
    [
        ("$.routes[1].name", [("routes", 1, "name")]),
        ("$..routes[?match(@.name, 'b.*')]", [("routes", 1)]),
        ("$..[?match(@, 'ho')]", []),
        ("$..[?search(@, 'ho')]", [("routes", 0, "name")]),
        ("$.routes[?@.age == 1]", [("routes", 1)]),
        ("$.routes[?count(@.match.*) == 1]", [("routes", 0)]),
        ("$.routes[?@ == $.routes[0]]", [("routes", 0)]),
        ("..routes[?(@.match.prefix=='/')]", [("routes", 0)]),
        ("routes[1].name", [("routes", 1, "name")]),
        (".routes[1].name", [("routes", 1, "name")]),
        ("['routes'][1]", [("routes", 1)]),
        (" $.routes[1]\n", [("routes", 1)]),
        ("\troutes[1]\n", [("routes", 1)]),
    ],
)
def test_places(expression: str, places: list[jsonpaths.Place]) -> None:
    assert list(jsonpaths.Finder().found(expression, ROUTES)) == places


@pytest.mark.parametrize(
    ("expression", "document", "why"),
    [
        ("$..[", ROUTES, "unexpected end"),
        # Python's `re` takes these two, and follows the second for ever.
        ("$..[?search(@, '(?=s)')]", ROUTES, "is not a valid RE2 expression"),
        (f"$..[?search(@, '{'(x+)+' * 200}')]", ROUTES, "too complex"),
        ("$..[?@.name =~ /s.*/]", ROUTES, "unexpected token"),
        ("$..[?@.name <> 'shop']", ROUTES, "unexpected '<>'"),
        ("$..[?@.name in ['shop']]", ROUTES, "unexpected 'in'"),
        ("$..[?@ contains 'name']", ROUTES, "unexpected 'contains'"),
        ("$..[?typeof(@) == 'string']", ROUTES, "'typeof' is not defined"),
        ("$..[?isinstance(@, 'string')]", ROUTES, "'isinstance' is not defined"),
        ("$.routes | $.name", ROUTES, "unexpected token"),
        ("$.routes & $.name", ROUTES, "unexpected token"),
        ("$.routes.~", ROUTES, "unexpected token"),
        ("^", ROUTES, "unexpected token"),
        ("", ROUTES, "expected a shorthand selector"),
        ("routes | name", ROUTES, "unexpected token"),
        ("@.routes", ROUTES, "expected a shorthand selector"),
        ("$.routes[?@.age == 1e400]", ROUTES, "has a number that is too large"),
        ("$[?" + "!" * 1000 + "@.name]", ROUTES, "is nested too deeply"),
        ("$..[?count($..*) > 1]", DEEP, "takes more than 50,000 steps"),
        ("$..*..*", DEEP, "takes more than 50,000 steps"),
        ("$.list" + "[0,0,0,0,0,0,0,0]" * 7, NESTED, "takes more than 50,000 steps"),
        ("$..[?$.below == $.below]", DEEP, "takes more than 50,000 steps"),
        ("$.list[?search(@, 'b')]", {"list": ["a" * 100_000] * 60}, "takes more than 50,000 steps"),
    ],
)
def test_refused(expression: str, document: Raw, why: str) -> None:
    with pytest.raises(JSONPathError) as refused:
        list(jsonpaths.Finder().found(expression, document))
    assert why in str(refused.value.message)


def test_the_steps_of_all_expressions_of_a_policy_are_counted_together() -> None:
    finder = jsonpaths.Finder()
    expressions = ["$..list[19]"] * (jsonpaths.MOST_TOGETHER // 1000)
    with pytest.raises(JSONPathError, match="more than 200,000 steps together with those before"):
        _ = [list(finder.found(it, DEEP)) for it in expressions]
