"""A block of conditions is a set; what no request can meet, or is not clear, is refused."""

from itertools import permutations

import pytest

from tests.dag.httpproxy.manifests import root, services, to
from tests.dag.world import messages, problems, routes, world


def served(conditions: str) -> tuple[list[str], list[str]]:
    engine = world(
        services("s1") + root("root", f"routes: [{to('s1', f'conditions: {conditions}')}]")
    )
    return routes(engine, "a.com"), problems(engine, "HTTPProxy", "root")


@pytest.mark.parametrize(
    ("conditions", "match"),
    [
        ("[]", "/"),
        ("[{prefix: /x}]", "/x"),
        ("[{prefix: //x///y}]", "/x/y"),
        ("[{exact: /x}]", "=/x"),
        ("[{regex: '/x.*'}]", "~/x.*"),
        ("[{header: {name: A, present: true}}]", "/ a"),
        ("[{header: {name: A, notpresent: true}}]", "/ !a"),
        ("[{header: {name: A, contains: x}}]", "/ a*=x"),
        ("[{header: {name: A, notcontains: x}}]", "/ !a*=x"),
        ("[{header: {name: A, exact: x}}]", "/ a=x"),
        ("[{header: {name: A, notexact: x}}]", "/ !a=x"),
        ("[{header: {name: A, regex: x+}}]", "/ a~x+"),
        ("[{header: {name: ':authority', exact: x}}]", "/ :authority=x"),
        ("[{header: {name: ':method', notexact: GET}}]", "/ !:method=GET"),
        ("[{queryParameter: {name: Q, exact: x}}]", "/ ?Q=x"),
        ("[{queryParameter: {name: Q, prefix: x}}]", "/ ?Q^=x"),
        ("[{queryParameter: {name: Q, suffix: x}}]", "/ ?Q$=x"),
        ("[{queryParameter: {name: Q, contains: x}}]", "/ ?Q*=x"),
        ("[{queryParameter: {name: Q, regex: x+}}]", "/ ?Q~x+"),
        ("[{queryParameter: {name: Q, present: true}}]", "/ ?Q"),
        ("[{prefix: /x, header: {name: A, exact: x}}]", "/x a=x"),
        ("[{method: GET}]", "/ GET"),
        ("[{cookie: {name: c, present: true}}]", "/ cookie~(.*; *)?c=[^;]*( *;.*)?"),
        ("[{cookie: {name: c, exact: 'a.b'}}]", r"/ cookie~(.*; *)?c=a\.b( *;.*)?"),
        ("[{cookie: {name: c, contains: '1'}}]", "/ cookie~(.*; *)?c=[^;]*1[^;]*( *;.*)?"),
        ("[{cookie: {name: c, regex: 'a|b'}}]", "/ cookie~(.*; *)?c=(a|b)( *;.*)?"),
    ],
)
def test_every_kind_of_condition_is_matched(conditions: str, match: str) -> None:
    assert served(conditions) == ([f"{match} -> default/s1:80"], [])


def test_the_order_of_conditions_has_no_meaning() -> None:
    block = ("exact: /x", "header: {name: a, exact: b}", "queryParameter: {name: q, exact: 1x}")
    found = {
        tuple(served(f"[{', '.join(f'{{{it}}}' for it in order)}]")[0])
        for order in permutations(block)
    }
    assert found == {("=/x a=b ?q=1x -> default/s1:80",)}


@pytest.mark.parametrize(
    ("subject", "conditions"),
    [
        ("Path", "[{prefix: x}]"),
        ("Path", "[{exact: x}]"),
        ("Path", "[{regex: x}]"),
        ("Path", "[{regex: '/('}]"),
        ("Path", f"[{{regex: '/{'x' * 1100}'}}]"),
        ("Path", f"[{{prefix: '/{'x' * 5000}'}}]"),
        ("Path", "[{prefix: /x, exact: /x}]"),
        ("Path", "[{prefix: /x}, {regex: /x}]"),
        ("Path", f"[{', '.join(['{header: {name: a, contains: x}}'] * 101)}]"),
        ("Header", "[{method: GET}, {method: POST}]"),
        ("Header", "[{method: GET, header: {name: ':method', exact: POST}}]"),
        ("Header", "[{cookie: {name: c}}]"),
        ("Header", "[{cookie: {name: c, exact: a, contains: b}}]"),
        ("Header", "[{cookie: {name: c, regex: 'a)|(.*'}}]"),
        ("Header", "[{header: {name: 'a b', present: true}}]"),
        ("Header", "[{header: {name: a, regex: '('}}]"),
        ("Header", "[{header: {name: a, present: true, exact: x}}]"),
        ("Header", "[{header: {name: a, present: true}}, {header: {name: A, notpresent: true}}]"),
        ("Header", "[{header: {name: a, exact: x}}, {header: {name: a, notexact: x}}]"),
        ("Header", "[{header: {name: a, contains: x}}, {header: {name: a, notcontains: x}}]"),
        ("Header", "[{header: {name: a, exact: x}}, {header: {name: a, exact: y}}]"),
        ("Header", "[{header: {name: a, exact: x}}, {header: {name: a, notpresent: true}}]"),
        (
            "Header",
            "[{header: {name: ':method', exact: GET}}, {header: {name: ':method', exact: PUT}}]",
        ),
        ("QueryParameter", "[{queryParameter: {name: '', exact: x}}]"),
        ("QueryParameter", f"[{{queryParameter: {{name: '{'q' * 1025}', exact: x}}}}]"),
        ("QueryParameter", "[{queryParameter: {name: q, regex: '('}}]"),
        ("QueryParameter", "[{queryParameter: {name: q, exact: x, present: true}}]"),
        (
            "QueryParameter",
            "[{queryParameter: {name: q, exact: x}}, {queryParameter: {name: q, exact: y}}]",
        ),
    ],
)
def test_conditions_that_are_not_clear_drop_their_route_and_say_so(
    subject: str, conditions: str
) -> None:
    assert served(conditions) == ([], [f"RouteError/{subject}MatchConditionsNotValid"])


def test_a_bad_route_is_told_with_its_place_and_hurts_no_other() -> None:
    bad = to("s1", "conditions: [{prefix: bad}]")
    engine = world(services("s1") + root("root", f"routes: [{to('s1')}, {bad}]"))
    assert routes(engine, "a.com") == ["/ -> default/s1:80"]
    assert messages(engine, "HTTPProxy", "root") == [
        "RouteError/PathMatchConditionsNotValid: spec.routes[1].conditions[0].prefix: "
        "'bad' must start with /"
    ]


@pytest.mark.parametrize(
    ("where", "condition"),
    [
        ("exact", "exact: x"),
        ("regex", "regex: '/('"),
        ("prefix", "prefix: '/a?b'"),
        ("header", "header: {name: a}"),
        ("cookie", "cookie: {name: c}"),
        ("queryParameter", "queryParameter: {name: q}"),
    ],
)
def test_what_is_not_clear_is_told_with_its_field(where: str, condition: str) -> None:
    block = f"[{{header: {{name: a, present: true}}}}, {{{condition}}}]"
    text = root("root", f"routes: [{to('s1', f'conditions: {block}')}]")
    (told,) = messages(world(services("s1") + text), "HTTPProxy", "root")
    assert f": spec.routes[0].conditions[1].{where}: " in told


@pytest.mark.parametrize("kind", ["exact", "prefix"])
@pytest.mark.parametrize("path", ["/a?b", "/a#b", "/a\\nb", "/x/../y", "/x/./y", "/a b", "/%7Ea"])
def test_a_path_that_no_request_has_is_refused(path: str, kind: str) -> None:
    routes_, told = served(f'[{{{kind}: "{path}"}}]')
    assert (routes_, told) == ([], ["RouteError/PathMatchConditionsNotValid"])


def test_a_path_that_no_request_has_may_come_of_an_include() -> None:
    includes = "includes: [{name: c, conditions: [{prefix: /.}]}]"
    child = """
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: c}
spec:
  routes:
  - {conditions: [{prefix: /x}], services: [{name: s1, port: 80}]}
  - {conditions: [{prefix: well}], services: [{name: s1, port: 80}]}
"""
    engine = world(services("s1") + root("root", includes) + child)
    assert routes(engine, "a.com") == []
    first, second = messages(engine, "HTTPProxy", "c")
    assert ": spec.routes[0].conditions[0].prefix: '/./x' has a dot segment" in first
    assert ": spec.routes[1].conditions[0].prefix: 'well' must start with /" in second


def test_a_condition_that_contradicts_an_includes_is_told_on_the_child() -> None:
    engine = world(
        services("s1")
        + root("root", "includes: [{name: c, conditions: [{header: {name: a, exact: x}}]}]")
        + """
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: c}
spec:
  routes:
  - conditions: [{header: {name: a, exact: y}}]
    services: [{name: s1, port: 80}]
"""
    )
    assert routes(engine, "a.com") == []
    assert problems(engine, "HTTPProxy", "c") == ["RouteError/HeaderMatchConditionsNotValid"]
    assert problems(engine, "HTTPProxy", "root") == []
