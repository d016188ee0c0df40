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
