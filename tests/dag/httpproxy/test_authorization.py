"""Who is asked whether requests may pass: by hosts, by routes, and by the configuration for all."""

from dataclasses import replace
from typing import Any

import pytest

from crds.meta import NamespacedName
from dag import nodes
from tests.dag.httpproxy import served
from tests.dag.httpproxy.manifests import configuration, extension, on, root, services, to
from tests.dag.world import apply, messages, problems, routes, world

SERVICES = services("s1", "s2", "s3")
CLUSTER = nodes.ExtensionCluster(
    NamespacedName("default", "auth"),
    (nodes.WeightedPort(nodes.ServicePort(NamespacedName("default", "s3"), 80)),),
    "h2c",
)
ASKED = nodes.Authorization(CLUSTER, authority="extension.default.auth")


def host(authorization: str, *written: str, name: str = "root", fqdn: str = "a.com") -> str:
    text = root(name, f"routes: [{', '.join(written) or to('s1')}]", fqdn=fqdn)
    return text.replace(f"fqdn: {fqdn}", f"fqdn: {fqdn}, authorization: {{{authorization}}}")


def asked(authorization: str, more: str = "") -> nodes.Authorization | nodes.Off | None:
    engine = world(SERVICES + extension("auth") + more + host(authorization))
    assert problems(engine, "HTTPProxy", "root") == []
    found = served.virtual_host(engine)
    return found.policies.authorization if found.policies else None


def with_(**changes: Any) -> nodes.Authorization:

    return replace(ASKED, **changes)


REF = "extensionRef: {name: auth}"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (REF, ASKED),
        ("extensionRef: {name: auth, namespace: default}, failOpen: true", with_(fail_open=True)),
        (f"{REF}, responseTimeout: 2s", with_(timeout=2.0)),
        (f"{REF}, authPolicy: {{disabled: true}}", nodes.OFF),
        (
            f"{REF}, authPolicy: {{context: {{b: '2', a: '1'}}}}",
            with_(context=(("a", "1"), ("b", "2"))),
        ),
        (
            f"{REF}, withRequestBody: "
            "{maxRequestBytes: 9, allowPartialMessage: true, packAsBytes: true}",
            with_(body=nodes.AuthorizationBody(9, allow_partial=True, as_bytes=True)),
        ),
        (
            f"{REF}, serviceType: http, httpSettings: {{pathPrefix: /check, "
            "allowedAuthorizationHeaders: [{prefix: X-, ignoreCase: true}], "
            "allowedUpstreamHeaders: [{exact: X-User}]}",
            with_(
                protocol="http",
                path_prefix="/check",
                request_headers=(nodes.ValueMatch("prefix", "X-", ignore_case=True),),
                upstream_headers=(nodes.ValueMatch("exact", "X-User"),),
            ),
        ),
    ],
)
def test_a_host_names_who_is_asked(written: str, expected: nodes.Authorization | nodes.Off) -> None:
    assert asked(written) == expected


def test_the_extension_says_how_long_it_may_take_and_what_it_is_called() -> None:
    rest = "timeoutPolicy: {response: 3s}, protocol: h2c"
    assert asked(REF, extension("auth", rest)) == with_(timeout=3.0)


def test_routes_add_to_what_is_told_or_do_without() -> None:
    engine = world(
        SERVICES
        + extension("auth")
        + host(
            f"{REF}, authPolicy: {{context: {{a: '1', b: '1'}}}}",
            on("/x", "s1", "authPolicy: {context: {b: '2'}}"),
            on("/free", "s1", "authPolicy: {disabled: true}"),
            to("s2"),
        )
    )
    found = served.virtual_host(engine)
    by_path = {str(it.match.path): it.policies for it in found.routes}
    assert by_path == {
        "Prefix(path='/x')": nodes.Policies(authorization=with_(context=(("a", "1"), ("b", "2")))),
        "Prefix(path='/free')": nodes.Policies(authorization=nodes.OFF),
        "Prefix(path='/')": None,
    }


@pytest.mark.parametrize(
    ("written", "reason", "where"),
    [
        ("extensionRef: {name: gone}", "ExtensionServiceNotFound", "extensionRef"),
        (
            "extensionRef: {name: auth, namespace: other}",
            "ExtensionServiceNotFound",
            "extensionRef",
        ),
        (
            "extensionRef: {name: auth, apiVersion: v9}",
            "AuthBadResourceVersion",
            "extensionRef.apiVersion",
        ),
        (f"{REF}, responseTimeout: 25h", "AuthResponseTimeoutInvalid", "responseTimeout"),
        (
            f"{REF}, serviceType: http, authPolicy: {{context: {{a: b}}}}",
            "AuthContextForHTTP",
            "authPolicy.context",
        ),
        (
            f"{REF}, serviceType: http, httpSettings: {{pathPrefix: check}}",
            "AuthBadPathPrefix",
            "httpSettings.pathPrefix",
        ),
        (
            f"{REF}, serviceType: http, httpSettings: {{allowedUpstreamHeaders: [{{exact: ''}}]}}",
            "AuthBadAllowedHeader",
            "httpSettings.allowedUpstreamHeaders[0]",
        ),
        (
            f"{REF}, serviceType: http, "
            "httpSettings: {allowedUpstreamHeaders: [{exact: Content-Length}]}",
            "AuthBadAllowedHeader",
            "httpSettings.allowedUpstreamHeaders[0].exact",
        ),
    ],
)
def test_who_cannot_be_asked_closes_the_host(written: str, reason: str, where: str) -> None:
    engine = world(SERVICES + extension("auth") + host(written))
    assert routes(engine, "a.com") == ["/ -> 503"]
    (told,) = messages(engine, "HTTPProxy", "root")
    assert told.startswith(f"AuthError/{reason}: spec.virtualhost.authorization.{where}: ")


@pytest.mark.parametrize(("repeating", "served"), [(20, "default/s1:80"), (200, "503")])
def test_the_text_that_routes_repeat_is_bounded(repeating: int, served: str) -> None:
    context = f"context: {{a: {'x' * 100_000}}}"
    theirs = [on(f"/{n}", "s1", "authPolicy: {context: {b: c}}") for n in range(repeating)]
    off = [on(f"/off/{n}", "s1", "authPolicy: {disabled: true}") for n in range(200)]
    written = host(f"{REF}, authPolicy: {{{context}}}", *theirs, *off)
    engine = world(SERVICES + extension("auth") + written)
    assert {it.rpartition(" -> ")[2] for it in routes(engine, "a.com")} == {served}
    closed = ["IncludeError/TooManyRoutes: spec: the host has more than 8 MiB of routes"]
    told = [it.partition(",")[0] for it in messages(engine, "HTTPProxy", "root")]
    assert told == (closed if served == "503" else [])


EVERYWHERE = configuration(
    "globalExtAuth: {extensionRef: {name: auth, namespace: default}, "
    "authPolicy: {context: {a: '1'}}}"
)
GLOBAL = with_(context=(("a", "1"),))
INGRESS = """
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: i}
spec:
  rules:
  - host: i.com
    http:
      paths: [{path: /, pathType: Prefix, backend: {service: {name: s1, port: {number: 80}}}}]
"""


def test_the_configuration_has_every_host_ask() -> None:
    engine = world(
        SERVICES
        + extension("auth")
        + EVERYWHERE
        + INGRESS
        + root("root", f"routes: [{to('s1')}]")
        + host("authPolicy: {context: {b: '2'}}", name="more", fqdn="b.com")
        + host("authPolicy: {disabled: true}", name="free", fqdn="c.com")
    )
    found = {
        it: served.virtual_host(engine, it).policies for it in ("i.com", "a.com", "b.com", "c.com")
    }
    assert found == {
        "i.com": nodes.Policies(authorization=GLOBAL),
        "a.com": nodes.Policies(authorization=GLOBAL),
        "b.com": nodes.Policies(authorization=with_(context=(("a", "1"), ("b", "2")))),
        "c.com": nodes.Policies(authorization=nodes.OFF),
    }
    assert problems(engine, "ContourConfiguration", "projectcontour/contour") == []


@pytest.mark.parametrize("written", ["", "failOpen: false", "authPolicy: {disabled: false}"])
def test_a_host_with_authorization_asks_where_the_configuration_has_nobody_asked(
    written: str,
) -> None:
    quiet = configuration(
        "globalExtAuth: {extensionRef: {name: auth, namespace: default}, "
        "authPolicy: {disabled: true}}"
    )
    assert asked(written, quiet) == ASKED


def test_every_host_is_closed_while_nobody_can_be_asked() -> None:
    engine = world(SERVICES + EVERYWHERE + INGRESS + root("root", f"routes: [{to('s1')}]"))
    assert routes(engine, "a.com") == routes(engine, "i.com") == ["/ -> 503"]
    assert messages(engine, "ContourConfiguration", "projectcontour/contour") == [
        "SpecError/UnresolvedReference: spec.globalExtAuth.extensionRef: ExtensionService "
        "default/auth not found"
    ]
    why = (
        "the authorization service of the configuration cannot be asked "
        "(spec.globalExtAuth.extensionRef: ExtensionService default/auth not found)"
    )
    assert messages(engine, "HTTPProxy", "root") == [
        f"AuthError/ExtensionServiceNotFound: spec.virtualhost.authorization: {why}; "
        "what it guards is answered with 503"
    ]
    assert messages(engine, "Ingress", "i") == [
        f"AuthError/ExtensionServiceNotFound: spec: {why}; every path is answered with 503"
    ]
    apply(engine, extension("auth"))
    assert routes(engine, "a.com") == ["/ -> default/s1:80"]
    assert problems(engine, "ContourConfiguration", "projectcontour/contour") == []
    assert [problems(engine, *it) for it in (("HTTPProxy", "root"), ("Ingress", "i"))] == [[], []]


def test_a_host_with_a_service_of_its_own_needs_nobody_else() -> None:
    proxy = host("extensionRef: {name: own}", on("/proxy", "s1"), fqdn="i.com")
    engine = world(SERVICES + extension("own") + EVERYWHERE + INGRESS + proxy)
    assert routes(engine, "i.com") == ["/proxy -> default/s1:80", "/ -> 503"]
    assert served.virtual_host(engine, "i.com").policies is not None
    assert problems(engine, "HTTPProxy", "root") == []


def test_who_changes_the_authorization_of_the_configuration_is_told_why_it_is_closed() -> None:
    engine = world(SERVICES + EVERYWHERE + host("authPolicy: {context: {a: '2'}}", to("s1")))
    assert routes(engine, "a.com") == ["/ -> 503"]
    (told,) = messages(engine, "HTTPProxy", "root")
    assert "ExtensionService default/auth not found" in told


@pytest.mark.parametrize(
    "written",
    [
        "authPolicy: {disabled: true}",
        "authPolicy: {context: {a: '2'}}",
        "extensionRef: {name: own}",
    ],
)
def test_an_httpproxy_decides_for_its_own_routes_who_is_asked(written: str) -> None:
    proxy = host(written, on("/proxy", "s1"), fqdn="i.com")
    engine = world(SERVICES + extension("auth") + extension("own") + EVERYWHERE + INGRESS + proxy)
    of_proxy, of_ingress = served.virtual_host(engine, "i.com").routes
    assert (of_proxy.policies, of_proxy.origin.kind) == (None, "HTTPProxy")
    assert of_ingress.policies == nodes.Policies(authorization=GLOBAL)


def test_a_host_that_is_closed_answers_nothing_of_its_own() -> None:
    """A direct response may be what the guard is for; to send a client elsewhere opens nothing."""
    answered = "{conditions: [{prefix: /told}], directResponsePolicy: {statusCode: 200}}"
    moved = "{conditions: [{prefix: /moved}], requestRedirectPolicy: {hostname: b.com}}"
    engine = world(SERVICES + EVERYWHERE + root("root", f"routes: [{answered}, {moved}]"))
    assert routes(engine, "a.com") == ["/moved -> 302 b.com", "/told -> 503"]


def test_a_host_that_opts_out_opens_no_route_of_another_api() -> None:
    proxy = host("authPolicy: {disabled: true}", on("/proxy", "s1"), fqdn="i.com")
    engine = world(SERVICES + EVERYWHERE + INGRESS + proxy)
    assert routes(engine, "i.com") == ["/proxy -> default/s1:80", "/ -> 503"]


OFF = "authPolicy: {disabled: true}"
ON = "authPolicy: {disabled: false}"


@pytest.mark.parametrize("configured", ["nobody", "somebody", "somebody who is gone"])
def test_who_has_nobody_asked_needs_nobody(configured: str) -> None:
    """Contour documentation, "External Authorization": a host may opt out."""
    everywhere = "" if configured == "nobody" else EVERYWHERE
    known = extension("auth") if configured == "somebody" else ""
    engine = world(SERVICES + known + everywhere + host(OFF))
    assert routes(engine, "a.com") == ["/ -> default/s1:80"]
    assert problems(engine, "HTTPProxy", "root") == []


def test_to_have_nobody_asked_any_more_is_no_outage() -> None:
    engine = world(SERVICES + extension("auth") + EVERYWHERE + host(OFF))
    apply(engine, configuration(""))
    assert routes(engine, "a.com") == ["/ -> default/s1:80"]
    assert problems(engine, "HTTPProxy", "root") == []


@pytest.mark.parametrize("written", [OFF, f"extensionRef: {{name: gone}}, {OFF}"])
def test_a_route_that_has_somebody_asked_again_is_closed_without_anybody(written: str) -> None:
    engine = world(SERVICES + host(written, on("/x", "s1", ON), on("/y", "s1", OFF), to("s2")))
    found = ["/y -> default/s1:80", "/x -> 503", "/ -> default/s2:80"]
    assert sorted(routes(engine, "a.com")) == sorted(found)
    told = messages(engine, "HTTPProxy", "root")
    expected = "AuthError/ExtensionServiceNotFound: spec.routes[0].authPolicy: turns authorization"
    assert any(it.startswith(expected) for it in told)
    apply(engine, extension("gone") + extension("auth") + EVERYWHERE)
    assert "/x -> default/s1:80" in routes(engine, "a.com")
    assert problems(engine, "HTTPProxy", "root") == []


def test_a_route_that_speaks_of_an_authority_that_nobody_has_is_told() -> None:
    text = root("root", f"routes: [{to('s1', 'authPolicy: {context: {a: b}}')}]")
    engine = world(SERVICES + text)
    assert routes(engine, "a.com") == ["/ -> default/s1:80"]
    (told,) = messages(engine, "HTTPProxy", "root")
    assert told.startswith("?SpecError/IgnoredField: spec.routes[0].authPolicy: has no effect")
