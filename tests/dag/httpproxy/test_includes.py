"""Includes narrow what they are given, and those that lead nowhere say so."""

from dataclasses import replace

import pytest

from dag import tables
from dag.httpproxy import included, includes
from dag.problems import places
from tests.dag.httpproxy.manifests import on, proxy, root, services, to
from tests.dag.world import key, messages, problems, routes, world

SERVICES = services("s1", "s2", "s3")


@pytest.mark.parametrize(
    ("include", "route", "expected"),
    [
        ("prefix: /api", "prefix: /v2", ["/api/v2 -> default/s1:80"]),
        ("prefix: /api/", "prefix: /v2", ["/api/v2 -> default/s1:80"]),
        ("prefix: /api", "prefix: /", ["/api/ -> default/s1:80"]),
        ("prefix: /", "prefix: /v2", ["/v2 -> default/s1:80"]),
        ("prefix: /", "prefix: /", ["/ -> default/s1:80"]),
        ("prefix: /api", "exact: /v2", ["=/api/v2 -> default/s1:80"]),
        ("prefix: /a.b", "regex: '/v[0-9]+'", [r"~\/a\.b/v[0-9]+ -> default/s1:80"]),
        ("prefix: /a.b/", "regex: '/v//[0-9]+'", [r"~\/a\.b/v//[0-9]+ -> default/s1:80"]),
        ("prefix: /a", "regex: '/x|/y.*'", ["~\\/a(?:/x|/y.*) -> default/s1:80"]),
        ("prefix: /a", "regex: '/(?i)x|/Y'", ["~\\/a(?:/(?i)x|/Y) -> default/s1:80"]),
        ("prefix: /", "regex: '/x|/y.*'", ["~/x|/y.* -> default/s1:80"]),
        (
            "header: {name: X-A, exact: one}",
            "queryParameter: {name: q, present: true}",
            ["/ x-a=one ?q -> default/s1:80"],
        ),
        (
            "header: {name: ':method', exact: GET}",
            "header: {name: x-b, notcontains: two}",
            ["/ GET !x-b*=two -> default/s1:80"],
        ),
    ],
)
def test_an_include_narrows_what_the_child_is_given(
    include: str, route: str, expected: list[str]
) -> None:
    engine = world(
        SERVICES
        + root("root", f"includes: [{{name: child, conditions: [{{{include}}}]}}]")
        + proxy("child", f"routes: [{to('s1', f'conditions: [{{{route}}}]')}]")
    )
    assert routes(engine, "a.com") == expected
    assert problems(engine, "HTTPProxy", "root") == []
    assert problems(engine, "HTTPProxy", "child") == []


def test_an_expression_stays_behind_the_prefixes_of_all_includes_above_it() -> None:
    route = to("s1", "conditions: [{regex: '/x|/y'}]")
    engine = world(
        SERVICES
        + root("root", "includes: [{name: middle, conditions: [{prefix: /a}]}]")
        + proxy("middle", "includes: [{name: child, conditions: [{prefix: /b}]}]")
        + proxy("child", f"routes: [{route}]")
    )
    assert routes(engine, "a.com") == [r"~\/a\/b(?:/x|/y) -> default/s1:80"]


def test_an_expression_may_not_end_the_group_that_it_becomes_a_part_of() -> None:
    route = to("s1", "conditions: [{regex: '/x)|(/y'}]")
    engine = world(
        SERVICES
        + root("root", "includes: [{name: child, conditions: [{prefix: /a}]}]")
        + proxy("child", f"routes: [{route}]")
    )
    assert routes(engine, "a.com") == []
    (told,) = messages(engine, "HTTPProxy", "child")
    assert ": spec.routes[0].conditions[0].regex: '/x)|(/y' is not a valid RE2" in told


def test_includes_may_cross_namespaces_and_use_the_services_beside_the_child() -> None:
    engine = world(
        services("s1", namespace="team")
        + root("root", "includes: [{name: child, namespace: team}]")
        + proxy("team/child", f"routes: [{to('s1')}]")
    )
    assert routes(engine, "a.com") == ["/ -> team/s1:80"]


def test_the_includers_own_route_wins_over_an_included_one() -> None:
    engine = world(
        SERVICES
        + root("root", f"includes: [{{name: child}}], routes: [{to('s1')}]")
        + proxy("child", f"routes: [{to('s2')}]")
    )
    assert routes(engine, "a.com") == ["/ -> default/s1:80"]
    assert problems(engine, "HTTPProxy", "child") == ["?RouteError/DuplicateMatchConditions"]


BROKEN_INCLUDES = [
    ("missing", "", "IncludeError/IncludeNotFound"),
    ("child", root("child", "routes: []", fqdn="b.com"), "IncludeError/RootIncludesRoot"),
    (
        "child",
        proxy("child", "ingressClassName: other, routes: []"),
        "IncludeError/IncludeNotFound",
    ),
    ("root", "", "IncludeError/RootIncludesRoot"),
]


@pytest.mark.parametrize(("target", "others", "expected"), BROKEN_INCLUDES)
def test_an_include_that_leads_nowhere_answers_502_on_its_conditions(
    target: str, others: str, expected: str
) -> None:
    include = f"{{name: {target}, conditions: [{{prefix: /x}}]}}"
    engine = world(SERVICES + others + root("root", f"includes: [{include}], routes: [{to('s1')}]"))
    assert routes(engine, "a.com") == ["/x -> 502", "/ -> default/s1:80"]
    assert problems(engine, "HTTPProxy", "root") == [expected]


@pytest.mark.parametrize(("target", "others", "expected"), BROKEN_INCLUDES)
def test_without_conditions_it_answers_nothing(target: str, others: str, expected: str) -> None:
    engine = world(SERVICES + others + root("root", f"includes: [{{name: {target}}}]"))
    assert routes(engine, "a.com") == []
    assert problems(engine, "HTTPProxy", "root") == [expected]


def test_an_include_that_leads_back_to_the_root_includes_a_root() -> None:
    engine = world(
        root("root", "includes: [{name: one}]") + proxy("one", "includes: [{name: root}]")
    )
    assert problems(engine, "HTTPProxy", "one") == ["IncludeError/RootIncludesRoot"]
    assert problems(engine, "HTTPProxy", "root") == []


def test_a_cycle_is_told_with_its_path_where_it_closes() -> None:
    engine = world(
        root("root", "includes: [{name: one}]")
        + proxy("one", "includes: [{name: two}]")
        + proxy("two", "includes: [{name: one}]")
    )
    assert messages(engine, "HTTPProxy", "two") == [
        "IncludeError/IncludeCreatesCycle: spec.includes[0]: include creates a cycle: "
        "default/one -> default/two -> default/one"
    ]
    assert problems(engine, "HTTPProxy", "root") == problems(engine, "HTTPProxy", "one") == []


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("[{exact: /x}]", "IncludeError/PathMatchConditionsNotValid"),
        ("[{regex: /x}]", "IncludeError/PathMatchConditionsNotValid"),
        ("[{prefix: x}]", "IncludeError/PathMatchConditionsNotValid"),
        ("[{prefix: /x}, {prefix: /y}]", "IncludeError/PathMatchConditionsNotValid"),
        ("[{header: {name: x}}]", "IncludeError/HeaderMatchConditionsNotValid"),
        ("[{queryParameter: {name: x}}]", "IncludeError/QueryParameterMatchConditionsNotValid"),
    ],
)
def test_an_include_with_conditions_that_are_not_clear_is_skipped(
    conditions: str, expected: str
) -> None:
    engine = world(
        SERVICES
        + root("root", f"includes: [{{name: child, conditions: {conditions}}}, {{name: other}}]")
        + proxy("child", f"routes: [{to('s1')}]")
        + proxy("other", f"routes: [{to('s2')}]")
    )
    assert routes(engine, "a.com") == ["/ -> default/s2:80"]
    assert problems(engine, "HTTPProxy", "root") == [expected]
    assert problems(engine, "HTTPProxy", "child") == ["Orphaned/Orphaned"]


def test_of_two_includes_with_equal_conditions_the_second_is_skipped() -> None:
    one = "[{prefix: /x}, {header: {name: a, exact: b}}]"
    same = "[{header: {name: A, exact: b}}, {prefix: /x}]"
    engine = world(
        SERVICES
        + root(
            "root",
            f"includes: [{{name: c1, conditions: {one}}}, {{name: c2, conditions: {same}}}]",
        )
        + proxy("c1", f"routes: [{to('s1')}]")
        + proxy("c2", f"routes: [{on('/more', 's2')}]")
    )
    assert routes(engine, "a.com") == ["/x a=b -> default/s1:80"]
    assert problems(engine, "HTTPProxy", "root") == ["IncludeError/DuplicateMatchConditions"]


@pytest.mark.parametrize("open_", ["", ", conditions: [{prefix: /}]"])
def test_includes_that_take_everything_are_no_duplicates(open_: str) -> None:
    engine = world(
        SERVICES
        + root("root", f"includes: [{{name: c1{open_}}}, {{name: c2{open_}}}]")
        + proxy("c1", f"routes: [{on('/one', 's1')}]")
        + proxy("c2", f"routes: [{on('/two', 's2')}]")
    )
    assert sorted(routes(engine, "a.com")) == ["/one -> default/s1:80", "/two -> default/s2:80"]


def test_a_chain_of_includes_ends_at_its_limit() -> None:
    chain = "".join(
        proxy(f"c{n}", f"includes: [{{name: c{n + 1}, conditions: [{{prefix: /{n}}}]}}]")
        for n in range(included.MAX_DEPTH + 5)
    )
    engine = world(chain + root("root", "includes: [{name: c0}]"))
    last = included.MAX_DEPTH - 1
    assert problems(engine, "HTTPProxy", f"c{last}") == ["IncludeError/IncludeTooDeep"]
    assert problems(engine, "HTTPProxy", f"c{last + 1}") == ["Orphaned/Orphaned"]
    path = "".join(f"/{n}" for n in range(included.MAX_DEPTH))
    assert routes(engine, "a.com") == [f"{path} -> 502"]


def test_a_bomb_of_diamonds_is_stopped_and_the_roots_own_routes_serve() -> None:
    def twice(n: int) -> str:
        sides = (f"{{name: c{n}, conditions: [{{prefix: /{side}}}]}}" for side in "ab")
        return f"includes: [{', '.join(sides)}]"

    bomb = "".join(proxy(f"c{n}", twice(n + 1)) for n in range(60))
    end = proxy("c60", f"routes: [{to('s1')}]")
    engine = world(
        SERVICES + bomb + end + root("root", f"{twice(0)}, routes: [{on('/own', 's2')}]")
    )
    found = routes(engine, "a.com")
    assert "/own -> default/s2:80" in found
    assert len(found) <= 2 * includes.MAX_ROUTES
    told = {it for n in range(61) for it in problems(engine, "HTTPProxy", f"c{n}")}
    assert "IncludeError/TooManyRoutes" in told


@pytest.mark.parametrize("size", [includes.MAX_ROUTES - 1, includes.MAX_ROUTES])
def test_a_child_that_is_too_large_is_cut_whole_and_the_root_serves_the_rest(size: int) -> None:
    include = "{name: c, conditions: [{prefix: /c}]}"
    engine = world(
        SERVICES
        + root("root", f"includes: [{include}], routes: [{on('/own', 's1')}]")
        + proxy("c", f"routes: [{to('s2')}]")
    )
    child = list(engine.rows(tables.HTTPPROXIES))[1][1]
    many = replace(child, spec=replace(child.spec, routes=child.spec.routes * size))
    engine.write(tables.HTTPPROXIES, key("c"), many)
    engine.settle()
    fits = size < includes.MAX_ROUTES
    assert len(messages(engine, "HTTPProxy", "c")) == (places.MAX_TOLD + 1 if fits else 1)
    assert routes(engine, "a.com") == [
        "/own -> default/s1:80",
        "/c -> default/s2:80" if fits else "/c -> 502",
    ]
    assert problems(engine, "HTTPProxy", "root") == ([] if fits else ["IncludeError/TooManyRoutes"])


def test_a_root_that_is_too_large_by_itself_closes_its_host() -> None:
    engine = world(SERVICES + root("root", f"routes: [{to('s1')}]"))
    found = next(engine.rows(tables.HTTPPROXIES))[1]
    routes_ = found.spec.routes * (includes.MAX_ROUTES + 1)
    engine.write(
        tables.HTTPPROXIES, key("root"), replace(found, spec=replace(found.spec, routes=routes_))
    )
    engine.settle()
    assert routes(engine, "a.com") == ["/ -> 503"]
    assert problems(engine, "HTTPProxy", "root") == ["IncludeError/TooManyRoutes"]


_MANY = [f"prefix: /{n}" for n in range(1000)]


def _header(name: str) -> str:
    return f"{{name: {name}, value: {'v' * 8000}}}"


@pytest.mark.parametrize(
    ("routes_", "conditions"),
    [
        ([on(f"/{n}", "s1") for n in range(40)], [f"header: {{name: x, exact: {'v' * 300_000}}}"]),
        (["{services: [" + "{name: s1, port: 80}, " * 400 + "]}"], _MANY),
        ([to("s1", f"requestHeadersPolicy: {{set: [{_header('x')}, {_header('y')}]}}")], _MANY),
    ],
    ids=["conditions", "services", "headers"],
)
def test_the_text_that_is_included_is_bounded(routes_: list[str], conditions: list[str]) -> None:
    listed = ", ".join(f"{{name: c, conditions: [{{{it}}}]}}" for it in conditions)
    child = proxy("c", f"routes: [{', '.join(routes_)}]")
    engine = world(SERVICES + child + root("root", f"includes: [{listed}]"))
    told = messages(engine, "HTTPProxy", "root")[0]
    assert told.startswith("IncludeError/TooManyRoutes: spec.includes[")
    assert told.endswith("]: the host has more than 8 MiB of routes, with this one's")
    found = routes(engine, "a.com")
    assert any(it.endswith("-> 502") for it in found)


@pytest.mark.parametrize(("names", "served"), [(10, "default/s1:80"), (11, "503")])
def test_many_names_of_a_root_share_the_limits(names: int, served: str) -> None:
    many = f"a.com, aliases: [{', '.join(f'a{n}.com' for n in range(1, names))}]"
    engine = world(SERVICES + root("root", f"routes: [{to('s1')}]", many))
    found = next(engine.rows(tables.HTTPPROXIES))[1]
    spec = replace(found.spec, routes=found.spec.routes * includes.MAX_ROUTES)
    engine.write(tables.HTTPPROXIES, key("root"), replace(found, spec=spec))
    engine.settle()
    for host in ("a.com", "a9.com"):
        assert routes(engine, host) == [f"/ -> {served}"]
    told = "the host has more than 18181 routes for each of its names"
    assert any(told in it for it in messages(engine, "HTTPProxy", "root")) == (names > 10)
