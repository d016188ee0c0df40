"""Values of headers: literal text, an allow-list of operators, and variables of ours."""

import pytest

from dag import nodes
from tests.dag.httpproxy import served
from tests.dag.httpproxy.manifests import to

REQ = nodes.Operator("REQ", "X-Id")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("100%", "100%"),
        ("%20 %zz% %()%", "%20 %zz% %()%"),
        ("%START_TIME%", "%START_TIME%"),
        ("%DYNAMIC_METADATA(a:b)%", "%DYNAMIC_METADATA(a:b)%"),
        ("%ENVIRONMENT(PATH)%", "%ENVIRONMENT(PATH)%"),
        ("%REQ(x)y)%", "%REQ(x)y)%"),
        ("%req(x)%", "%req(x)%"),
        ("%CONTOUR_SECRET%", "%CONTOUR_SECRET%"),
        ("in %CONTOUR_NAMESPACE%.", "in default."),
        ("%CONTOUR_SERVICE_NAME%:%CONTOUR_SERVICE_PORT%", "s1:80"),
        ("%REQ(X-Id)%", nodes.Format((REQ,))),
        ("a%REQ(X-Id)%b%", nodes.Format(("a", REQ, "b%"))),
        ("%HOSTNAME%", nodes.Format((nodes.Operator("HOSTNAME"),))),
        (
            "%CONTOUR_NAMESPACE%/%DOWNSTREAM_PEER_SUBJECT%",
            nodes.Format(("default/", nodes.Operator("DOWNSTREAM_PEER_SUBJECT"))),
        ),
    ],
)
@pytest.mark.parametrize("side", ["request", "response"])
def test_a_value_is_literal_but_for_what_is_on_the_list(
    text: str, value: nodes.Value, side: str
) -> None:
    policy = f"{side}HeadersPolicy: {{set: [{{name: X-A, value: '{text}'}}]}}"
    found, told = served.route(to("s1", policy))
    assert told == []
    assert isinstance(found.action, nodes.Forward)
    (backend,) = found.action.backends
    of_route, of_service = (
        (found.request_headers, backend.request_headers)
        if side == "request"
        else (found.response_headers, backend.response_headers)
    )
    policies = [it for it in (of_route, of_service) if it is not None]
    assert policies == [nodes.HeaderPolicy(set=(("x-a", value),))]


def test_a_service_has_headers_of_its_own_which_win_over_those_of_the_route_about_it() -> None:
    about = "{name: X-To, value: '%CONTOUR_SERVICE_NAME%'}"
    own = "requestHeadersPolicy: {set: [{name: x-to, value: me}], remove: [X-B]}"
    action = served.forward(
        f"{{services: [{{name: s1, port: 80, {own}}}, {{name: s2, port: 80}}], "
        f"requestHeadersPolicy: {{set: [{about}]}}}}"
    )
    first, second = action.backends
    assert first.request_headers == nodes.HeaderPolicy(set=(("x-to", "me"),), remove=("x-b",))
    assert second.request_headers == nodes.HeaderPolicy(set=(("x-to", "s2"),))


def test_where_no_service_is_asked_a_header_about_it_is_removed_and_told() -> None:
    found, told = served.route(
        "{directResponsePolicy: {statusCode: 200}, responseHeadersPolicy: "
        "{set: [{name: X-To, value: '%CONTOUR_SERVICE_NAME%'}, {name: X-A, value: a}]}}"
    )
    assert found.response_headers == nodes.HeaderPolicy(set=(("x-a", "a"),), remove=("x-to",))
    assert told == [
        "?SpecError/IgnoredField: spec.routes[0].responseHeadersPolicy.set: header X-To tells of "
        "a Service; the route has none, so it is removed instead"
    ]


@pytest.mark.parametrize(
    ("text", "rewrite"),
    [
        ("b.com", nodes.Rewrite(host="b.com")),
        ("%CONTOUR_NAMESPACE%.com", nodes.Rewrite(host="default.com")),
        ("%REQ(X-Host)%", nodes.Rewrite(host_header="x-host")),
    ],
)
def test_the_host_is_literal_or_the_value_of_one_header(text: str, rewrite: nodes.Rewrite) -> None:
    policy = f"requestHeadersPolicy: {{set: [{{name: Host, value: '{text}'}}]}}"
    assert served.forward(to("s1", policy)).rewrite == rewrite


def test_a_service_may_have_a_literal_host() -> None:
    policy = "requestHeadersPolicy: {set: [{name: Host, value: b.com}]}"
    (backend,) = served.forward(f"{{services: [{{name: s1, port: 80, {policy}}}]}}").backends
    assert (backend.host, backend.request_headers) == ("b.com", None)


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("route", "%REQ(X-Host)%.com"),
        ("route", "%HOSTNAME%"),
        ("service", "%REQ(X-Host)%"),
    ],
)
def test_any_other_host_is_refused(where: str, text: str) -> None:
    policy = f"requestHeadersPolicy: {{set: [{{name: Host, value: '{text}'}}]}}"
    route = (
        to("s1", policy)
        if where == "route"
        else f"{{services: [{{name: s1, port: 80, {policy}}}]}}"
    )
    (told,) = served.refusals(route)
    type_ = "RouteError" if where == "route" else "ServiceError"
    assert told.startswith(f"{type_}/RequestHeadersPolicyInvalid: spec.routes[0].")


FRAME = ("Content-Length", "content-length", "Transfer-Encoding", "Connection")
TOLD = ("X-Forwarded-For", "x-forwarded-proto", "X-Forwarded-Client-Cert", "X-Envoy-Internal")
OBEYED = ("X-Envoy-Max-Retries", "x-envoy-retry-on", "X-Contour-Routes")


@pytest.mark.parametrize("change", ["set: [{name: %s, value: '3'}]", "remove: [%s]"])
@pytest.mark.parametrize("where", ["route", "service"])
@pytest.mark.parametrize(
    ("side", "names"),
    [("request", (*FRAME, *TOLD, *OBEYED)), ("response", FRAME)],
)
def test_what_frames_a_message_or_is_believed_is_changed_by_nobody(
    side: str, names: tuple[str, ...], where: str, change: str
) -> None:
    for name in names:
        policy = f"{side}HeadersPolicy: {{{change % name}}}"
        service = f"{{services: [{{name: s1, port: 80, {policy}}}]}}"
        (told,) = served.refusals(to("s1", policy) if where == "route" else service)
        assert f"header {name!r} " in told
        assert told.endswith(" cannot be changed")


@pytest.mark.parametrize(
    ("side", "name"),
    [
        ("request", "X-Forwarded-Host"),
        ("request", "X-Envoy-Hostname"),
        ("response", "X-Forwarded-For"),
        ("response", "X-Envoy-Response-Flags"),
    ],
)
def test_names_that_are_like_those_are_users_own(side: str, name: str) -> None:
    _, told = served.route(to("s1", f"{side}HeadersPolicy: {{set: [{{name: {name}, value: a}}]}}"))
    assert told == []


@pytest.mark.parametrize(
    ("side", "of_route", "of_service"),
    [
        ("request", "RequestHeadersPolicyInvalid", "RequestHeadersPolicyInvalid"),
        ("response", "ResponseHeaderPolicyInvalid", "ResponseHeadersPolicyInvalid"),
    ],
)
def test_reasons_are_upstreams_where_the_header_is_written(
    side: str, of_route: str, of_service: str
) -> None:
    def told(value: str, *, on_route: bool) -> str:
        policy = f"{side}HeadersPolicy: {{set: [{{name: 'a b', value: '{value}'}}]}}"
        service = f"{{services: [{{name: s1, port: 80, {policy}}}]}}"
        (found,) = served.refusals(to("s1", policy) if on_route else service)
        return found.partition(": header")[0]

    at = f"spec.routes[0].%s{side}HeadersPolicy"
    assert told("x", on_route=True) == f"RouteError/{of_route}: {at % ''}"
    assert told("%CONTOUR_SERVICE_NAME%", on_route=True) == f"RouteError/{of_route}: {at % ''}"
    assert told("x", on_route=False) == f"ServiceError/{of_service}: {at % 'services[0].'}"
