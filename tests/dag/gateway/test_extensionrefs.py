"""Filters that are objects of their own: who resolves them, and what a rule does without them."""

import pytest

from dag.gateway import extensionrefs
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import gateway, gateway_class, on, route, service, to
from tests.dag.world import routes, world

GIVEN = gateway_class() + gateway("gw") + service("s1") + service("s2")
BOTH = ["Accepted", "ResolvedRefs=False/BackendNotFound", "PartiallyInvalid=True/UnsupportedValue"]


def named(kind: str, group: str = "gateway.envoyproxy.io") -> str:
    return f"{{type: ExtensionRef, extensionRef: {{group: {group}, kind: {kind}, name: it}}}}"


@pytest.mark.parametrize("kind", [kind for _, kind in extensionrefs.RESOLVERS])
def test_a_missing_filter_drops_its_rule_and_no_other(kind: str) -> None:
    filtered = f"{{matches: [{{path: {{value: /a}}}}], filters: [{named(kind)}]}}"
    it = world(GIVEN + route("r", filtered, to("s2")))
    assert routes(it, "*") == ["/a/... -> 500", "/ -> default/s2:80"]
    assert status_text.route(it, "r") == BOTH
    told = f"spec.rules[0].filters[0].extensionRef: {kind} default/it not found"
    assert all(told in message for message in status_text.route_messages(it, "r")[1:])


def test_where_no_rule_is_left_the_route_is_not_accepted() -> None:
    filtered = f"{{filters: [{named('AuthenticationFilter')}]}}"
    it = world(GIVEN + route("r", filtered))
    assert status_text.route(it, "r")[:2] == [
        "Accepted=False/UnsupportedValue",
        "ResolvedRefs=False/BackendNotFound",
    ]


def test_a_filter_of_another_namespace_is_not_found() -> None:
    elsewhere = (
        "---\n"
        "{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: RateLimitFilter, "
        "metadata: {name: it, namespace: other}, spec: {type: Global}}\n"
    )
    filtered = f"{{filters: [{named('RateLimitFilter')}]}}"
    it = world(GIVEN + elsewhere + route("r", filtered, to("s2")))
    assert status_text.route(it, "r") == BOTH


def test_without_a_rate_limit_service_a_rate_limited_rule_is_dropped() -> None:
    limits = (
        "---\n"
        "{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: RateLimitFilter, "
        "metadata: {name: it, namespace: default}, spec: {type: Global}}\n"
    )
    filtered = f"{{filters: [{named('RateLimitFilter')}]}}"
    it = world(GIVEN + limits + route("r", filtered, to("s2")))
    assert status_text.route(it, "r") == BOTH
    assert "the rate limit service is not enabled" in status_text.route_messages(it, "r")[1]


@pytest.mark.parametrize(
    "filter_", [named("AuthenticationFilter"), named("Auth", "example.com"), named("Service", "''")]
)
def test_on_a_backend_it_closes_the_rule(filter_: str) -> None:
    it = world(GIVEN + route("r", on("/a", f"{{name: s1, port: 80, filters: [{filter_}]}}")))
    assert routes(it, "*") == ["/a/... -> 500"]
    told = "spec.rules[0].backendRefs[0].filters[0].extensionRef: is served for whole rules only"
    assert told in status_text.route_messages(it, "r")[0]
