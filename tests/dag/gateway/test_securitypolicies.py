"""SecurityPolicies: which one applies to a route, what it does, and what its owner is told."""

import pytest

from crds.meta import ObjectRef
from dag import hosts, nodes, tables
from dag.engine.incremental import Engine
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway import hosts as gateway_hosts
from dag.plan import STATUSES
from dag.statuses import PolicyStatus, RouteStatus
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    ALL,
    gateway,
    gateway_class,
    host,
    http,
    listener,
    namespace,
    route,
    service,
    stream_route,
    to,
)
from tests.dag.world import apply, delete, key, world
from tests.testbed import tokens

GIVEN = gateway_class() + gateway("gw") + service("s1") + service("s2")
ROUTE = "{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}"
GATEWAY = "{group: gateway.networking.k8s.io, kind: Gateway, name: gw}"


TLS_ROUTE = "{group: gateway.networking.k8s.io, kind: TLSRoute, name: t}"


def policy(
    name: str, spec: str, *targets: str, created: str = "", namespace: str = "default"
) -> str:
    """A SecurityPolicy for the route `r` if no target is given."""
    born = f", creationTimestamp: '{created}'" if created else ""
    named = f"targetRefs: [{', '.join(targets or (ROUTE,))}], " if targets != ("",) else ""
    return (
        "---\n{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: SecurityPolicy, "
        f"metadata: {{name: {name}, namespace: {namespace}{born}}}, spec: {{{named}{spec}}}}}\n"
    )


def allowing(name: str) -> str:
    """An authorization that is told apart by a header."""
    header = f"headers: [{{name: x, values: [{name}]}}]"
    return f"authorization: {{rules: [{{action: Allow, principal: {{{header}}}}}]}}"


def part(target: str, section: str) -> str:
    return target.replace("}", f", sectionName: {section}}}")


def served(engine: Engine, name: str = "*", port: str = "ingress_http") -> tuple[nodes.Route, ...]:
    found = engine.answer(hosts.virtual_host, nodes.HostKey(DEFAULT_FLEET, port, name))
    assert found is not None
    return found.routes


def applied(engine: Engine, name: str = "*", port: str = "ingress_http") -> list[str]:
    """Of each route the policies that apply, or what closes it."""
    return [_applied(it) for it in served(engine, name, port)]


def _applied(found: nodes.Route) -> str:
    names = " ".join(it.name for it in found.attached)
    if isinstance(found.action, nodes.Respond):
        return f"{names} {found.action.status}"
    access = found.policies.access if found.policies is not None else None
    seen = access.rules[0].headers[0][1][0] if isinstance(access, nodes.Access) else ""
    assert not seen or seen == names
    return names


def told(engine: Engine, name: str) -> dict[str, list[str]]:
    """What a policy is told, by ancestor."""
    found = engine.answer(STATUSES["SecurityPolicy"], key(name))
    if found is None:
        return {}
    assert isinstance(found, PolicyStatus)
    return {it.ancestor.name: status_text.short(it.conditions) for it in found.ancestors}


def message(engine: Engine, name: str) -> str:
    found = engine.answer(STATUSES["SecurityPolicy"], key(name))
    assert isinstance(found, PolicyStatus)
    return found.ancestors[0].conditions[0].message


INVALID = {"gw": ["Accepted=False/Invalid"]}


def test_the_nearest_policy_applies_and_it_alone() -> None:
    rules = (to("s1", "name: one"), to("s2", "matches: [{path: {value: /b}}], name: two"))
    it = world(GIVEN + route("r", *rules) + policy("gw", allowing("gw"), GATEWAY))
    assert applied(it) == ["gw", "gw"]
    apply(it, policy("lis", allowing("lis"), part(GATEWAY, "http")))
    assert applied(it) == ["lis", "lis"]
    apply(it, policy("route", allowing("route")))
    assert applied(it) == ["route", "route"]
    apply(it, policy("rule", allowing("rule"), part(ROUTE, "two")))
    assert applied(it) == ["rule", "route"]
    for name, left in (("rule", "route"), ("route", "lis"), ("lis", "gw"), ("gw", "")):
        delete(it, "SecurityPolicy", name)
        assert applied(it) == [left, left]


def test_of_two_policies_for_one_target_the_older_applies_and_the_other_is_told() -> None:
    old, young = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    it = world(
        GIVEN
        + route("r")
        + policy("a", allowing("a"), created=young)
        + policy("b", allowing("b"), created=old)
    )
    assert applied(it) == ["b"]
    assert told(it, "b") == {"gw": ["Accepted"]}
    assert told(it, "a") == {"gw": ["Accepted=False/Conflicted"]}
    assert "SecurityPolicy default/b applies to HTTPRoute default/r" in message(it, "a")
    delete(it, "SecurityPolicy", "b")
    assert applied(it) == ["a"]
    assert told(it, "a") == {"gw": ["Accepted"]}


def test_a_policy_that_loses_one_of_two_targets_is_accepted_and_told() -> None:
    both = (ROUTE, ROUTE.replace("r}", "q}"))
    routes = route("r", hosts=("r.com",)) + route("q", hosts=("q.com",))
    it = world(GIVEN + routes + policy("a", allowing("a")) + policy("b", allowing("b"), *both))
    assert (applied(it, "r.com"), applied(it, "q.com")) == (["a"], ["b"])
    assert told(it, "b") == {"gw": ["Accepted=True/Conflicted"]}
    assert "applies to HTTPRoute default/r" in message(it, "b")


SELECTED = "targetSelectors: [{kind: HTTPRoute, matchLabels: {team: one}%s}]"


def labelled(name: str, labels: str, namespace: str = "default") -> str:
    made = route(name, hosts=(f"{name}.com",), parents="{name: gw, namespace: default}")
    made = made.replace("metadata: {", f"metadata: {{labels: {{{labels}}}, ", 1)
    return made.replace("namespace: default}", f"namespace: {namespace}}}", 1)


def test_routes_are_selected_by_their_labels() -> None:
    it = world(GIVEN + labelled("r", "team: one") + labelled("q", "team: two"))
    apply(it, policy("a", f"{SELECTED % ''}, {allowing('a')}", ""))
    assert (applied(it, "r.com"), applied(it, "q.com")) == (["a"], [""])
    assert told(it, "a") == {"gw": ["Accepted"]}
    apply(it, labelled("r", "team: two") + labelled("q", "team: one"))
    assert (applied(it, "r.com"), applied(it, "q.com")) == ([""], ["a"])


def granted(kind: str) -> str:
    source = "group: gateway.envoyproxy.io, kind: SecurityPolicy, namespace: default"
    return (
        "---\n{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: "
        f"{{name: g, namespace: other}}, spec: {{from: [{{{source}}}], "
        f"to: [{{group: gateway.networking.k8s.io, kind: {kind}}}]}}}}\n"
    )


NAMED = "matchLabels: {kubernetes.io/metadata.name: %s}"


@pytest.mark.parametrize(
    ("asked", "before", "after"),
    [
        ("matchLabels: {tier: x}", 503, "a"),
        ("matchLabels: {tier: y}", 503, ""),
        ("matchExpressions: [{key: tier, operator: DoesNotExist}]", 503, ""),
        (NAMED % "other", "a", "a"),
        (f"{NAMED % 'more'}, matchExpressions: [{{key: tier, operator: Exists}}]", "", ""),
    ],
)
def test_a_route_is_closed_while_it_is_not_known_whether_a_policy_is_for_its_namespace(
    asked: str, before: int | str, after: str
) -> None:
    by_label = f", namespaces: {{from: Selector, selector: {{{asked}}}}}"
    guard = policy("a", f"{SELECTED % by_label}, {allowing('a')}", "")
    given = gateway_class() + gateway("gw", http(rest=ALL)) + service("s1", "other") + guard
    it = world(given + labelled("r", "team: one", "other"))
    it.write(tables.LOOPBACK_REFUSED, (), True)
    it.settle()
    assert applied(it, "r.com") == [""], "without a grant it is for nothing there"
    apply(it, granted("HTTPRoute"))
    if before == 503:
        (closed,) = served(it, "r.com")
        assert closed.action == nodes.Respond(503)
        assert "those of this one are not known" in status_text.route_messages(it, "other/r")[0]
    else:
        assert applied(it, "r.com") == [before]
    apply(it, namespace("other", "tier: x"))
    assert applied(it, "r.com") == [after]


def test_a_listener_is_closed_while_it_is_not_known_whether_a_policy_is_for_its_namespace() -> None:
    by_label = "namespaces: {from: Selector, selector: {matchLabels: {tier: x}}}"
    selecting = f"targetSelectors: [{{kind: Gateway, {by_label}}}]"
    it = world(gateway_class() + gateway("other/gw") + policy("a", f"{selecting}, csrf: {{}}", ""))
    it.write(tables.LOOPBACK_REFUSED, (), True)
    apply(it, granted("Gateway"))
    assert "Programmed=False/Invalid" in status_text.listener(it, "http", "other/gw")
    apply(it, namespace("other", "tier: x"))
    assert "Programmed" in status_text.listener(it, "http", "other/gw")


def test_routes_of_other_namespaces_are_selected_if_a_grant_is_there() -> None:
    given = gateway_class() + gateway("gw", http(rest=ALL)) + service("s1", "other")
    wide = ", namespaces: {from: All}"
    it = world(given + namespace("other") + labelled("r", "team: one", "other"))
    apply(it, policy("a", f"{SELECTED % wide}, {allowing('a')}", ""))
    assert applied(it, "r.com") == [""]
    assert told(it, "a") == {}
    apply(it, granted("HTTPRoute"))
    assert applied(it, "r.com") == ["a"]
    delete(it, "ReferenceGrant", "other/g")
    assert applied(it, "r.com") == [""]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (ROUTE.replace("r}", "gone}"), "HTTPRoute default/gone not found"),
        (part(ROUTE, "gone"), "HTTPRoute default/r has no rule gone"),
        (part(GATEWAY, "gone"), "Gateway default/gw has no listener gone"),
        ("{group: '', kind: Service, name: s1}", "is no kind that policies are for"),
        (ROUTE.replace("HTTPRoute", "HttpRoute"), "is no kind that policies are for"),
        (TLS_ROUTE, "is no kind that policies are for"),
    ],
)
def test_targets_that_are_none_are_told(target: str, words: str) -> None:
    stream = stream_route("TLSRoute", "t", "{name: s1, port: 80}", "[t.com]")
    missing = ROUTE.replace("r}", "missing}")
    it = world(GIVEN + route("r") + stream)
    for more in ((), (missing,), (ROUTE,)):
        apply(it, policy("a", allowing("a"), target, *more))
        is_left = ROUTE in more
        expected = {f"Accepted={is_left}/TargetNotFound"}
        assert {texts[0] for texts in told(it, "a").values()} == expected
        assert words in message(it, "a")


def test_where_labels_select_a_target_others_may_be_missing() -> None:
    selecting = "targetSelectors: [{kind: HTTPRoute, matchLabels: {a: b}}]"
    raw = policy("a", allowing("a"), ROUTE.replace("r}", "gone}"))
    it = world(GIVEN + route("r") + raw.replace("spec: {", f"spec: {{{selecting}, "))
    assert [*told(it, "a").values()] == [["Accepted=False/TargetNotFound"]]
    apply(it, labelled("r", "a: b"))
    assert told(it, "a") == {"gw": ["Accepted=True/TargetNotFound"]}


def test_of_gateways_of_other_controllers_nothing_is_told() -> None:
    other = gateway_class("other", controller="example.com/other")
    given = other + gateway("gw").replace("gatewayClassName: contour", "gatewayClassName: other")
    it = world(
        given
        + service("s1")
        + route("r")
        + policy("a", CLOSING["oidc.clientSecret"], GATEWAY, ROUTE)
        + stream_route("TLSRoute", "t", "{name: s1, port: 80}", "[t.com]")
        + policy("b", allowing("b"), TLS_ROUTE)
    )
    assert not told(it, "b")
    assert told(it, "a") == {}


CONTEXT = "contextExtensions: [{name: a, type: Value, value: b}]"
CLOSING = {
    "mergeType": "mergeType: Replace, cors: {allowOrigins: ['*']}",
    "oidc.clientSecret": (
        "oidc: {provider: {issuer: 'https://idp.com'}, clientID: x, clientSecret: {name: gone}}"
    ),
    "authorization.rules[0].cel": "authorization: {rules: [{action: Allow, cel: 'true'}]}",
    "authorization.rules[0].principal.clientIPGeoLocations": (
        "authorization: {rules: [{action: Deny, principal: "
        "{clientIPGeoLocations: [{country: DE}]}}]}"
    ),
    "authorization.rules[0].action": (
        "authorization: {rules: [{action: Audit, principal: {clientCIDRs: [10.0.0.0/8]}}]}"
    ),
    "authorization.rules[0].principal.clientCIDRs[0]": (
        "authorization: {rules: [{action: Deny, principal: {clientCIDRs: [10.0.0.0/40]}}]}"
    ),
    "authorization.rules[0].principal.jwt.provider": (
        "authorization: {rules: [{action: Allow, principal: "
        "{jwt: {provider: gone, scopes: [read]}}}]}"
    ),
    "jwt.providers[0].remoteJWKS.backendRefs": (
        "jwt: {providers: [{name: a, remoteJWKS: {uri: 'https://example.com/keys', "
        "backendRefs: [{name: s1, port: 80}]}}]}"
    ),
    "jwt.providers[0].remoteJWKS.uri": (
        "jwt: {providers: [{name: a, remoteJWKS: {uri: 'http://example.com/keys'}}]}"
    ),
    "jwt.providers": (
        "jwt: {providers: [{name: a, remoteJWKS: {uri: 'https://example.com/keys'}}]}"
    ),
    "extAuth.grpc.backendRefs[0]": "extAuth: {grpc: {backendRefs: [{name: gone, port: 80}]}}",
    "extAuth.http.backendRefs": (
        "extAuth: {http: {backendRefs: [{name: s1, port: 80}, {name: s2, port: 80}]}}"
    ),
    "extAuth.http.pathOverride": (
        "extAuth: {http: {backendRefs: [{name: s1, port: 80}], pathOverride: /check}}"
    ),
    "extAuth.http.path": "extAuth: {http: {backendRefs: [{name: s1, port: 80}], path: check}}",
    "extAuth.http.path: '/a?b'": (
        "extAuth: {http: {backendRefs: [{name: s1, port: 80}], path: '/a?b'}}"
    ),
    "cors.allowMethods[0]": 'cors: {allowOrigins: ["*"], allowMethods: ["GET\\r\\nx: y"]}',
    "cors.allowHeaders[0]": 'cors: {allowOrigins: ["*"], allowHeaders: ["a\\nb"]}',
    "cors.exposeHeaders[1]": 'cors: {allowOrigins: ["*"], exposeHeaders: ["a", "b\\r"]}',
    "extAuth.contextExtensions[0]": (
        f"extAuth: {{http: {{backendRefs: [{{name: s1, port: 80}}]}}, {CONTEXT}}}"
    ),
}


def test_texts_for_a_server_that_gets_some_headers_close_the_routes() -> None:
    grpc = f"grpc: {{backendRefs: [{{name: s1, port: 80}}]}}, {CONTEXT}"
    it = world(GIVEN + route("r") + policy("a", f"extAuth: {{{grpc}}}", ROUTE))
    assert applied(it) == ["a"]
    apply(it, policy("a", f"extAuth: {{headersToExtAuth: [x-user], {grpc}}}", ROUTE))
    assert applied(it) == ["a 500"]
    assert message(it, "a").startswith("spec.extAuth.contextExtensions[0]: cannot be sent ")


@pytest.mark.parametrize("field", CLOSING)
@pytest.mark.parametrize("target", [ROUTE, GATEWAY], ids=["route", "gateway"])
def test_what_guards_and_cannot_be_served_closes_its_routes(field: str, target: str) -> None:
    it = world(GIVEN + route("r") + policy("a", CLOSING[field], target))
    assert applied(it) == ["a 500"]
    assert told(it, "a") == INVALID
    assert message(it, "a").startswith(f"spec.{field}")
    delete(it, "SecurityPolicy", "a")
    assert applied(it) == [""]


def test_a_field_of_a_later_release_closes_the_routes() -> None:
    it = world(GIVEN + route("r") + policy("a", allowing("a")))
    it.write(tables.UNKNOWN_FIELDS, ObjectRef("SecurityPolicy", "default", "a"), ("spec.newer",))
    it.settle()
    assert applied(it) == ["a 500"]
    assert message(it, "a").startswith("spec: has a field that is not known here")
    assert "spec.newer" in message(it, "a")


def test_a_route_is_told_that_its_policy_closes_it() -> None:
    it = world(GIVEN + route("r") + policy("a", CLOSING["oidc.clientSecret"]))
    assert "SecurityPolicy default/a cannot be served" in route_message(it)


ANSWERS = (
    "spec.rules[0]: answers an error, because it has %s by a filter and by "
    "SecurityPolicy default/%s"
)


def route_message(engine: Engine, kind: str = "HTTPRoute") -> str:
    found = engine.answer(STATUSES[kind], key("r"))
    assert isinstance(found, RouteStatus)
    return found.parents[0].conditions[0].message


def test_guards_of_filters_and_of_a_policy_do_not_replace_one_another() -> None:
    server = "{protocol: HTTP, backendRef: {name: s1, port: 80}, http: {}}"
    own = to("s1", f"filters: [{{type: ExternalAuth, externalAuth: {server}}}]")
    asked = "extAuth: {http: {backendRefs: [{name: s2, port: 80}]}}"
    for target in (ROUTE, GATEWAY, part(GATEWAY, "http")):
        it = world(GIVEN + route("r", own) + policy("a", asked, target))
        assert applied(it) == ["a 500"]
        assert ANSWERS % ("servers that decide", "a") in route_message(it)
        apply(it, policy("a", allowing("a"), target))
        assert route_message(it) == "the route is attached"
    merged = policy("a", f"mergeType: StrategicMerge, {allowing('a')}")
    it = world(GIVEN + route("r", own) + merged + policy("b", asked, GATEWAY))
    assert applied(it) == ["a b 500"]
    assert ANSWERS % ("servers that decide", "a") in route_message(it)
    it = world(GIVEN + route("r", own) + policy("a", allowing("a")))
    (found,) = served(it)
    assert found.policies is not None
    assert isinstance(found.policies.authorization, nodes.Authorization)
    assert found.policies.access is not None


ASKED = "extAuth: {%sgrpc: {backendRefs: [{name: s2, port: 80}]}}"
SHADOWED = "csrf: {shadowFraction: {numerator: 1, denominator: 1}}"
OF_CALLS = [
    (ASKED % "bodyToExtAuth: {maxRequestBytes: 10}, ",
     "spec.rules[0]: calls whose clients stream wait until these have sent everything"),
    ("csrf: {}", "spec.rules[0]: calls without the header origin or referer are answered 403"),
]  # fmt: skip


@pytest.mark.parametrize("target", [ROUTE, GATEWAY], ids=["route", "gateway"])
@pytest.mark.parametrize("kind", ["HTTPRoute", "GRPCRoute"])
@pytest.mark.parametrize(("spec", "words"), OF_CALLS)
def test_guards_that_refuse_calls_or_let_them_wait_are_told(
    spec: str, words: str, kind: str, target: str
) -> None:
    named = target.replace("HTTPRoute", kind)
    it = world(GIVEN + route("r").replace("HTTPRoute", kind) + policy("a", spec, named))
    assert (words in route_message(it, kind)) is (kind == "GRPCRoute")
    for silent in (ASKED % "", SHADOWED):
        apply(it, policy("a", silent, named))
        assert route_message(it, kind) == "the route is attached"


def test_not_every_header_can_be_read_with_credentials() -> None:
    cors = "cors: {allowOrigins: ['https://a.com'], exposeHeaders: ['*'], allowCredentials: %s}"
    it = world(GIVEN + route("r") + policy("a", cors % "true"))
    assert message(it, "a").endswith(
        "spec.cors.exposeHeaders: '*' stands for no header where credentials are allowed; it has "
        "no effect"
    )
    apply(it, policy("a", cors % "false"))
    assert message(it, "a") == "the policy applies"


def test_tokens_of_a_filter_and_of_a_policy_close_the_rule_and_are_told() -> None:
    keys = f"localJWKS: {{type: Inline, inline: '{tokens.jwks()}'}}"
    filter_ = (
        "---\n{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: AuthenticationFilter, metadata: "
        "{name: f, namespace: default}, "
        f"spec: {{type: JWT, jwtProviders: [{{name: a, {keys}}}]}}}}\n"
    )
    named = "{group: gateway.envoyproxy.io, kind: AuthenticationFilter, name: f}"
    own = to("s1", f"filters: [{{type: ExtensionRef, extensionRef: {named}}}]")
    for target in (ROUTE, GATEWAY):
        asked = policy("a", f"jwt: {{providers: [{{name: a, {keys}}}]}}", target)
        it = world(GIVEN + filter_ + route("r", own) + asked)
        assert applied(it) == ["a 500"]
        assert ANSWERS % ("tokens", "a") in route_message(it)


def test_routes_for_tcp_are_closed_where_a_policy_is_to_guard_them() -> None:
    tcp = gateway("gw", listener("tcp", 9000, "TCP"))
    target = "{group: gateway.networking.k8s.io, kind: TCPRoute, name: r}"
    given = gateway_class() + tcp + service("s1")
    given += stream_route("TCPRoute", "r", "{name: s1, port: 80}")
    for guarded in (target, part(GATEWAY, "tcp")):
        it = world(given + policy("a", CLOSING["oidc.clientSecret"], guarded))
        assert _stream(it) == [None]
        kind = "TCPRoutes" if guarded == target else "TCP listeners"
        assert f"so all connections of its {kind} are closed" in message(it, "a")
        delete(it, "SecurityPolicy", "a")
        assert _stream(it) != [None]


@pytest.mark.parametrize("field", CLOSING)
def test_what_a_gateway_cannot_serve_closes_its_streams_if_it_may_say_who_connects(
    field: str,
) -> None:
    given = gateway_class() + gateway("gw", listener("tcp", 9000, "TCP")) + service("s1")
    given += stream_route("TCPRoute", "r", "{name: s1, port: 80}")
    it = world(given + policy("a", CLOSING[field], GATEWAY))
    is_not_read = field.endswith((".remoteJWKS.backendRefs", ".pathOverride"))
    is_of_requests = field.startswith(("oidc", "jwt", "extAuth", "cors")) and not is_not_read
    assert (_stream(it) != [None]) == is_of_requests


STREAMS = {
    "TCP": listener("s", 9000, "TCP"),
    "UDP": listener("s", 9000, "UDP"),
    "TLS": listener("s", 9000, "TLS", "tls: {mode: Passthrough}"),
}
CORS = "cors: {allowOrigins: ['https://a.com']}"


@pytest.mark.parametrize("protocol", STREAMS)
def test_what_a_gateway_says_of_requests_is_told_where_it_has_streams(protocol: str) -> None:
    given = gateway_class() + gateway("gw", http(), STREAMS[protocol])
    port = "port: 80, protocol: UDP" if protocol == "UDP" else "port: 80"
    given += service("s1", port=port)
    given += stream_route(f"{protocol}Route", "r", "{name: s1, port: 80}")
    whole, own = policy("a", CORS, GATEWAY), policy("b", CORS, part(GATEWAY, "s"))
    it = world(given + whole)
    told = f"has no effect on {protocol} listeners, whose connections have no requests"
    assert f"spec.cors: {told}" in message(it, "a")
    assert (_leads_on(it, protocol), _accepted(it, "a")) == (True, "True")
    apply(it, own)
    closed = f"so all connections of its {protocol} listeners are closed"
    assert closed in message(it, "b")
    assert (_leads_on(it, protocol), _accepted(it, "b")) == (False, "False")
    assert told not in message(it, "a")
    delete(it, "SecurityPolicy", "b")
    apply(it, policy("a", f"{CORS}, {allowing('a')}", GATEWAY))
    closed = "spec.authorization: is not served for streams, so all connections of"
    assert f"{closed} {protocol} listeners are closed" in message(it, "a")
    assert (_leads_on(it, protocol), _accepted(it, "a")) == (False, "True")
    apply(it, gateway("gw", http()))
    assert "listeners" not in message(it, "a")


def _accepted(engine: Engine, name: str) -> str:
    found = engine.answer(STATUSES["SecurityPolicy"], key(name))
    assert isinstance(found, PolicyStatus)
    return found.ancestors[0].conditions[0].status


def _leads_on(engine: Engine, protocol: str) -> bool:
    name = "https-9000" if protocol == "TLS" else f"{protocol.lower()}-9000"
    at = nodes.HostKey(DEFAULT_FLEET, name, "*")
    found = engine.ask(gateway_hosts.stream_of, at)
    return [it.cluster for it in found.shares] != [None]


def _stream(engine: Engine) -> list[nodes.Cluster | None]:
    at = nodes.HostKey(DEFAULT_FLEET, "tcp-9000", "*")
    found = engine.ask(gateway_hosts.stream_of, at)
    return [it.cluster for it in found.shares]


def test_hosts_of_other_listeners_and_apis_stay_as_they_are() -> None:
    two = gateway("gw", http("a", host("a.com")), http("b", host("b.com")))
    given = gateway_class() + two + service("s1") + route("r", hosts=("a.com", "b.com"))
    it = world(given + policy("p", CLOSING["oidc.clientSecret"], part(GATEWAY, "a")))
    assert (applied(it, "a.com"), applied(it, "b.com")) == (["p 500"], [""])


def test_an_edit_of_issuers_changes_no_route() -> None:
    keys = '{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}'
    text = "jwt: {providers: [{name: a, issuer: %s, localJWKS: {type: Inline, inline: '%s'}}]}"
    it = world(GIVEN + route("r") + policy("a", text % ("one", keys), GATEWAY))
    before = served(it)
    apply(it, policy("a", text % ("two", keys), GATEWAY))
    assert served(it) is before


OVERRIDDEN = ["Accepted", "Overridden"]


def overriders(engine: Engine, name: str) -> str:
    """What a policy is told of more specific ones."""
    found = engine.answer(STATUSES["SecurityPolicy"], key(name))
    assert isinstance(found, PolicyStatus)
    told = [it.message for it in found.ancestors[0].conditions if it.type == "Overridden"]
    return told[0].rpartition(": ")[2] if told else ""


def test_who_is_overridden_is_told_by_whom() -> None:
    rules = (to("s1", "name: one"), to("s2", "matches: [{path: {value: /b}}], name: two"))
    it = world(GIVEN + route("r", *rules) + policy("gw", allowing("gw"), GATEWAY))
    assert overriders(it, "gw") == ""
    apply(it, policy("lis", allowing("lis"), part(GATEWAY, "http")))
    assert overriders(it, "gw") == "default/lis"
    apply(it, policy("route", allowing("route")))
    assert told(it, "gw") == told(it, "lis") == {"gw": OVERRIDDEN}
    assert overriders(it, "gw") == "default/lis, default/route"
    assert overriders(it, "lis") == "default/route"
    apply(it, policy("rule", allowing("rule"), part(ROUTE, "two")))
    assert overriders(it, "route") == "default/rule"
    assert overriders(it, "lis") == "default/route, default/rule"
    assert overriders(it, "rule") == ""
    for name in ("rule", "route", "lis"):
        delete(it, "SecurityPolicy", name)
    assert told(it, "gw") == {"gw": ["Accepted"]}


def test_who_is_for_a_part_that_is_not_there_overrides_nothing_and_is_not_overridden() -> None:
    gone = policy("rule", allowing("rule"), part(ROUTE, "gone"))
    gone += policy("lis", allowing("lis"), part(GATEWAY, "gone"))
    it = world(GIVEN + route("r") + gone + policy("gw", allowing("gw"), GATEWAY))
    assert (overriders(it, "gw"), overriders(it, "lis")) == ("", "")
    apply(it, policy("route", allowing("route")))
    assert (overriders(it, "gw"), overriders(it, "lis")) == ("default/route", "")
    assert overriders(it, "route") == ""


def test_a_policy_for_a_route_and_its_rule_is_not_overridden_by_itself() -> None:
    it = world(GIVEN + route("r", to("s1", "name: one")))
    apply(it, policy("both", allowing("a"), ROUTE, part(ROUTE, "one")))
    assert told(it, "both") == {"gw": ["Accepted"]}


def test_policies_of_routes_elsewhere_override_nothing() -> None:
    two = gateway("gw", http("a", host("a.com")), http("b", host("b.com"))) + gateway("other")
    given = gateway_class() + two + service("s1") + policy("p", allowing("p"), part(GATEWAY, "a"))
    given += policy("q", allowing("q"))
    it = world(given + route("r", parents="{name: gw, sectionName: b}"))
    assert overriders(it, "p") == ""
    apply(it, route("r", parents="{name: other}"))
    assert overriders(it, "p") == ""
    apply(it, route("r", parents="{name: gw, sectionName: a}"))
    assert overriders(it, "p") == "default/q"
    apply(it, route("r", parents="{name: gw}"))
    assert overriders(it, "p") == "default/q"


def test_who_is_beaten_by_an_older_one_is_not_told_of_specific_ones() -> None:
    old, young = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    both = policy("a", allowing("a"), GATEWAY, created=young)
    both += policy("b", allowing("b"), GATEWAY, created=old)
    it = world(GIVEN + route("r") + both + policy("c", allowing("c")))
    assert (overriders(it, "a"), overriders(it, "b")) == ("", "default/c")


def test_of_many_overriders_no_names_are_told() -> None:
    targets = {f"p{it}": ROUTE.replace("name: r", f"name: r{it}") for it in range(17)}
    text = "".join(policy(name, allowing("x"), target) for name, target in targets.items())
    text += "".join(route(f"r{it}") for it in range(17))
    it = world(GIVEN + policy("gw", allowing("gw"), GATEWAY) + text)
    assert overriders(it, "gw") == "many more specific ones"
    delete(it, "SecurityPolicy", "p3")
    assert len(overriders(it, "gw").split(", ")) == 16
