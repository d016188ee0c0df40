"""Limits of BackendTrafficPolicies: what is counted, what closes the routes, what is told."""

from typing import Any

import pytest

from contour.envoy import names
from crds.meta import ObjectRef
from dag import hosts, nodes, ratelimitclient, ratelimitservice, refusals
from dag.engine.incremental import Engine
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway.envoypolicies import trafficlimits
from dag.plan import STATUSES
from dag.statuses import PolicyStatus
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import gateway, gateway_class, on, route, service
from tests.dag.gateway.test_ratelimitfilters import limited
from tests.dag.gateway.test_ratelimitfilters import limits as filter_
from tests.dag.gateway.test_routefilters import filter_ as filter_of_routes
from tests.dag.gateway.test_routefilters import filtered as answered
from tests.dag.gateway.test_securitypolicies import GATEWAY, ROUTE, applied, part
from tests.dag.gateway.test_trafficpolicies import policy
from tests.dag.world import apply, delete, key, routes, world

GIVEN = gateway_class() + gateway("gw") + service("s1") + service("s2")
HOUR = "limit: {requests: 3, unit: Hour}"


def limiting(*rules: str, where: str = "global") -> str:
    return f"rateLimit: {{{where}: {{rules: [{', '.join(f'{{{it}}}' for it in rules)}]}}}}"


def selecting(*selectors: str) -> str:
    return f"clientSelectors: [{', '.join(selectors)}], {HOUR}"


def counted(*documents: str) -> Engine:
    """A world whose rate limit service is enabled."""
    made = world(GIVEN)
    made.write(ratelimitclient.SOCKET, (), "/run/limits")
    made.settle()
    apply(made, "".join(documents))
    return made


def limits(made: Engine, host: str = "*") -> dict[str, tuple[nodes.Limit, ...]]:
    """Of each path."""
    at = nodes.HostKey(DEFAULT_FLEET, "ingress_http", host)
    found = made.answer(hosts.virtual_host, at)
    assert found is not None
    return {
        getattr(it.match.path, "path", ""): (it.policies and it.policies.limits) or ()
        for it in found.routes
    }


def conditions(made: Engine, name: str = "p") -> list[str]:
    found = made.answer(STATUSES["BackendTrafficPolicy"], key(name))
    assert isinstance(found, PolicyStatus)
    return status_text.short(found.ancestors[0].conditions)


def message(made: Engine, name: str = "p") -> str:
    found = made.answer(STATUSES["BackendTrafficPolicy"], key(name))
    assert isinstance(found, PolicyStatus)
    return found.ancestors[0].conditions[0].message


def exact(name: str, value: str, *, expect: bool = True) -> nodes.HeaderValueMatch:
    header = nodes.HeaderMatch(name, nodes.ValueMatch("exact", value))
    return nodes.HeaderValueMatch((header,), "yes", expect)


def method(value: str, *, inverted: bool) -> nodes.HeaderMatch:
    return nodes.HeaderMatch(":method", nodes.ValueMatch("exact", value), inverted=inverted)


ENTRIES: dict[str, tuple[nodes.CountedEntry, ...]] = {
    "{headers: [{name: X-A, value: v}]}": (exact("x-a", "v"),),
    "{headers: [{name: x-a, value: v, invert: true}]}": (exact("x-a", "v", expect=False),),
    "{headers: [{name: x-a, type: RegularExpression, value: 'v+'}]}": (
        nodes.HeaderValueMatch(
            (nodes.HeaderMatch("x-a", nodes.ValueMatch("regex", "v+")),), "yes"
        ),
    ),
    "{headers: [{name: x-a, type: Distinct}, {name: x-a, value: v, invert: true}]}": (
        nodes.RequestHeader("x-a", "x-a"),
        exact("x-a", "v", expect=False),
    ),
    "{methods: [{value: GET}, {value: PUT, invert: true}, {value: GET}]}": (
        nodes.HeaderValueMatch(
            (method("GET", inverted=True), method("PUT", inverted=False)), "yes", expect=False
        ),
    ),
    "{path: {value: /a/}}": (nodes.PathMatch(nodes.Segments("/a")),),
    "{path: {value: /}}": (nodes.PathMatch(nodes.Prefix("/")),),
    "{path: {type: Exact, value: /a, invert: true}}": (nodes.PathMatch(nodes.Exact("/a"), True),),
    "{path: {type: RegularExpression, value: '/a+'}}": (nodes.PathMatch(nodes.Regex("/a+")),),
    "{queryParams: [{name: q, value: a}, {name: q, type: Distinct}]}": (
        nodes.QueryValueMatch(nodes.QueryMatch("q", nodes.ValueMatch("exact", "a"))),
        nodes.QueryValue("q"),
    ),
    "{queryParams: [{name: q, type: RegularExpression, value: a+, invert: true}]}": (
        nodes.QueryValueMatch(nodes.QueryMatch("q", nodes.ValueMatch("regex", "a+")), False),
    ),
    "{sourceCIDR: {value: 10.1.2.3/8}}": (nodes.ClientRange("10.0.0.0/8"),),
    "{sourceCIDR: {value: '2001:DB8::/32', type: Distinct, invert: true}}": (
        nodes.ClientRange("2001:db8::/32", True),
        nodes.RemoteAddress(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("selector", ENTRIES)
@pytest.mark.parametrize("where", ["global", "local"])
def test_all_conditions_of_all_selectors_have_to_hold(selector: str, where: str) -> None:
    more = "{headers: [{name: z, type: Distinct}]}"
    made = counted(route("r"), policy("p", limiting(selecting(selector, more), where=where)))
    expected = (*ENTRIES[selector], nodes.RequestHeader("z", "z"))
    if where == "global":
        ((found,),) = limits(made).values()
        assert found.entries == expected
    else:
        assert local(made).limits[0].entries == expected


def local(made: Engine) -> nodes.LocalLimits:
    found = made.answer(hosts.virtual_host, nodes.HostKey(DEFAULT_FLEET, "ingress_http", "*"))
    assert found is not None
    policies = found.routes[0].policies
    assert policies is not None
    assert isinstance(policies.local_rate_limit, nodes.LocalLimits)
    return policies.local_rate_limit


TELLING: dict[str, Any] = {"tells": True, "tells_by_itself": True}
GLOBAL_FIELDS: dict[str, dict[str, Any]] = {
    "shared: true": {"is_shared": True},
    "shared: false": {},
    "xRateLimitHeaders: 'Off'": {"tells": False, "tells_by_itself": False},
    "xRateLimitHeaders: DraftVersion03": {"tells_by_itself": False},
    "cost: {request: {from: Number, number: 0}}": {"cost": 0},
    "cost: {response: {from: Number, number: 1000000000}}": {"late_cost": 1_000_000_000},
}


@pytest.mark.parametrize("field", GLOBAL_FIELDS)
def test_what_else_a_global_rule_says(field: str) -> None:
    made = counted(route("r"), policy("p", limiting(f"{field}, {HOUR}")))
    ((found,),) = limits(made).values()
    owner = ObjectRef("BackendTrafficPolicy", *key("p"))
    assert found == nodes.Limit(owner, found.rule, (), **{**TELLING, **GLOBAL_FIELDS[field]})


LOCAL_FIELDS: dict[str, dict[str, Any]] = {
    "shared: false": {},
    "shadowMode: true": {"is_shadow": True},
    "xRateLimitHeaders: 'Off'": {"tells": False, "tells_by_itself": False},
    "cost: {request: {from: Number, number: 2}}": {"cost": 2},
}


@pytest.mark.parametrize("field", LOCAL_FIELDS)
def test_what_else_a_local_rule_says(field: str) -> None:
    made = counted(route("r"), policy("p", limiting(HOUR, f"{field}, {HOUR}", where="local")))
    plain = nodes.LocalLimit(3, "Hour", **TELLING)
    told = {**TELLING, **LOCAL_FIELDS[field]}
    assert local(made).limits == (plain, nodes.LocalLimit(3, "Hour", **told))


def test_a_local_rule_whose_requests_cost_nothing_is_left_out() -> None:
    free = f"cost: {{request: {{from: Number, number: 0}}}}, {HOUR}"
    made = counted(route("r"), policy("p", limiting(HOUR, free, where="local")))
    assert local(made).limits == (nodes.LocalLimit(3, "Hour", **TELLING),)
    at = "spec.rateLimit.local.rules[1]"
    assert f"{at}: has no effect: {at}.cost.request.number is 0" in message(made)


def test_the_service_is_told_units_numbers_and_what_is_only_counted() -> None:
    units = ("Second", "Minute", "Hour", "Day", "Week", "Month", "Year")
    rules = [f"shadowMode: {str(it == 'Day').lower()}, limit: {{requests: 0, unit: {it}}}"
             for it in units]  # fmt: skip
    made = counted(route("r"), policy("p", limiting(*rules)))
    found = made.answer(trafficlimits.meaning, key("p"))
    assert found is not None
    assert [(it.unit, it.requests, it.is_shadow) for it in found.counted] == [
        (it, 0, it == "Day") for it in units
    ]
    assert len({it.name for it in found.counted}) == len(units)


def test_routes_count_apart_and_by_the_identity_of_their_rules() -> None:
    both = policy("p", limiting(HOUR), GATEWAY)
    made = counted(both)
    at = nodes.HostKey(DEFAULT_FLEET, "ingress_http", "*")

    def buckets() -> dict[str, str]:
        found = made.answer(hosts.virtual_host, at)
        assert found is not None
        return {getattr(it.match.path, "path", ""): names.bucket(at, it) for it in found.routes}

    apply(made, route("r", on("/a", "s1"), on("/b", "s1")) + route("q", on("/c", "s1")))
    before = buckets()
    assert len({*before.values()}) == 3
    apply(made, route("r", on("/new", "s1"), on("/b", "s1"), on("/a", "s1")))
    assert {it: buckets()[it] for it in before} == before


def test_policies_of_rules_routes_and_gateways_follow_the_precedence() -> None:
    made = counted(
        route("r", on("/a", "s1", "name: one"), on("/b", "s1")),
        route("q", on("/c", "s1")),
        policy("gw", limiting(HOUR), GATEWAY),
        policy("p", limiting(HOUR)),
        policy("one", limiting(HOUR), part(ROUTE, "one")),
    )
    owners = {path: [it.owner.name for it in found] for path, found in limits(made).items()}
    assert owners == {"/a": ["one"], "/b": ["p"], "/c": ["gw"]}


def test_a_policy_counts_beside_the_filters_of_a_rule() -> None:
    made = counted(
        filter_("{limit: {requests: 1, unit: Hour}}"),
        route("r", limited("/a")),
        policy("p", limiting(HOUR)),
    )
    (found,) = limits(made).values()
    assert [it.owner.kind for it in found] == ["RateLimitFilter", "BackendTrafficPolicy"]


def test_redirects_are_not_counted_and_stay() -> None:
    redirect = "filters: [{type: RequestRedirect, requestRedirect: {hostname: x.com}}]"
    made = counted(route("r", f"{{{redirect}}}"), policy("p", limiting(HOUR)))
    assert limits(made) == {"/": ()}


@pytest.mark.parametrize("target", [ROUTE, GATEWAY], ids=["route", "gateway"])
def test_an_answer_without_a_backend_closes_its_rule_and_is_told(target: str) -> None:
    answer = filter_of_routes("directResponse: {statusCode: 200}")
    made = counted(answer, route("r", answered(), on("/b", "s1")), policy("p", "", target))
    assert routes(made, "*") == ["/a/... -> 200", "/b/... -> default/s1:80"]
    apply(made, policy("p", limiting(HOUR), target))
    assert routes(made, "*") == ["/a/... -> 500", "/b/... -> default/s1:80"]
    why = "spec.rateLimit.global: closes rules of HTTPRoute default/r: requests that are answered "
    assert why + "without a backend are not counted" in message(made)
    told = status_text.route_messages(made, "r")[0]
    assert ("answers an error, because BackendTrafficPolicy default/p" in told) is (target == ROUTE)
    apply(made, policy("p", limiting(HOUR, where="local"), target))
    assert routes(made, "*")[0] == "/a/... -> 200"
    assert "closes" not in message(made)


def test_calls_are_counted() -> None:
    target = "{group: gateway.networking.k8s.io, kind: GRPCRoute, name: g}"
    made = counted(
        route("g").replace("HTTPRoute", "GRPCRoute"), policy("p", limiting(HOUR), target)
    )
    assert [len(it) for it in limits(made).values()] == [1]


def _selector(text: str) -> str:
    return limiting(selecting(f"{{{text}}}"))


def _headers(number: int) -> str:
    return f"headers: [{', '.join(['{name: x, value: v}'] * number)}]"


CLOSING = {
    _selector("headers: [{name: x}]"): "headers[0].value: must be set for type Exact",
    _selector("headers: [{name: 'a b', value: v}]"): "headers[0].name: 'a b' ",
    _selector("headers: [{name: x, type: Distinct, value: v}]"): "headers[0].value: must be absent",
    _selector("headers: [{name: x, type: Distinct, invert: true}]"): "headers[0].invert: must be",
    _selector("headers: [{name: x, type: RegularExpression, value: '('}]"): "'(' is not a valid",
    _selector("headers: [{name: x, type: RegularExpression, value: ''}]"): "'' is empty",
    _selector("queryParams: [{name: x}]"): "queryParams[0].value: must be set for type Exact",
    _selector("queryParams: [{name: x, type: RegularExpression, value: '['}]"): "'[' is not a",
    _selector("path: {value: a}"): "path.value: 'a' does not start with /",
    _selector("path: {type: RegularExpression, value: '(?!a)'}"): "path.value: '(?!a)' is not",
    _selector("path: {type: RegularExpression, value: '/a)|(/b'}"): "'/a)|(/b' is not a valid",
    _selector("sourceCIDR: {value: 10.0.0.0/40}"): "sourceCIDR.value: '10.0.0.0/40' is not a range",
    _selector("sourceCIDR: {value: nowhere}"): "sourceCIDR.value: 'nowhere' is not a range",
    _selector(_headers(97)): "",
    _selector(_headers(98)): (
        "rateLimit.global.rules[0].clientSelectors: has 98 conditions on requests, more than 97"
    ),
    limiting(selecting(f"{{{_headers(128)}}}"), where="local"): "",
    limiting(*[selecting(f"{{{_headers(126)}}}")] * 8): (
        "rules: has 1008 conditions on requests, more than 1000"
    ),
    _selector(_headers(10_000)): "cannot be read",
    limiting(selecting(*["{path: {value: /}}"] * 9)): (
        "cannot be read"
    ),
    limiting("clientSelectors: [{}], " + HOUR): "cannot be read",
    limiting("limit: {requests: 1, unit: Decade}"): "cannot be read",
    limiting("limit: {requests: -1, unit: Hour}"): "cannot be read",
    limiting("limit: {requests: 0, unit: Hour}", where="local"): "must be at least 1",
    limiting(f"shared: true, {HOUR}", where="local"): "rules[0].shared: is not served yet",
    limiting("limit: {requests: 1, unit: Hour, fromMetadata: {key: a, namespace: b}}"): (
        "limit.fromMetadata: is not served yet"
    ),
    limiting("cost: {request: {from: Metadata, metadata: {key: a, namespace: b}}}, " + HOUR): (
        "cost.request.from: is not served yet"
    ),
    limiting("cost: {request: {from: Number}}, " + HOUR): "cost.request.number: must be set",
    limiting("cost: {request: {from: Number, number: -1}}, " + HOUR): "is not between 0 and",
    limiting("cost: {response: {from: Number, number: 1000000001}}, " + HOUR): (
        "cost.response.number: is not between"
    ),
    limiting("cost: {response: {from: Number, number: 1}}, " + HOUR, where="local"): (
        "cannot be read"
    ),
}  # fmt: skip


@pytest.mark.parametrize("spec", CLOSING, ids=range(len(CLOSING)))
def test_a_limit_that_cannot_be_kept_closes_the_routes(spec: str) -> None:
    made = counted(route("r"), policy("p", spec))
    is_closed = bool(CLOSING[spec])
    assert applied(made) == (["p 500"] if is_closed else ["p"])
    assert CLOSING[spec] in message(made)
    if is_closed:
        assert conditions(made) == ["Accepted=False/Invalid"]


def test_without_a_service_the_routes_are_closed_until_there_is_one() -> None:
    made = world(GIVEN + route("r") + policy("p", limiting(HOUR)))
    assert applied(made) == ["p 500"]
    assert "cannot be counted: the rate limit service is not enabled" in message(made)
    made.write(ratelimitclient.SOCKET, (), "/run/limits")
    made.settle()
    assert applied(made) == ["p"]
    assert conditions(made) == ["Accepted", "Programmed"]


@pytest.mark.parametrize(
    ("services", "untaken", "envoys", "programmed"),
    [
        (1, None, 1, "Programmed"),
        (0, None, 1, "Programmed=False/NoResources"),
        (1, "other", 1, "Programmed"),
        (1, "p", 1, "Programmed=False/Pending"),
        (1, None, 0, "Programmed=False/NoResources"),
    ],
)
def test_programmed_is_what_envoys_and_the_service_have(
    services: int, untaken: str | None, envoys: int, programmed: str
) -> None:
    made = counted(route("r"), policy("p", limiting(HOUR)))
    made.write(refusals.ENVOYS, ratelimitclient.FLEET, services)
    if untaken is not None:
        made.write(refusals.UNTAKEN, ObjectRef("BackendTrafficPolicy", *key(untaken)), True)
    made.write(refusals.ENVOYS, DEFAULT_FLEET, envoys)
    made.settle()
    assert conditions(made) == ["Accepted", programmed]


def test_what_a_service_refuses_is_not_programmed() -> None:
    made = counted(route("r"), policy("p", limiting(HOUR)))
    subject = ObjectRef("BackendTrafficPolicy", *key("p"))
    made.write(refusals.REFUSALS, subject, ("no such unit",))
    made.settle()
    assert conditions(made)[1].startswith("Programmed=False/")


def test_a_policy_that_counts_nothing_for_all_is_not_programmed_or_otherwise() -> None:
    made = counted(route("r"), policy("p", limiting(HOUR, where="local")))
    assert conditions(made) == ["Accepted"]


def test_the_process_runs_while_a_filter_or_a_policy_needs_it() -> None:
    def runs() -> bool:
        return any(it is not None for _, it in made.answers(ratelimitservice.process))

    made = counted(route("r"))
    assert not runs()
    apply(made, policy("p", limiting(HOUR)))
    assert runs()
    apply(made, filter_("{limit: {requests: 1, unit: Hour}}") + route("q", limited("/a")))
    delete(made, "BackendTrafficPolicy", "p")
    assert runs()
    apply(made, policy("p", limiting(HOUR)))
    delete(made, "RateLimitFilter", "it")
    assert runs()
    delete(made, "BackendTrafficPolicy", "p")
    assert not runs()


MERGED = "mergeType: StrategicMerge, "


def test_of_two_merged_policies_the_limits_of_both_count_under_their_own_names() -> None:
    """Of another route, those of the Gateway's policy go on with the same counts."""
    made = counted(
        route("r", on("/a", "s1")),
        route("q", on("/b", "s1")),
        policy("gw", limiting(f"shared: true, {HOUR}"), GATEWAY),
        policy("p", MERGED + limiting(HOUR)),
    )
    found = limits(made)
    assert [it.owner.name for it in found["/a"]] == ["p", "gw"]
    assert found["/a"][1] == found["/b"][0]
