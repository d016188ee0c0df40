"""What a later version of the API says: told, and never taken for something else."""

import pytest

from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    gateway,
    gateway_class,
    http,
    https,
    listener,
    listener_set,
    on,
    route,
    service,
    to,
    with_field,
)
from tests.dag.world import routes, world
from tests.testbed import pairs

GIVEN = gateway_class() + gateway("gw") + service("s1") + service("s2")
PARTLY = ["Accepted", "ResolvedRefs", "PartiallyInvalid=True/UnsupportedValue"]


@pytest.mark.parametrize(
    "match",
    [
        "{path: {type: Glob, value: '/*'}}",
        "{method: QUERY}",
        "{headers: [{name: a, value: b, type: Prefix}]}",
        "{queryParams: [{name: a, value: b, type: Prefix}]}",
    ],
)
def test_a_rule_with_a_match_that_is_not_known_takes_nothing(match: str) -> None:
    it = world(GIVEN + route("r", to("s1", f"matches: [{match}]"), on("/b", "s2")))
    assert routes(it, "*") == ["/b/... -> default/s2:80"]
    assert status_text.route(it, "r") == PARTLY
    assert status_text.route_messages(it, "r")[2].startswith(
        "Dropped Rule: spec.rules[0].matches[0]"
    )


@pytest.mark.parametrize(
    "filter_",
    [
        "{type: Cache}",
        "{type: RequestRedirect, requestRedirect: {scheme: h3}}",
        "{type: URLRewrite, urlRewrite: {path: {type: Regex}}}",
        "{type: CORS, cors: {allowMethods: [QUERY]}}",
    ],
)
def test_a_rule_with_a_filter_that_is_not_known_answers_an_error(filter_: str) -> None:
    rule = f"{{matches: [{{path: {{value: /a}}}}], filters: [{filter_}]}}"
    it = world(GIVEN + route("r", rule, to("s2")))
    assert routes(it, "*") == ["/a/... -> 500", "/ -> default/s2:80"]
    assert status_text.route(it, "r") == PARTLY


def test_a_listener_with_a_mode_that_is_not_known_is_not_served() -> None:
    odd = listener("odd", 443, "TLS", "tls: {mode: Reencrypt, certificateRefs: [{name: cert}]}")
    it = world(gateway_class() + gateway("gw", odd, http()) + pairs.secret("cert"))
    assert status_text.listener(it, "odd")[0] == "Accepted=False/UnsupportedValue"
    assert status_text.listener(it, "http")[0] == "Accepted"


def test_a_listener_with_namespaces_that_are_not_known_takes_no_route() -> None:
    odd = http("odd", "allowedRoutes: {namespaces: {from: Cluster}}")
    it = world(gateway_class() + gateway("gw", odd) + route("r") + service("s1"))
    assert status_text.listener(it, "odd")[0] == "Accepted=False/UnsupportedValue"
    assert status_text.route(it, "r")[0] == "Accepted=False/NotAllowedByListeners"


def test_a_gateway_with_namespaces_of_sets_that_are_not_known_takes_no_set() -> None:
    odd = gateway("gw", rest="allowedListeners: {namespaces: {from: Cluster}}")
    it = world(gateway_class() + odd + listener_set("s", http("x", port=81)))
    assert status_text.listener_set(it, "s")[0] == "Accepted=False/NotAllowed"
    assert status_text.gateway(it)[0] == "Accepted"
    assert (
        "allowedListeners.namespaces.from: 'Cluster' is none of"
        in status_text.gateway_messages(it)[0]
    )


def test_a_scope_of_default_gateways_that_is_not_known_has_no_effect() -> None:
    it = world(GIVEN + with_field(route("r"), "useDefaultGateways: Team"))
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]
    assert (
        "useDefaultGateways: 'Team' is none of All, None" in status_text.route_messages(it, "r")[0]
    )


def test_a_way_to_validate_clients_that_is_not_known_lets_nobody_in() -> None:
    validation = (
        "{mode: AllowSome, caCertificateRefs: [{group: '', kind: Secret, name: authority}]}"
    )
    frontend = f"tls: {{frontend: {{default: {{validation: {validation}}}}}}}"
    it = world(
        gateway_class()
        + gateway("gw", https(), rest=frontend)
        + pairs.secret("cert")
        + pairs.authority("authority")
    )
    assert status_text.listener(it, "https")[0] == "Accepted=False/UnsupportedValue"


@pytest.mark.parametrize("kind", ["Gateway", "Service"])
def test_a_parent_of_another_group_or_kind_is_not_ours(kind: str) -> None:
    parent = f"{{name: gw, group: example.com, kind: {kind}}}"
    it = world(GIVEN + route("r", parents=parent))
    assert status_text.route(it, "r") == []
