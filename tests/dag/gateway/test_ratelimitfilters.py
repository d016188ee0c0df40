"""RateLimitFilters: what is counted together, what cannot be built, and what users are told."""

import pytest

from contour.envoy import names
from crds.meta import NamespacedName, ObjectRef
from dag import hosts, nodes, ratelimitclient, refusals
from dag.engine.incremental import Engine
from dag.fleetnames import DEFAULT_FLEET
from dag.plan import STATUSES
from dag.statuses import PolicyStatus
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import gateway, gateway_class, route, service, to
from tests.dag.world import apply, routes, world

GIVEN = gateway_class() + gateway("gw") + service("s1") + service("s2")
BOTH = ["Accepted", "ResolvedRefs=False/UnsupportedValue", "PartiallyInvalid=True/UnsupportedValue"]
RULE = "{limit: {requests: 1, unit: Hour}}"


def limits(*rules: str, name: str = "it") -> str:
    return (
        "---\n{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: RateLimitFilter, "
        f"metadata: {{name: {name}, namespace: default}}, "
        f"spec: {{type: Global, global: {{rules: [{', '.join(rules)}]}}}}}}\n"
    )


def selecting(selector: str) -> str:
    return f"{{clientSelectors: [{selector}], limit: {{requests: 1, unit: Hour}}}}"


def limited(path: str, *filters: str, more: str = "") -> str:
    named = ", ".join(
        "{type: ExtensionRef, extensionRef: "
        f"{{group: gateway.envoyproxy.io, kind: RateLimitFilter, name: {it}}}}}"
        for it in filters or ("it",)
    )
    rest = more or "backendRefs: [{name: s1, port: 80}]"
    return f"{{matches: [{{path: {{value: {path}}}}}], filters: [{named}], {rest}}}"


def counted(*documents: str) -> Engine:
    """A world whose rate limit service is enabled."""
    made = world(GIVEN + "".join(documents))
    made.write(ratelimitclient.SOCKET, (), "/run/limits")
    made.settle()
    return made


def buckets(made: Engine, host: str = "*") -> dict[str, list[tuple[str, str]]]:
    """Who counts the requests of each path: the rule of a filter, and what is counted together."""
    at = nodes.HostKey(DEFAULT_FLEET, "ingress_http", host)
    found = made.answer(hosts.virtual_host, at)
    assert found is not None
    return {
        it.match.path.path: [
            (names.limit_rule(limit.owner, limit.rule), names.bucket(at, it))
            for limit in it.policies.limits or ()
        ]
        for it in found.routes
        if it.policies is not None and isinstance(it.match.path, nodes.Segments)
    }


def told(made: Engine, name: str = "it") -> dict[str, list[str]]:
    """What a filter is told, by route."""
    found = made.answer(STATUSES["RateLimitFilter"], NamespacedName("default", name))
    assert isinstance(found, PolicyStatus)
    return {it.ancestor.name: status_text.short(it.conditions) for it in found.ancestors}


def test_each_rule_of_each_filter_counts_alone_and_matches_of_a_rule_together() -> None:
    made = counted(
        limits(RULE, selecting("{headers: [{name: x, type: Distinct}]}")),
        limits(RULE, name="more"),
        route("r", limited("/a", "it", "more"), limited("/b"), hosts=("a.com", "b.com")),
        route("q", limited("/c"), hosts=("a.com",)),
    )
    a, b = buckets(made, "a.com"), buckets(made, "b.com")
    every = [*a["/a"], *a["/b"], *a["/c"], *b["/a"], *b["/b"]]
    assert len(every) == len({*every}) == 3 + 2 + 2 + 3 + 2


def test_a_filter_that_a_rule_names_twice_counts_once() -> None:
    made = counted(limits(RULE), limits(RULE, name="more"))
    found = []
    for named in (("it", "more"), ("it", "more", "it")):
        apply(made, route("r", limited("/a", *named)))
        found.append(buckets(made)["/a"])
    assert len(found[0]) == 2
    assert found[1] == found[0]


@pytest.mark.parametrize(
    "edited",
    [
        [limited("/new"), limited("/a"), limited("/b")],
        [limited("/b", more="backendRefs: [{name: s2, port: 80}]"), limited("/a")],
    ],
)
def test_edits_of_other_rules_change_no_bucket(edited: list[str]) -> None:
    made = counted(limits(RULE), route("r", limited("/a"), limited("/b")))
    before = buckets(made)
    apply(made, limits(RULE, selecting("{sourceIP: 10.0.0.0/8}")) + route("r", *edited))
    after = buckets(made)
    assert [after[it][0] for it in ("/a", "/b")] == [before[it][0] for it in ("/a", "/b")]


def test_a_limit_can_be_changed_and_goes_on_counting() -> None:
    made = counted(limits(RULE), route("r", limited("/a")))
    before = buckets(made)
    apply(made, limits(RULE.replace("1", "5")))
    assert buckets(made) == before


def test_the_entries_of_a_rule() -> None:
    selectors = (
        "{headers: [{name: X-A, value: v}, {name: b, type: RegularExpression, value: 'v+'}]}, "
        "{headers: [{name: c, type: Distinct}], sourceIP: 10.1.2.3/8, "
        "sourceCIDR: {type: Distinct, value: '2001:DB8::/32'}}"
    )
    made = counted(limits(selecting(selectors)), route("r", limited("/a")))
    found = made.answer(hosts.virtual_host, nodes.HostKey(DEFAULT_FLEET, "ingress_http", "*"))
    assert found is not None
    policies = found.routes[0].policies
    assert policies is not None
    assert policies.limits is not None
    exact, regex = nodes.ValueMatch("exact", "v"), nodes.ValueMatch("regex", "v+")
    assert policies.limits[0].entries == (
        nodes.HeaderValueMatch((nodes.HeaderMatch("x-a", exact),), "yes"),
        nodes.HeaderValueMatch((nodes.HeaderMatch("b", regex),), "yes"),
        nodes.RequestHeader("c", "c"),
        nodes.ClientRange("10.0.0.0/8"),
        nodes.ClientRange("2001:db8::/32"),
        nodes.RemoteAddress(),
    )


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ("{headers: [{name: x}]}", "headers[0].value: must be set for type Exact"),
        (
            "{headers: [{name: x, type: Distinct, value: v}]}",
            "headers[0].value: must be absent for type Distinct",
        ),
        (
            "{headers: [{name: x, type: RegularExpression, value: '('}]}",
            "headers[0].value: '(' is not a valid RE2 expression",
        ),
        ("{headers: [{name: 'a b', value: v}]}", "headers[0].name: 'a b' "),
        (
            "{headers: [{name: x, value: v}, {name: X, value: w}]}",
            "headers[1]: header 'X' is there twice",
        ),
        ("{sourceIP: nowhere}", "sourceIP: 'nowhere' is not a range"),
        ("{sourceCIDR: {value: 10.0.0.0/40}}", "sourceCIDR.value: '10.0.0.0/40' is not a range"),
        ("{sourceCIDR: {type: Odd, value: 10.0.0.0/8}}", "sourceCIDR.type: 'Odd' is neither"),
    ],
)
def test_what_cannot_be_built_closes_its_rule_and_both_are_told(selector: str, text: str) -> None:
    made = counted(limits(selecting(selector)), route("r", limited("/a"), to("s2")))
    assert routes(made, "*") == ["/a/... -> 500", "/ -> default/s2:80"]
    assert status_text.route(made, "r") == BOTH
    place = "spec.rules[0].filters[0].extensionRef: RateLimitFilter default/it: "
    whole = f"{place}spec.global.rules[0].clientSelectors[0].{text}"
    assert whole in status_text.route_messages(made, "r")[1]
    assert told(made) == {"r": ["Accepted=False/Invalid", "Programmed=False/Invalid"]}


@pytest.mark.parametrize("more", [0, 1])
def test_a_rule_with_more_conditions_than_the_service_can_read_is_closed(more: int) -> None:
    headers = [f"{{name: x-{it}, type: Distinct}}" for it in range(16)]
    selectors = [f"{{headers: [{', '.join(headers)}]}}"] * 6
    selectors.append(f"{{headers: [{', '.join(headers[: 1 + more])}]}}")
    made = counted(limits(selecting(", ".join(selectors))), route("r", limited("/a")))
    assert routes(made, "*") == ["/a/... -> 500" if more else "/a/... -> default/s1:80"]
    text = "spec.global.rules[0].clientSelectors: has 98 conditions on requests, more than 97"
    assert (text in status_text.route_messages(made, "r")[1]) is bool(more)


def test_a_filter_without_limits_of_its_type_is_not_valid() -> None:
    made = counted(limits().replace(", global: {rules: []}", ""), route("r", limited("/a")))
    assert status_text.route(made, "r")[1] == "ResolvedRefs=False/UnsupportedValue"
    assert "spec.global: must be set for type Global" in status_text.route_messages(made, "r")[1]


def test_a_redirect_cannot_be_counted() -> None:
    redirect = "{type: RequestRedirect, requestRedirect: {hostname: x.com}}, {type: ExtensionRef"
    rule = limited("/a", more="backendRefs: []").replace("{type: ExtensionRef", redirect)
    made = counted(limits(RULE), route("r", rule, to("s2")))
    assert routes(made, "*") == ["/a/... -> 500", "/ -> default/s2:80"]
    assert status_text.route(made, "r") == BOTH
    assert told(made) == {"r": ["Accepted=False/Invalid", "Programmed=False/Invalid"]}


@pytest.mark.parametrize(
    ("services", "untaken", "envoys", "programmed"),
    [
        (1, None, 1, "Programmed"),
        (0, None, 1, "Programmed=False/NoResources"),
        (1, "other", 1, "Programmed"),
        (1, "it", 1, "Programmed=False/Pending"),
        (1, None, 0, "Programmed=False/NoResources"),
    ],
)
def test_programmed_is_what_envoys_and_the_service_have(
    services: int, untaken: str | None, envoys: int, programmed: str
) -> None:
    made = counted(limits(RULE), route("r", limited("/a")))
    made.write(refusals.ENVOYS, ratelimitclient.FLEET, services)
    if untaken is not None:
        made.write(refusals.UNTAKEN, ObjectRef("RateLimitFilter", "default", untaken), True)
    made.write(refusals.ENVOYS, DEFAULT_FLEET, envoys)
    made.settle()
    assert told(made) == {"r": ["Accepted", programmed]}


@pytest.mark.parametrize("kind", ["RateLimitFilter", "HTTPRoute"])
def test_what_is_refused_is_not_programmed(kind: str) -> None:
    made = counted(limits(RULE), route("r", limited("/a")))
    name = "it" if kind == "RateLimitFilter" else "r"
    made.write(refusals.REFUSALS, ObjectRef(kind, "default", name), ("no such unit",))
    made.settle()
    (conditions,) = told(made).values()
    assert conditions[0] == "Accepted"
    assert conditions[1].startswith("Programmed=False/")


def test_a_filter_that_no_route_names_is_told_nothing() -> None:
    made = counted(limits(RULE), route("r", to("s1")))
    assert made.answer(STATUSES["RateLimitFilter"], NamespacedName("default", "it")) is None
