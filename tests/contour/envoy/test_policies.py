"""What routes are told of guards: enough, and nothing for nothing."""

from dataclasses import fields
from typing import Any

import pytest
from envoy.config.route.v3 import route_components_pb2 as pb
from envoy.config.route.v3 import route_pb2

from contour.envoy import virtual_hosts
from contour.envoy.guards import addresses, cors, csrf, policies, ratelimits, tokens
from crds.meta import ObjectRef
from dag import nodes

UNASKED = nodes.Policies(jwt=nodes.OFF, authorization=nodes.OFF, rate_limits=nodes.OFF)
FILTER = nodes.IpFilter("DENY", (nodes.IpRange("10.0.0.0/8"),))


@pytest.mark.parametrize(
    ("host", "told"),
    [
        (None, set()),
        (UNASKED, set()),
        (nodes.Policies(cors=nodes.Cors(())), set()),
        (nodes.Policies(jwt=nodes.Jwt("some")), {tokens.NAME}),
        (nodes.Policies(rate_limits=nodes.RateLimits(())), {ratelimits.GLOBAL}),
    ],
)
def test_a_route_turns_off_what_its_host_turns_on(
    host: nodes.Policies | None, told: set[str]
) -> None:
    assert _told_by_a_route(UNASKED, host) == told


def test_what_a_route_says_of_its_own_is_told_whatever_its_host_says() -> None:
    own = nodes.Policies(cors=nodes.OFF, ip_filter=FILTER)
    assert _told_by_a_route(own, None) == {addresses.NAME}
    assert _told_by_a_route(own, nodes.Policies(cors=nodes.Cors(()))) == {cors.NAME, addresses.NAME}


def test_every_guard_that_a_host_turns_on_is_turned_off_by_a_route() -> None:
    every = nodes.Policies(
        cors=nodes.Cors(()),
        csrf=nodes.Csrf(),
        ip_filter=FILTER,
        authentication=nodes.Authentication(ObjectRef("SecurityPolicy", "default", "some")),
        jwt=nodes.Jwt("some"),
        local_rate_limit=nodes.LocalRateLimit(1, "second"),
        body_limit=1,
        error_pages=(),
        session=nodes.SessionPersistence("session"),
    )
    names = {it.name for it in fields(nodes.Policies)} - {"limits"}  # of routes alone
    off: dict[str, Any] = dict.fromkeys(names, nodes.OFF)
    found = policies.needed(nodes.Policies(**off), every)
    assert (found.authorization, found.rate_limits) == (None, None)
    assert len(_told_by_a_route(nodes.Policies(**off), every)) == 9


def _told_by_a_route(own: nodes.Policies, host: nodes.Policies | None) -> set[str]:
    origin = ObjectRef("HTTPProxy", "default", "some")
    route = nodes.Route(nodes.Match(), nodes.Respond(200), origin, policies=own)
    node = nodes.VirtualHost("example.com", (route,), (origin,), policies=host)
    body = virtual_hosts.encoded(node, {})
    found = route_pb2.RouteConfiguration.FromString(body).virtual_hosts[0].routes[0]
    return set(found.typed_per_filter_config)


def test_what_one_host_is_told_is_no_part_of_another() -> None:
    one, other = pb.VirtualHost(), pb.VirtualHost()
    node = nodes.Policies(ip_filter=FILTER, csrf=nodes.Csrf())
    policies.write_policies(one, node, {})
    one.typed_per_filter_config[addresses.NAME].value = b"changed"
    policies.write_policies(other, node, {})
    assert set(other.typed_per_filter_config) == {addresses.NAME, csrf.NAME}
    assert other.typed_per_filter_config[addresses.NAME].value != b"changed"


CLIENTS = nodes.IpRange("10.0.0.0/8", "Remote")


def _counting(entry: nodes.CountedEntry) -> nodes.LocalLimits:
    return nodes.LocalLimits((nodes.LocalLimit(1, "Hour", (nodes.RequestHeader("a", "a"), entry)),))


@pytest.mark.parametrize(
    ("own", "of_host", "expected"),
    [
        (None, None, False),
        (nodes.Policies(ip_filter=FILTER), None, False),
        (nodes.Policies(ip_filter=nodes.IpFilter("DENY", (CLIENTS,))), None, True),
        (None, nodes.Policies(ip_filter=nodes.IpFilter("DENY", (CLIENTS,))), True),
        (
            nodes.Policies(ip_filter=nodes.OFF),
            nodes.Policies(ip_filter=nodes.IpFilter("DENY", (CLIENTS,))),
            False,
        ),
        (nodes.Policies(access=nodes.Access((nodes.AccessRule("ALLOW", ("GET",)),))), None, False),
        (
            nodes.Policies(access=nodes.Access((nodes.AccessRule("DENY", ranges=(CLIENTS,)),))),
            None,
            True,
        ),
        (nodes.Policies(local_rate_limit=nodes.LocalRateLimit(1, "second")), None, False),
        (nodes.Policies(local_rate_limit=_counting(nodes.QueryValue("a"))), None, False),
        (nodes.Policies(local_rate_limit=_counting(nodes.ClientRange("10.0.0.0/8"))), None, True),
        (
            nodes.Policies(
                limits=(nodes.Limit(ObjectRef("X", "a", "b"), "1", (nodes.RemoteAddress(),)),)
            ),
            None,
            True,
        ),
        (
            nodes.Policies(rate_limits=nodes.RateLimits(((nodes.RemoteAddress(),),))),
            nodes.Policies(rate_limits=nodes.OFF),
            True,
        ),
    ],
)
def test_which_guards_look_at_the_address_that_headers_give_a_client(
    own: nodes.Policies | None, of_host: nodes.Policies | None, expected: bool
) -> None:
    assert addresses.is_judged(own, of_host) is expected
