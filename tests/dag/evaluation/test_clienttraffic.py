"""How the ClientTrafficPolicy of a listener has requests read, before they are routed."""

import pytest

from dag.evaluation import evaluator
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer
from tests.dag.gateway.manifests import gateway, gateway_class, http, https, on, route, service
from tests.dag.gateway.test_clienttrafficpolicies import policy
from tests.dag.world import FLEET, world
from tests.testbed import pairs

ON_HEADER = (
    "{matches: [{path: {value: /h}, headers: [{name: x-h, value: '1'}]}], "
    "filters: [{type: RequestRedirect, requestRedirect: {hostname: h.com}}]}"
)
GIVEN = gateway_class() + gateway("gw", http(), https()) + pairs.secret("cert") + service("s1")
GIVEN += route("r", ON_HEADER, on("/a/b", "s1"), on("/h", "s1"), hosts=("a.com",))

SET = "headers: {earlyRequestHeaders: {set: [{name: X-H, value: '1'}]}}"
ADD = "headers: {earlyRequestHeaders: {addIfAbsent: [{name: x-h, value: '1'}]}}"
REMOVE = "headers: {earlyRequestHeaders: {remove: [X-H]}}"
MATCH = "headers: {earlyRequestHeaders: {removeOnMatch: [{type: Suffix, value: -H}]}}"
IGNORE = "http1: {ignoredUpgradeTypes: [{type: Exact, value: Foo}]}"


def _answer(traffic: str, asked: Request) -> Answer:
    given = GIVEN + (policy("c", traffic) if traffic else "")
    return evaluator.evaluate(world(given), FLEET, asked).answer


@pytest.mark.parametrize("is_secure", [False, True])
@pytest.mark.parametrize(
    ("traffic", "path", "headers", "before", "after"),
    [
        ("path: {escapedSlashesAction: KeepUnchanged}", "/a%2fb", (), 307, 404),
        ("path: {escapedSlashesAction: UnescapeAndForward}", "/a%2fb", (), 307, 503),
        ("path: {escapedSlashesAction: RejectRequest}", "/a%2fb", (), 307, 400),
        ("path: {disableMergeSlashes: true}", "/a//b", (), 503, 404),
        ("headers: {withUnderscoresAction: Allow}", "/h", (("x_h", "1"),), 400, 503),
        ("headers: {withUnderscoresAction: DropHeader}", "/h", (("x_h", "1"),), 400, 503),
        ("healthCheck: {path: /up}", "/up", (), 404, 200),
        ("healthCheck: {path: /up}", "/x/../up", (), 404, 200),
        ("healthCheck: {path: /up}", "/up?now", (), 404, 404),
        (SET, "/h", (("x-h", "2"),), 503, 302),
        (ADD, "/h", (("x-h", "2"),), 503, 503),
        (ADD, "/h", (), 503, 302),
        (REMOVE, "/h", (("x-h", "1"),), 302, 503),
        (MATCH, "/h", (("x-h", "1"),), 302, 503),
        (IGNORE, "/h", (("connection", "upgrade"), ("upgrade", "foo")), 403, 503),
        (IGNORE, "/h", (("connection", "upgrade"), ("upgrade", "bar")), 403, 403),
    ],
)
def test_a_request_is_read_as_the_policy_of_its_listener_says(
    traffic: str,
    path: str,
    headers: tuple[tuple[str, str], ...],
    before: int,
    after: int,
    is_secure: bool,
) -> None:
    port = 443 if is_secure else 80
    asked = Request("a.com", path, headers=headers, port=port, is_secure=is_secure)
    assert _answer("", asked).status == before
    assert _answer(traffic, asked).status == after


def test_envoy_answers_health_checks_on_every_host_but_no_upgrade() -> None:
    check = "healthCheck: {path: /h}"
    assert _answer(check, Request("nobody.com", "/h", "POST")).status == 200
    switching = (("connection", "upgrade"), ("upgrade", "websocket"))
    assert _answer(check, Request("a.com", "/h", headers=switching)).status == 403


@pytest.mark.parametrize(
    ("traffic", "hides"),
    [
        ("", False),
        ("headers: {enableEnvoyHeaders: false}", True),
        ("headers: {enableEnvoyHeaders: true}", False),
        ("headers: {lateResponseHeaders: {removeOnMatch: [{type: Prefix, value: X-Envoy}]}}", True),
        ("headers: {lateResponseHeaders: {remove: [x-envoy]}}", False),
    ],
)
def test_whether_a_header_tells_that_a_backend_has_answered(traffic: str, hides: bool) -> None:
    assert _answer(traffic, Request("a.com", "/h")).hides_backends == hides
