"""Requests that go to backends."""

from dataclasses import replace

import pytest
from envoy.config.route.v3 import route_components_pb2 as pb
from envoy.extensions.filters.http.lua.v3 import lua_pb2
from google.protobuf import json_format

from contour.envoy import forwarding
from contour.envoy.guards import cookies, sessions
from dag import nodes
from tests.contour.envoy import encoded, world

ONE, TWO = world.cluster("one"), world.cluster("two")


def _forward(*backends: nodes.Backend, **more: object) -> pb.Route:
    found: pb.Route = encoded.routes(world.route(nodes.Forward(backends, **more)))[0]  # type: ignore[arg-type]
    return found


def _shares(found: pb.Route) -> dict[str, int]:
    return {it.name: it.weight.value for it in found.route.weighted_clusters.clusters}


def test_a_single_backend_needs_no_weights() -> None:
    assert _forward(nodes.Backend(ONE, 7)).route.cluster == "one"


def test_weights_are_kept_and_a_weight_of_zero_takes_nothing() -> None:
    found = _forward(nodes.Backend(ONE, 3), nodes.Backend(TWO, 0), nodes.Backend(TWO, 1))
    assert _shares(found) == {"one": 3, "two": 1}


def test_weights_that_sum_to_more_than_envoy_takes_are_scaled_down() -> None:
    found = _forward(
        nodes.Backend(ONE, 2**32 - 2), nodes.Backend(TWO, 2**31), nodes.Backend(TWO, 1)
    )
    weights = [it.weight.value for it in found.route.weighted_clusters.clusters]
    assert sum(weights) <= 2**32 - 1
    assert weights[0] / weights[1] == pytest.approx(2)
    assert weights[2] == 1


def test_a_share_without_a_backend_is_answered_500() -> None:
    found = _forward(nodes.Backend(ONE, 1), nodes.Backend(None, 2))
    assert _shares(found) == {"one": 1, forwarding.NOWHERE: 2}
    assert found.route.cluster_not_found_response_code == pb.RouteAction.INTERNAL_SERVER_ERROR


def test_a_service_changes_an_attribute_of_a_cookie_in_place_of_its_route() -> None:
    own = nodes.Backend(ONE, cookies=(nodes.CookieRewrite("a", path="/own", secure=True),))
    found = _forward(own, cookies=(nodes.CookieRewrite("a", path="/route", same_site="Lax"),))
    written = lua_pb2.LuaPerRoute()
    share = found.route.weighted_clusters.clusters[0]
    assert share.typed_per_filter_config[cookies.NAME].Unpack(written)
    context = json_format.MessageToDict(written.filter_context)
    assert context == {"a": {"path": "/own", "secure": True, "same_site": "Lax"}}


@pytest.mark.parametrize(
    "backends",
    [
        (),
        (nodes.Backend(None),),
        (nodes.Backend(ONE, 0),),
        (nodes.Backend(None), nodes.Backend(ONE, 0)),
    ],
)
def test_without_any_backend_all_is_answered_500(backends: tuple[nodes.Backend, ...]) -> None:
    assert _forward(*backends).direct_response.status == 500


def test_a_share_is_told_how_its_sessions_are_kept() -> None:
    kept = nodes.SessionPersistence("s")
    found = _forward(nodes.Backend(ONE, session=kept))
    (share,) = found.route.weighted_clusters.clusters
    assert share.name == "one"
    assert sessions.NAME in share.typed_per_filter_config
    assert sessions.NAME not in found.typed_per_filter_config
    first, second = _forward(
        nodes.Backend(ONE, session=kept), nodes.Backend(TWO)
    ).route.weighted_clusters.clusters
    assert sessions.NAME in first.typed_per_filter_config
    assert not second.typed_per_filter_config


def test_headers_of_a_backend_change_only_its_share() -> None:
    policy = nodes.HeaderPolicy(set=(("x", "1"),))
    found = _forward(nodes.Backend(ONE, 1, request_headers=policy), nodes.Backend(TWO))
    first, second = found.route.weighted_clusters.clusters
    assert world.pairs(first.request_headers_to_add) == {"x": "1"}
    assert not second.request_headers_to_add


def test_no_timeout_is_not_a_timeout_of_zero() -> None:
    assert not _forward(nodes.Backend(ONE)).route.HasField("timeout")
    without = _forward(nodes.Backend(ONE), timeout=0.0, idle_timeout=0.0).route
    assert without.HasField("timeout")
    assert without.timeout.ToMicroseconds() == 0
    assert without.HasField("idle_timeout")
    assert _forward(nodes.Backend(ONE), timeout=1.5).route.timeout.ToMicroseconds() == 1_500_000


def test_retries_are_what_the_node_says() -> None:
    retry = nodes.Retry(("5xx", "retriable-status-codes"), 0, 0.25, (429,))
    found = _forward(nodes.Backend(ONE), retry=retry).route.retry_policy
    assert found.retry_on == "5xx,retriable-status-codes"
    assert found.HasField("num_retries")
    assert found.num_retries.value == 0
    assert found.per_try_timeout.ToMicroseconds() == 250_000
    assert list(found.retriable_status_codes) == [429]


def test_no_retries_are_no_policy() -> None:
    assert not _forward(nodes.Backend(ONE), retry=nodes.Retry((), 0)).route.HasField("retry_policy")


def test_websockets_are_an_upgrade_of_the_route() -> None:
    found = _forward(nodes.Backend(ONE), websockets=True)
    assert [it.upgrade_type for it in found.route.upgrade_configs] == ["websocket"]
    assert not _forward(nodes.Backend(ONE)).route.upgrade_configs


def test_a_host_comes_from_the_path_or_the_endpoint_and_the_backend_is_told_the_old_one() -> None:
    made = nodes.Substitution("^/(a)$", "\\1.b")
    found = _forward(
        nodes.Backend(ONE), rewrite=nodes.Rewrite(host_from_path=made, tells_host=True)
    ).route
    assert found.host_rewrite_path_regex.pattern.regex == "^/(a)$"
    assert found.host_rewrite_path_regex.substitution == "\\1.b"
    assert found.append_x_forwarded_host
    found = _forward(nodes.Backend(ONE), rewrite=nodes.Rewrite(host_of_endpoint=True)).route
    assert found.auto_host_rewrite.value
    assert not found.append_x_forwarded_host


def test_a_substitution_of_a_user_stays_as_it_is() -> None:
    made = nodes.Substitution("^/(a)", "/\\1\\\\")
    found = _forward(nodes.Backend(ONE), rewrite=nodes.Rewrite(path=made)).route
    assert found.regex_rewrite.pattern.regex == "^/(a)"
    assert found.regex_rewrite.substitution == "/\\1\\\\"


def test_headers_of_an_answer_come_before_those_of_its_route() -> None:
    policy = nodes.HeaderPolicy(set=(("x-a", "of the answer"),))
    body = nodes.Format(("100% ", nodes.Operator("REQ", "x-b")))
    route = world.route(nodes.Respond(404, body, policy))
    own = nodes.HeaderPolicy(set=(("x-a", "of the route"),))
    found = encoded.routes(replace(route, response_headers=own))[0]
    assert [it.header.value for it in found.response_headers_to_add] == [
        "of the answer",
        "of the route",
    ]
    answer = found.direct_response
    assert answer.body_format.text_format_source.inline_string == "100%% %REQ(x-b)%"
    assert not answer.HasField("body")
