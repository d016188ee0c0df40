"""Whose address rules compare, where proxies forward that of the client."""

import pytest

from dag import nodes
from dag.evaluation import clients, evaluator
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer
from tests.dag.gateway.manifests import (
    configuration,
    gateway,
    gateway_class,
    http,
    https,
    route,
    service,
)
from tests.dag.gateway.test_clienttrafficpolicies import policy
from tests.dag.gateway.test_securitypolicies import policy as guarding
from tests.dag.world import FLEET, world
from tests.testbed import pairs

FORWARDED = "203.0.113.9, 203.0.113.10 ,10.0.0.7"


@pytest.mark.parametrize(
    ("at", "forwarded", "client"),
    [
        (nodes.ClientAddress(), FORWARDED, "127.0.0.1"),
        (nodes.ClientAddress(1), FORWARDED, "10.0.0.7"),
        (nodes.ClientAddress(2), FORWARDED, "203.0.113.10"),
        (nodes.ClientAddress(4), FORWARDED, "127.0.0.1"),
        (nodes.ClientAddress(1), "unknown", "127.0.0.1"),
        (nodes.ClientAddress(1), "", "127.0.0.1"),
        (nodes.ClientAddress(proxies=("10.0.0.0/8",)), FORWARDED, "127.0.0.1"),
        (nodes.ClientAddress(proxies=("127.0.0.0/8", "10.0.0.0/8")), FORWARDED, "203.0.113.10"),
        (nodes.ClientAddress(proxies=("0.0.0.0/0",)), FORWARDED, "203.0.113.9"),
        (nodes.ClientAddress(header="x-forwarded-for"), "203.0.113.9", "203.0.113.9"),
        (nodes.ClientAddress(header="x-client"), FORWARDED, "127.0.0.1"),
        (nodes.ClientAddress(header="x-client", fails_closed=True), FORWARDED, 403),
    ],
)
def test_a_client_is_found_as_envoy_finds_it(
    at: nodes.ClientAddress, forwarded: str, client: str | int
) -> None:
    headers = (("x-forwarded-for", forwarded),) if forwarded else ()
    found = clients.located(Request("a.com", headers=headers), at)
    if isinstance(found, Answer):
        assert found.status == client
        return
    assert (found.address("Remote"), found.address("Peer")) == (client, "127.0.0.1")


PROTO, OUTER, ID = "x-forwarded-proto", "x-envoy-external-address", "x-request-id"
HOPS, RANGES = nodes.ClientAddress(1), nodes.ClientAddress(proxies=("127.0.0.0/8",))


@pytest.mark.parametrize(
    ("at", "ids", "sent", "name", "seen"),
    [
        (nodes.ClientAddress(), None, (), PROTO, "http"),
        (nodes.ClientAddress(), None, ((PROTO, "https"),), PROTO, "http"),
        (HOPS, None, (), PROTO, "http"),
        (HOPS, None, ((PROTO, "https"),), PROTO, "https"),
        (RANGES, None, ((PROTO, "ftp"),), PROTO, "ftp"),
        (HOPS, None, ((OUTER, "1"),), OUTER, "127.0.0.1"),
        (RANGES, None, ((OUTER, "1"),), OUTER, "1"),
        (HOPS, None, (), ID, clients.SOME_ID),
        (HOPS, None, ((ID, "1"),), ID, "1"),
        (HOPS, "Generate", ((ID, "1"),), ID, clients.SOME_ID),
        (RANGES, "Generate", ((ID, "1"),), ID, "1"),
        (HOPS, "Preserve", (), ID, None),
        (HOPS, "Disable", ((ID, "1"),), ID, "1"),
    ],
)
def test_envoy_tells_of_a_client_and_believes_only_trusted_proxies(
    at: nodes.ClientAddress,
    ids: nodes.RequestId | None,
    sent: tuple[tuple[str, str], ...],
    name: str,
    seen: str | None,
) -> None:
    assert clients.with_client_headers(Request("a.com", headers=sent), at, ids).header(name) == seen


PLAIN = (
    "{matches: [{headers: [{name: x-forwarded-proto, value: http}]}], "
    "filters: [{type: RequestRedirect, requestRedirect: {scheme: https}}]}"
)
MOVED = (
    "{matches: [{path: {value: /old}}], filters: [{type: RequestRedirect, requestRedirect: "
    "{path: {type: ReplaceFullPath, replaceFullPath: /new}}}]}"
)


@pytest.mark.parametrize(
    ("trusting", "path", "told", "location"),
    [
        ("", "/", "", "https://a.com/"),
        ("", "/", "https", "https://a.com/"),
        (HOP := configuration("envoy: {network: {numTrustedHops: 1}}"), "/", "", "https://a.com/"),
        (HOP, "/", "https", ""),
        ("", "/old", "https", "http://a.com/new"),
        (HOP, "/old", "https", "https://a.com/new"),
        (HOP, "/old", "HTTPS", "https://a.com/new"),
        (HOP, "/old", "ftp", "http://a.com/new"),
    ],
)
def test_routes_and_redirects_see_the_scheme_that_a_trusted_proxy_tells(
    trusting: str, path: str, told: str, location: str
) -> None:
    given = gateway_class() + gateway("gw", http()) + service("s1") + trusting
    given += route("r", PLAIN, MOVED, "{backendRefs: [{name: s1, port: 80}]}", hosts=("a.com",))
    asked = Request("a.com", path, headers=((PROTO, told),) if told else ())
    assert evaluator.evaluate(world(given), FLEET, asked).answer.location == location


RULE = "{name: r, action: Allow, principal: {clientCIDRs: [203.0.113.10/32]}}"


@pytest.mark.parametrize(
    ("trusting", "is_secure"),
    [
        (policy("c", "clientIPDetection: {xForwardedFor: {numTrustedHops: 2}}"), True),
        (configuration("envoy: {network: {numTrustedHops: 2}}"), False),
        (configuration("envoy: {network: {numTrustedHops: 2}}"), True),
    ],
)
def test_a_rule_is_for_the_client_that_a_proxy_forwards(trusting: str, is_secure: bool) -> None:
    given = gateway_class() + gateway("gw", http(), https()) + pairs.secret("cert") + service("s1")
    given += guarding("p", f"authorization: {{defaultAction: Deny, rules: [{RULE}]}}") + route("r")
    headers = (("x-forwarded-for", FORWARDED),)
    port = 443 if is_secure else 80
    asked = Request("a.com", headers=headers, port=port, is_secure=is_secure)

    def steps(text: str) -> list[str]:
        found = evaluator.evaluate(world(text), FLEET, asked).steps
        return [it.text for it in found if it.text.startswith("authorization")]

    assert steps(given) == ["authorization: no rule is about the request"]
    assert steps(given + trusting) == ["authorization: rule 0 allows it"]
