"""What clients see in place of Envoy's own answers, as responseOverride and errorPages say."""

import pytest

from dag.evaluation import evaluator
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer
from tests.dag.gateway.manifests import gateway, gateway_class, on, route, service
from tests.dag.gateway.test_securitypolicies import policy as guarding
from tests.dag.gateway.test_trafficpolicies import policy
from tests.dag.world import FLEET, world

MOVED = (
    "{matches: [{path: {value: /moved}}], filters: [{type: RequestRedirect, "
    "requestRedirect: {hostname: b.com}}]}"
)
CHANGED = (
    "{matches: [{path: {value: /changed}}], backendRefs: [{name: s1, port: 80}], filters: ["
    "{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: x-a, value: '1'}]}}, "
    "{type: URLRewrite, urlRewrite: {hostname: c.com}}]}"
)
HALF = (
    "{matches: [{path: {value: /half}}], "
    "backendRefs: [{name: nowhere, port: 80}, {name: s1, port: 80}]}"
)
GIVEN = gateway_class() + gateway("gw") + service("s1")
GIVEN += route("r", MOVED, CHANGED, HALF, on("/empty", "s1"), hosts=("a.com",))
DENIED = guarding("d", "authorization: {defaultAction: Deny}")


def _page(status: int, more: str = "response: {statusCode: 531}", match: str = "") -> str:
    return f"{{match: {{statusCodes: [{{type: Value, value: {status}}}]{match}}}, {more}}}"


def _if(name: str, value: str) -> str:
    return f", responseHeaders: [{{name: {name}, value: {{type: Exact, value: '{value}'}}}}]"


def _answer(
    *pages: str, path: str, more: str = "", headers: tuple[tuple[str, str], ...] = ()
) -> Answer:
    request = Request("a.com", path, headers=headers)
    given = GIVEN + policy("p", f"responseOverride: [{', '.join(pages)}]") + more
    return evaluator.evaluate(world(given), FLEET, request).answer


@pytest.mark.parametrize(
    ("path", "pages", "status"),
    [
        ("/empty", [_page(503)], 531),
        ("/empty", [_page(502), _page(503), _page(503, "response: {statusCode: 532}")], 531),
        ("/empty", [_page(503, "source: Backend, response: {statusCode: 532}")], 503),
        ("/empty", [_page(503, "source: Local, response: {statusCode: 532}")], 532),
        ("/moved", [_page(302)], 531),
        ("/moved", [_page(302, match=_if("location", "http://b.com/moved"))], 531),
        ("/moved", [_page(302, match=_if("location", "http://b.com/"))], 302),
        ("/changed", [_page(503, match=_if("X-A", "1"))], 531),
        ("/changed", [_page(503, match=_if("X-A", "2"))], 503),
        ("/none", [_page(404)], 404),
    ],
)
def test_the_first_page_that_matches_replaces_envoys_answer(
    path: str, pages: list[str], status: int
) -> None:
    found = _answer(*pages, path=path)
    assert (found.status, found.may_be_refused) == (status, False)


def test_a_header_that_is_not_known_may_decide() -> None:
    unknown = _page(503, match=_if("content-type", "text/plain"))
    found = _answer(unknown, _page(503, "response: {statusCode: 532}"), path="/empty")
    assert (found.status, found.may_be_refused) == (532, True)


def test_a_guard_and_a_missing_backend_are_replaced_as_well() -> None:
    denied = _answer(_page(403), path="/empty", more=DENIED)
    assert (denied.status, bool(denied.cause)) == (531, True)
    half = _answer(_page(500), path="/half")
    assert [it.status for it in half.backends] == [531, 503]


def test_an_upgrade_is_refused_before_any_page() -> None:
    switching = (("connection", "upgrade"), ("upgrade", "a"))
    assert _answer(_page(403), path="/empty", headers=switching).status == 403


def test_an_answer_to_a_call_is_200_to_pages() -> None:
    call = (("content-type", "application/grpc"),)
    assert _answer(_page(503), path="/empty", headers=call).status == 503
    assert _answer(_page(200), path="/empty", headers=call).status == 531


@pytest.mark.parametrize(
    ("path", "redirect", "location"),
    [
        ("/empty?a", "", "http://a.com/empty?a"),
        ("/empty", "scheme: https, port: 8443, ", "https://a.com:8443/empty"),
        ("/changed?a", "", "http://a.com/changed?a"),
        ("/changed", "scheme: https, ", "https://a.com/changed"),
        (
            "/empty?a",
            "hostname: b.com, path: {type: ReplaceFullPath, replaceFullPath: /x}, ",
            "http://b.com/x",
        ),
    ],
)
def test_a_page_may_be_a_redirect(path: str, redirect: str, location: str) -> None:
    found = _answer(_page(503, f"redirect: {{{redirect}statusCode: 302}}"), path=path)
    assert (found.status, found.location) == (302, location)


def test_headers_of_the_route_stay_and_those_of_the_page_are_added() -> None:
    added = "response: {header: {set: [{name: X-B, value: '2'}]}, body: {inline: sorry}}"
    found = _answer(_page(503, added), path="/changed")
    headers = {"x-a": "1", "content-type": "text/plain", "x-b": "2"}
    assert (found.status, found.body) == (503, "sorry")
    assert {**headers, **dict(found.response_headers)} == headers


def test_a_page_in_place_of_an_answer_without_a_body_has_none() -> None:
    aborted = "responseOverride: [PAGE], faultInjection: {abort: {httpStatus: 204}}"
    spec = aborted.replace("PAGE", _page(204, "response: {body: {inline: sorry}}"))
    given = world(GIVEN + policy("p", spec))
    found = evaluator.evaluate(given, FLEET, Request("a.com", "/changed")).answer
    assert (found.status, found.body) == (204, "")
