"""How requests are spread over endpoints, and which endpoints get any."""

import pytest

from dag import nodes
from tests.dag.httpproxy import served
from tests.dag.httpproxy.manifests import to


@pytest.mark.parametrize(
    ("strategy", "balancing"),
    [
        ("''", "RoundRobin"),
        ("RoundRobin", "RoundRobin"),
        ("Random", "Random"),
        ("WeightedLeastRequest", "WeightedLeastRequest"),
    ],
)
def test_the_plain_strategies(strategy: str, balancing: str) -> None:
    action = served.forward(to("s1", f"loadBalancerPolicy: {{strategy: {strategy}}}"))
    assert action.hash_policies == ()
    (backend,) = action.backends
    assert backend.cluster is not None
    assert backend.cluster.balancing == balancing


def hashed(policies: str) -> tuple[tuple[nodes.HashPolicy, ...], str, list[str]]:
    policy = f"loadBalancerPolicy: {{strategy: RequestHash, requestHashPolicies: [{policies}]}}"
    found, told = served.route(to("s1", policy))
    assert isinstance(found.action, nodes.Forward)
    cluster = found.action.backends[0].cluster
    assert cluster is not None
    return found.action.hash_policies, cluster.balancing, told


def test_a_cookie_keeps_a_client_with_its_endpoint() -> None:
    action = served.forward(to("s1", "loadBalancerPolicy: {strategy: Cookie}"))
    assert action.hash_policies == (
        nodes.HashPolicy("Cookie", "X-Contour-Session-Affinity", ttl=0.0, path="/"),
    )


def test_what_is_hashed_is_told_in_order() -> None:
    found, balancing, told = hashed(
        "{terminal: true, headerHashOptions: {headerName: X-User}}, "
        "{queryParameterHashOptions: {parameterName: Foo}}, {hashSourceIP: true}"
    )
    assert found == (
        nodes.HashPolicy("Header", "x-user", is_terminal=True),
        nodes.HashPolicy("Query", "Foo"),
        nodes.HashPolicy("SourceIp"),
    )
    assert (balancing, told) == ("RingHash", [])


@pytest.mark.parametrize(
    "bad",
    [
        "{}",
        "{hashSourceIP: true, headerHashOptions: {headerName: a}}",
        "{headerHashOptions: {headerName: 'a b'}}",
        "{headerHashOptions: {headerName: X-USER}}",
    ],
)
def test_a_source_that_is_not_clear_or_there_twice_is_left_out_and_told(bad: str) -> None:
    found, _, told = hashed(f"{{headerHashOptions: {{headerName: X-User}}}}, {bad}")
    assert found == (nodes.HashPolicy("Header", "x-user"),)
    (message,) = told
    assert message.startswith(
        "?SpecError/IgnoredField: spec.routes[0].loadBalancerPolicy.requestHashPolicies[1]: "
    )


@pytest.mark.parametrize("policies", ["", "{}"])
def test_without_a_source_the_strategy_is_the_default_one(policies: str) -> None:
    found, balancing, told = hashed(policies)
    assert (found, balancing) == ((), "RoundRobin")
    assert told[-1].endswith("nothing is hashed, so RoundRobin is used")


def test_a_strategy_that_nobody_knows_is_the_default_one_and_told() -> None:
    found, told = served.route(to("s1", "loadBalancerPolicy: {strategy: Fastest}"))
    assert isinstance(found.action, nodes.Forward)
    assert told == [
        "?SpecError/IgnoredField: spec.routes[0].loadBalancerPolicy.strategy: 'Fastest' is no "
        "strategy here, so RoundRobin is used"
    ]
