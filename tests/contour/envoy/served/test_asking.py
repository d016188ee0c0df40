"""Guards that ask others: authorization servers, keys of tokens, the rate limit service."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from envoy.config.core.v3 import base_pb2
from envoy.service.auth.v3.external_auth_pb2 import CheckResponse
from envoy.type.v3 import http_status_pb2

from crds.meta import ObjectRef
from dag import nodes
from dag.references import keysets
from tests.contour.envoy import proxies, world
from tests.contour.envoy.served.conftest import GRPC, HTTP, NOBODY, ONE, Served
from tests.testbed import tokens
from tests.testbed.patience import PATIENCE

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.asyncio(loop_scope="module"),
]

COUNTING = nodes.RateLimitService(GRPC, domain="shop", timeout=1.0)
FORWARD = world.forward(ONE)
ACTIONS: dict[str, nodes.Action] = {
    "forward": FORWARD,
    "redirect": nodes.Redirect(302, "https"),
    "respond": nodes.Respond(204),
}
ASKED = nodes.Authorization(GRPC, authority="auth.example", context=(("who", "route"),))
BY_HTTP = nodes.Authorization(
    HTTP,
    "http",
    timeout=2.0,
    path_prefix="/check",
    request_headers=(nodes.ValueMatch("prefix", "x-"),),
    upstream_headers=(nodes.ValueMatch("exact", "x-user"),),
)
PROVIDER = nodes.JwtProvider(
    "shop/front/local",
    nodes.LocalJwks(tokens.jwks()),
    "issuer",
    ("shop",),
    claim_headers=(("sub", "x-sub"),),
)
TOKEN = nodes.Policies(jwt=nodes.Jwt(PROVIDER.name))


def _descriptor(*entries: nodes.DescriptorEntry) -> nodes.Policies:
    return nodes.Policies(rate_limits=nodes.RateLimits((entries,)))


def hosts(served: Served) -> None:
    served.proxy.world.engine.write(world.RATE_LIMIT_SERVICES, (), COUNTING)
    asked = nodes.Policies(authorization=ASKED)
    for name, action in ACTIONS.items():
        served.serve(f"asked-{name}.test", world.route(action, policies=asked))
        served.serve(
            f"token-{name}.test",
            world.route(action, policies=TOKEN),
            jwt_providers=(PROVIDER,),
        )
    served.serve(
        "host.test",
        world.route(FORWARD, nodes.Exact("/off"), policies=nodes.Policies(authorization=nodes.OFF)),
        world.route(FORWARD, nodes.Exact("/http"), policies=nodes.Policies(authorization=BY_HTTP)),
        world.route(FORWARD),
        policies=asked,
    )
    inner = nodes.Policies(ip_filter=nodes.IpFilter("DENY", (nodes.IpRange("0.0.0.0/0"),)))
    served.serve(
        "routed.test",
        world.route(FORWARD, nodes.Exact("/inner"), policies=inner),
        world.route(FORWARD, policies=asked),
    )
    served.serve("listener.test", world.route(FORWARD))
    origin = ObjectRef("Gateway", "shop", "front")
    decided = nodes.ListenerFilter("front/0", "listener.test", (), ASKED, origin)
    at = nodes.ListenerKey(world.FLEET, world.PLAIN)
    served.proxy.world.engine.write(world.FILTERS, at, (decided,))
    every = replace(BY_HTTP, upstream_headers=(nodes.ValueMatch("contains", "-"),))
    served.serve("frame.test", world.route(FORWARD, policies=nodes.Policies(authorization=every)))
    body = nodes.Authorization(GRPC, body=nodes.AuthorizationBody(10))
    served.serve("body.test", world.route(FORWARD, policies=nodes.Policies(authorization=body)))
    short = replace(asked, body_limit=10)
    served.serve("short.test", world.route(FORWARD, policies=short))
    for name, fail_open in (("closed", False), ("open", True)):
        nobody = nodes.Authorization(NOBODY, fail_open=fail_open)
        served.serve(
            f"{name}.test", world.route(FORWARD, policies=nodes.Policies(authorization=nobody))
        )
    source = nodes.RemoteJwks("http://keys.test/")
    known = keysets.KeySet(tokens.jwks())
    keysets.write(served.proxy.world.engine, source, known)
    remote = nodes.JwtProvider("shop/front/remote", source, forward=True)
    served.serve(
        "remote.test",
        world.route(FORWARD, nodes.Exact("/off"), policies=nodes.Policies(jwt=nodes.OFF)),
        world.route(FORWARD),
        policies=nodes.Policies(jwt=nodes.Jwt(remote.name)),
        jwt_providers=(remote,),
    )
    unknown = nodes.Policies(jwt=nodes.Jwt("shop/front/none"))
    served.serve("unknown.test", world.route(FORWARD, policies=unknown))
    matched = nodes.HeaderMatch("x-kind", nodes.ValueMatch("exact", "bad"))
    for name, policies in {
        "fixed": _descriptor(nodes.GenericKey("too-often", "k")),
        "header": _descriptor(nodes.RequestHeader("x-who", "who"), nodes.RemoteAddress()),
        "matched": _descriptor(nodes.HeaderValueMatch((matched,), "too-often")),
        "unmatched": _descriptor(nodes.HeaderValueMatch((matched,), "too-often", expect=False)),
        "percent": _descriptor(nodes.GenericKey("100% %REQ(x-who)%")),
    }.items():
        served.serve(f"{name}.test", world.route(FORWARD, policies=policies))
    served.serve(
        "limited.test",
        world.route(FORWARD, nodes.Exact("/off"), policies=nodes.Policies(rate_limits=nodes.OFF)),
        world.route(FORWARD, nodes.Exact("/own"), policies=_descriptor(nodes.GenericKey("seldom"))),
        world.route(FORWARD),
        policies=_descriptor(nodes.GenericKey("too-often")),
    )


def _told(answer: proxies.Answer) -> dict[str, str]:
    assert answer.status == 200, answer
    found: dict[str, str] = json.loads(answer.body)["headers"]
    return found


@pytest.mark.parametrize("name", ACTIONS)
async def test_a_server_decides_whatever_the_action(envoy: Served, name: str) -> None:
    for answer in await envoy.ask_both(f"asked-{name}.test"):
        assert (answer.status, answer.body) == (401, "who are you?")
    for answer in await envoy.ask_both(f"asked-{name}.test", **{"x-let-me-in": "please"}):
        assert answer.status < 400


async def test_a_server_is_told_the_context_and_says_who_it_is(envoy: Served) -> None:
    answer = await envoy.ask("asked-forward.test", **{"x-let-me-in": "please"})
    assert _told(answer)["x-user"] == "somebody"
    asked = envoy.peers.authorized[-1].attributes
    assert dict(asked.context_extensions) == {"who": "route"}


async def test_a_host_is_guarded_and_a_route_may_differ(envoy: Served) -> None:
    assert (await envoy.ask("host.test")).status == 401
    assert (await envoy.ask("host.test", "/off")).status == 200
    assert (await envoy.ask("host.test", "/http")).status == 418


async def test_a_server_may_speak_http(envoy: Served) -> None:
    told = _told(await envoy.ask("host.test", "/http", **{"x-let-me-in": "please", "q": "1"}))
    assert told["x-user"] == "somebody"
    assert "x-secret" not in told
    asked = envoy.peers.visits[-1]
    assert (asked.path, asked.host) == ("/check/http", "host.test")
    assert asked.headers["x-let-me-in"] == "please"
    assert "q" not in asked.headers


async def test_a_server_changes_neither_the_length_of_a_request_nor_who_asks(
    envoy: Served,
) -> None:
    yes = {"x-let-me-in": "please", "x-frame": "please"}
    answer = await proxies.send(envoy.plain, "frame.test", "b" * 10, **yes)
    assert answer is not None
    told = _told(answer)
    assert (told["x-user"], told["content-length"]) == ("somebody", "10")
    assert "9.9.9.9" not in told["x-forwarded-for"]


@pytest.mark.parametrize("path", ["/", "/stream?seconds=0.1"])
async def test_a_server_does_not_cut_answers(envoy: Served, path: str) -> None:
    """A length of its own would make the rest the next answer on the connection."""
    yes = {"x-let-me-in": "please", "x-frame": "please"}
    honest = await envoy.ask("asked-forward.test", path, **{"x-let-me-in": "please"})
    answer = await envoy.ask("asked-forward.test", path, **yes)
    assert answer.headers["x-answer"] == "3"
    assert ("content-length" in answer.headers) == (path == "/")
    assert ("content-length" in honest.headers) == (path == "/")
    refused = await envoy.ask("asked-forward.test", path, **{"x-frame": "please"})
    assert (refused.status, refused.body) == (401, "who are you?")
    if path == "/":
        assert json.loads(answer.body)["backend"] == "one"
        assert int(answer.headers["content-length"]) == len(answer.body)


_NEXT = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


def _header(name: str, value: str) -> base_pb2.HeaderValueOption:
    action = base_pb2.HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD
    header = base_pb2.HeaderValue(key=name, value=value)
    return base_pb2.HeaderValueOption(header=header, append_action=action)


def _refusing(status: int, *headers: base_pb2.HeaderValueOption) -> CheckResponse:
    result = CheckResponse()
    result.status.code = 16
    result.denied_response.status.code = http_status_pb2.StatusCode.ValueType(status)
    result.denied_response.body = _NEXT
    result.denied_response.headers.extend(headers)
    return result


def _adding(*headers: base_pb2.HeaderValueOption) -> CheckResponse:
    result = CheckResponse()
    result.ok_response.response_headers_to_add.extend(headers)
    return result


async def _answered(envoy: Served, answer: CheckResponse, host: str) -> bytes:
    """What comes when the server answers this."""
    envoy.peers.answer = answer
    try:
        reader, writer = await proxies.connection(envoy.plain, None)
        writer.write(f"GET / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE):
            found = await reader.read()
        writer.close()
    finally:
        envoy.peers.answer = None
    return found


@pytest.mark.parametrize("host", ["asked-forward.test", "listener.test"])
@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (_refusing(401, _header("x-a", f"b\r\n\r\n{_NEXT}")), 500),
        (_refusing(401, _header("x-a: b\r\n\r\nx-b", "c")), 500),
        (_refusing(100), 403),
        (_refusing(199), 403),
        (_refusing(7), 403),
        (_refusing(600), 403),
        (_adding(_header("x-a", f"b\r\n\r\n{_NEXT}")), 500),
        (_adding(_header(":status", "204")), 500),
        (_adding(_header(":status", "100")), 500),
        (_adding(_header("content-length", "3"), _header("x-a", "b")), 200),
    ],
)
async def test_a_server_forges_no_other_answer(
    envoy: Served, answer: CheckResponse, status: int, host: str
) -> None:
    """Its text would be the next answer on the connection."""
    head, _, body = (await _answered(envoy, answer, host)).partition(b"\r\n\r\n")
    assert int(head.split()[1]) == status
    assert f"content-length: {len(body)}".encode() in head.splitlines()
    assert bool(body) == (status == 200)


async def test_a_server_sends_no_request_past_the_guards_of_another_route(envoy: Served) -> None:
    assert (await envoy.ask("routed.test", "/inner")).status == 403
    answer = CheckResponse()
    answer.ok_response.headers.extend((_header(":path", "/inner"), _header("x-a", "b")))
    found = await _answered(envoy, answer, "routed.test")
    told = json.loads(found.partition(b"\r\n\r\n")[2])
    assert (told["path"], told["headers"]["x-a"]) == ("/", "b")


async def test_a_server_may_see_the_body(envoy: Served) -> None:
    yes = {"x-let-me-in": "please"}
    answer = await proxies.send(envoy.plain, "body.test", "b" * 10, **yes)
    assert answer is not None
    assert answer.status == 200
    assert envoy.peers.authorized[-1].attributes.request.http.body == "b" * 10
    answer = await proxies.send(envoy.plain, "body.test", "b" * 11, **yes)
    assert answer is not None
    assert answer.status == 413


@pytest.mark.parametrize(("size", "status"), [(10, 200), (11, 413), (1000, 413)])
async def test_a_body_has_a_limit_also_while_a_server_decides(
    envoy: Served, size: int, status: int
) -> None:
    yes = {"x-let-me-in": "please"}
    answer = await proxies.send(envoy.plain, "short.test", "b" * size, **yes)
    assert answer is not None
    assert answer.status == status


async def test_a_server_that_is_not_there_closes_unless_it_is_to_open(envoy: Served) -> None:
    assert (await envoy.ask("closed.test")).status == 403
    assert (await envoy.ask("open.test")).status == 200


def _bearer(**claims: Any) -> dict[str, str]:
    return {"authorization": f"Bearer {tokens.token(**claims)}"}


@pytest.mark.parametrize("name", ACTIONS)
async def test_a_token_is_needed_whatever_the_action(envoy: Served, name: str) -> None:
    host = f"token-{name}.test"
    assert [it.status for it in await envoy.ask_both(host)] == [401, 401]
    for answer in await envoy.ask_both(host, **_bearer(aud="shop", sub="me")):
        assert answer.status < 400
    for wrong, status in (
        ({"aud": "other"}, 403),
        ({"aud": "shop", "iss": "other"}, 401),
        ({"aud": "shop", "exp": 1}, 401),
    ):
        assert (await envoy.ask(host, **_bearer(**wrong))).status == status, wrong


async def test_claims_become_headers_and_the_token_stays_here(envoy: Served) -> None:
    told = _told(await envoy.ask("token-forward.test", **_bearer(aud="shop", sub="me")))
    assert told["x-sub"] == "me"
    assert "authorization" not in told


async def test_keys_that_were_fetched_are_inline(envoy: Served) -> None:
    assert (await envoy.ask("remote.test")).status == 401
    answer = await proxies.until(envoy.plain, "remote.test", 200, **_bearer())
    assert _told(answer)["authorization"].startswith("Bearer ")
    assert (await envoy.ask("remote.test", "/off")).status == 200


async def test_a_provider_that_is_not_there_closes(envoy: Served) -> None:
    answers = await envoy.ask_both("unknown.test", **_bearer(aud="shop"))
    assert [it.status for it in answers] == [403, 403]


async def test_a_new_provider_drains_no_connection(envoy: Served) -> None:
    before = await envoy.proxy.counter("listener_manager.lds.update_success")
    another = nodes.JwtProvider("shop/front/late", nodes.LocalJwks(tokens.jwks()))
    policies = nodes.Policies(jwt=nodes.Jwt(another.name))
    route = world.route(nodes.Respond(204), policies=policies)
    envoy.serve("late.test", route, jwt_providers=(another,))
    await envoy.proxy.publish()
    await proxies.until(envoy.plain, "late.test", 401)
    await proxies.until(envoy.plain, "late.test", 204, **_bearer())
    envoy.proxy.world.no_host(world.PLAIN, "late.test")
    envoy.proxy.world.no_host(world.SECURE, "late.test")
    await envoy.proxy.publish()
    await proxies.until(envoy.plain, "late.test", 404)
    # The name on the TLS listener is a piece of its matcher, which drains nothing.
    assert await envoy.proxy.counter("listener_manager.lds.update_success") <= before + 2
    assert await envoy.proxy.counter("listener_manager.listener_added") == 2


@pytest.mark.parametrize(
    ("host", "headers", "status", "entries"),
    [
        ("fixed", {}, 429, [("k", "too-often")]),
        ("header", {"x-who": "me"}, 200, [("who", "me"), ("remote_address", "127.0.0.1")]),
        ("header", {"x-who": "too-often"}, 429, None),
        ("header", {}, 200, []),
        ("matched", {"x-kind": "bad"}, 429, [("header_match", "too-often")]),
        ("matched", {}, 200, []),
        ("unmatched", {}, 429, None),
        ("percent", {"x-who": "me"}, 200, [("generic_key", "100% %REQ(x-who)%")]),
    ],
)
async def test_descriptors_are_what_the_service_is_asked(
    envoy: Served,
    host: str,
    headers: dict[str, str],
    status: int,
    entries: list[tuple[str, str]] | None,
) -> None:
    envoy.peers.limited.clear()
    assert [it.status for it in await envoy.ask_both(f"{host}.test", **headers)] == [status] * 2
    found = [
        [(it.key, it.value) for it in asked.descriptors[0].entries] for asked in envoy.peers.limited
    ]
    if entries is not None:
        assert found == [entries] * 2 if entries else not found
        assert {it.domain for it in envoy.peers.limited} <= {"shop"}


async def test_a_route_may_have_limits_of_its_own_or_none(envoy: Served) -> None:
    assert (await envoy.ask("limited.test")).status == 429
    assert (await envoy.ask("limited.test", "/own")).status == 200
    envoy.peers.limited.clear()
    assert (await envoy.ask("limited.test", "/off")).status == 200
    assert not envoy.peers.limited
