"""How much text one route may make: what it and its policies say, for each match on each host."""

from time import process_time

import pytest

from dag import hosts, nodes
from dag.engine.incremental import Engine
from dag.engine.work import Work
from dag.fleetnames import DEFAULT_FLEET
from dag.plan import STATUSES
from dag.statuses import PolicyStatus, RouteStatus
from tests.dag.gateway.manifests import gateway, gateway_class, host, http, route, service, to
from tests.dag.world import apply, key, world

GIVEN = gateway_class() + gateway("gw") + service("s1") + service("s2")
OTHER = route("other", to("s2"), hosts=("other.com",))
HOSTS = tuple(f"h{n}.com" for n in range(16))
MATCHES = ", ".join(f"{{path: {{value: /p{n}}}}}" for n in range(64))
CALLS = ", ".join(f"{{method: {{service: p{n}}}}}" for n in range(64))
ROUTE = "{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}"
GATEWAY = "{group: gateway.networking.k8s.io, kind: Gateway, name: gw}"

_TEXT = "x" * 4000
_CIDRS = ", ".join(f"10.{n // 250}.{n % 250}.0/24" for n in range(4000))
ADDRESSES = (
    "authorization: {defaultAction: Deny,"
    f" rules: [{{action: Allow, principal: {{clientCIDRs: [{_CIDRS}]}}}}]}}"
)
_ORIGINS = ", ".join(f"'https://{n}.{_TEXT[:60]}.{_TEXT[:60]}.com'" for n in range(500))
ORIGINS = f"cors: {{allowOrigins: [{_ORIGINS}]}}"
_PAGE = f"response: {{body: {{type: Inline, inline: {_TEXT}}}}}"
_PAGES = (
    f"{{match: {{statusCodes: [{{type: Value, value: {500 + n}}}]}}, {_PAGE}}}" for n in range(20)
)
PAGES = f"responseOverride: [{', '.join(_PAGES)}]"
_HEADERS = ", ".join(f"{{name: h{n}, value: {_TEXT}}}" for n in range(16))
HEADERS = (
    f"filters: [{{type: RequestHeaderModifier, requestHeaderModifier: {{set: [{_HEADERS}]}}}}]"
)


def policy(spec: str, target: str = ROUTE, name: str = "p", kind: str = "SecurityPolicy") -> str:
    return (
        f"---\n{{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: {kind}, metadata: {{name: {name}"
        f", namespace: default}}, spec: {{targetRefs: [{target}], {spec}}}}}\n"
    )


def traffic(target: str) -> str:
    return policy(PAGES, target, kind="BackendTrafficPolicy")


def large(rest: str = "", names: tuple[str, ...] = HOSTS) -> str:
    """The route `r`, with 64 matches on each host."""
    return route("r", to("s1", f"matches: [{MATCHES}]{rest}"), hosts=names)


def answers(it: Engine, name: str) -> set[str]:
    """What the routes of a host do: the statuses of their answers, or the Service."""
    found = it.answer(hosts.virtual_host, nodes.HostKey(DEFAULT_FLEET, "ingress_http", name))
    assert found is not None
    return {_answer(each) for each in found.routes}


def _answer(found: nodes.Route) -> str:
    if isinstance(found.action, nodes.Respond):
        given = (found.policies, found.request_headers, found.response_headers)
        assert given == (None, None, None)
        return str(found.action.status)
    assert isinstance(found.action, nodes.Forward)
    return " ".join(each.cluster.port.owner.name for each in found.action.backends if each.cluster)


def told(it: Engine, kind: str, name: str) -> str:
    """The message of the first condition at the first Gateway."""
    found = it.answer(STATUSES[kind], key(name))
    if isinstance(found, RouteStatus):
        return found.parents[0].conditions[0].message
    assert isinstance(found, PolicyStatus)
    return found.ancestors[0].conditions[0].message


@pytest.mark.parametrize(
    ("rest", "policies", "kind"),
    [
        ("", policy(ADDRESSES), "SecurityPolicy"),
        ("", policy(ADDRESSES, GATEWAY), "SecurityPolicy"),
        ("", policy(ORIGINS), "SecurityPolicy"),
        ("", policy("mergeType: StrategicMerge") + policy(ORIGINS, GATEWAY, "q"), "SecurityPolicy"),
        ("", traffic(ROUTE), "BackendTrafficPolicy"),
        ("", traffic(GATEWAY), "BackendTrafficPolicy"),
        (f", {HEADERS}", "", ""),
    ],
    ids=[
        "addresses",
        "of a Gateway",
        "origins",
        "merged",
        "pages",
        "pages of a Gateway",
        "headers",
    ],
)
def test_a_route_that_makes_too_much_text_answers_an_error(
    rest: str, policies: str, kind: str
) -> None:
    it = world(GIVEN + OTHER + large(rest) + policies)
    assert [answers(it, name) for name in HOSTS] == [{"500"}] * len(HOSTS)
    assert answers(it, "other.com") == {"s2"}
    assert "answers an error" not in told(it, "HTTPRoute", "other")
    messages = [told(it, "HTTPRoute", "r"), *([told(it, kind, "p")] if kind else [])]
    for text in (
        "answers an error, because",
        "64 matches on each of 16 hosts",
        "32 MiB are the most",
    ):
        assert [text in message for message in messages] == [True] * len(messages), messages
    apply(it, large(rest, HOSTS[:2]))
    assert answers(it, HOSTS[0]) == {"s1"}
    messages = [told(it, "HTTPRoute", "r"), *([told(it, kind, "p")] if kind else [])]
    assert "answers an error" not in " ".join(messages)


def test_calls_that_are_closed_so_are_unavailable() -> None:
    calls = large().replace("HTTPRoute", "GRPCRoute").replace(MATCHES, CALLS)
    it = world(GIVEN + calls + policy(ADDRESSES, GATEWAY))
    assert answers(it, HOSTS[0]) == {"503"}


def test_a_route_with_a_policy_of_its_own_does_not_get_that_of_its_gateway() -> None:
    own = policy("cors: {allowOrigins: ['https://a.com']}", ROUTE, "own")
    it = world(GIVEN + large() + policy(ADDRESSES, GATEWAY) + own)
    assert answers(it, HOSTS[0]) == {"s1"}


def test_hosts_count_at_all_listeners() -> None:
    listeners = (http(f"l{n}", host(f"h{n}.com")) for n in range(16))
    it = world(GIVEN + gateway("gw", *listeners) + large(names=()) + policy(ADDRESSES, GATEWAY))
    assert [answers(it, name) for name in HOSTS] == [{"500"}] * len(HOSTS)


def test_what_is_closed_so_costs_little_and_an_edit_of_another_route_costs_nothing() -> None:
    large_ones = "".join(
        large(names=tuple(f"{n}-{name}" for name in HOSTS)).replace("name: r,", f"name: r{n},")
        for n in range(8)
    )
    it = world(GIVEN + OTHER + large_ones)
    began = process_time()
    apply(it, policy(ADDRESSES, GATEWAY))
    assert process_time() - began < 2
    assert "(and 5 more do so) answers an error" in told(it, "SecurityPolicy", "p")
    it.work = Work()
    apply(it, route("other", to("s1"), hosts=("other.com",)))
    assert it.work.runs < 20
