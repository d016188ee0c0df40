"""The merge: which API wins a request for one host, and what no API can open."""

import pytest
import re2

from crds.meta import ObjectRef
from crds.records import replace
from dag import hosts, nodes
from dag.engine.incremental import Engine
from dag.engine.work import Work
from tests.dag import world
from tests.testbed import pairs

SERVICES = """
---
apiVersion: v1
kind: Service
metadata: {name: ingress}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: proxy}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: gateway}
spec: {ports: [{port: 80}]}
"""

GATEWAY = """
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: contour}
spec: {controllerName: projectcontour.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec: {gatewayClassName: contour, listeners: [{name: http, port: 80, protocol: HTTP}]}
"""


KEYS = """
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {jwks: '{"keys": [{"kty": "oct", "k": "c2VjcmV0", "alg": "HS256", "kid": "a"}]}'}
"""


def ingress(path: str, host: str = "app.example.com") -> str:
    backend = "backend: {service: {name: ingress, port: {number: 80}}}"
    return f"""
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: app}}
spec:
  rules: [{{host: '{host}', http: {{paths: [{{path: {path}, pathType: Prefix, {backend}}}]}}}}]
"""


def proxy(path: str, host: str = "app.example.com", more: str = "") -> str:
    return f"""
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: app}}
spec:
  virtualhost: {{fqdn: '{host}'{more}}}
  routes: [{{conditions: [{{prefix: {path}}}], services: [{{name: proxy, port: 80}}]}}]
"""


def route(path: str, host: str = "app.example.com") -> str:
    return f"""
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: app}}
spec:
  parentRefs: [{{name: edge}}]
  hostnames: ['{host}']
  rules: [{{matches: [{{path: {{value: {path}}}}}], backendRefs: [{{name: gateway, port: 80}}]}}]
"""


def _served(text: str, path: str) -> str:
    """Which backend a request for a path reaches, by the order in which Envoy tries the routes."""
    engine = world.world(SERVICES + text)
    key = nodes.HostKey("contour", "ingress_http", "app.example.com")
    found = engine.answer(hosts.virtual_host, key)
    assert found is not None
    for it in found.routes:
        if _takes(it.match.path, path):
            assert isinstance(it.action, nodes.Forward)
            cluster = it.action.backends[0].cluster
            assert cluster is not None
            return cluster.port.service.name
    return "nothing"


def _takes(match: nodes.Path, path: str) -> bool:
    match match:
        case nodes.Exact(text):
            return path == text
        case nodes.Prefix(text):
            return path.startswith(text)
        case nodes.Segments(text):
            return path == text or path.startswith(text + "/")
        case nodes.Regex(text):
            return bool(re2.fullmatch(text, path))


def test_httpproxy_beats_ingress_and_the_gateway_api_beats_both() -> None:
    assert _served(ingress("/"), "/") == "ingress"
    assert _served(ingress("/") + proxy("/"), "/") == "proxy"
    assert _served(ingress("/") + proxy("/") + GATEWAY + route("/"), "/") == "gateway"


def test_a_string_prefix_of_httpproxy_beats_the_same_prefix_of_ingress() -> None:
    both = ingress("/api") + proxy("/api")
    assert [_served(both, path) for path in ("/api", "/api/v1", "/apis")] == ["proxy"] * 3


def test_a_prefix_of_the_gateway_api_takes_its_path_elements_and_leaves_the_rest() -> None:
    both = proxy("/api") + GATEWAY + route("/api")
    assert [_served(both, path) for path in ("/api", "/api/v1", "/apis")] == [
        "gateway",
        "gateway",
        "proxy",
    ]


@pytest.mark.parametrize(
    "condition",
    ["method: POST", "header: {name: x-a, exact: b}", "queryParameter: {name: a, present: true}"],
)
@pytest.mark.parametrize(
    ("kind", "other"), [("Ingress", ingress("/api")), ("HTTPRoute", GATEWAY + route("/api"))]
)
def test_conditions_come_before_the_same_path_of_another_api(
    kind: str, other: str, condition: str
) -> None:
    narrow = proxy("/api").replace("{prefix: /api}", f"{{prefix: /api}}, {{{condition}}}")
    engine = world.world(SERVICES + other + narrow)
    key = nodes.HostKey("contour", "ingress_http", "app.example.com")
    found = engine.answer(hosts.virtual_host, key)
    assert found is not None
    assert [it.origin.kind for it in found.routes] == ["HTTPProxy", kind]


def test_routes_that_match_different_requests_all_serve() -> None:
    all_three = ingress("/") + proxy("/proxy") + GATEWAY + route("/gateway")
    assert [_served(all_three, path) for path in ("/", "/proxy/x", "/gateway", "/gatewayx")] == [
        "ingress",
        "proxy",
        "gateway",
        "ingress",
    ]


@pytest.mark.parametrize("limit", ["", ", maxRequestBytes: 1000"])
def test_an_ingress_takes_no_websockets_where_an_httpproxy_limits_requests(limit: str) -> None:
    """Envoy reads a request that is limited to its end, and that of a WebSocket has none."""
    sockets = "annotations: {projectcontour.io/websocket-routes: /ws}"
    other = ingress("/ws").replace("{name: app}", f"{{name: app, {sockets}}}", 1)
    it = world.world(SERVICES + other + proxy("/proxy", more=limit))
    key = nodes.HostKey("contour", "ingress_http", "app.example.com")
    found = it.answer(hosts.virtual_host, key)
    assert found is not None
    (action,) = (it.action for it in found.routes if it.origin.kind == "Ingress")
    assert isinstance(action, nodes.Forward)
    assert action.websockets is not bool(limit)


def test_a_guard_that_is_not_served_closes_the_host_for_every_api() -> None:
    guard = ", ipDenyPolicy: [{source: Peer, cidr: 10.0.0.0/8}, {source: Peer, cidr: x}]"
    engine = world.world(
        SERVICES + ingress("/") + proxy("/proxy", more=guard) + GATEWAY + route("/gateway")
    )
    key = nodes.HostKey("contour", "ingress_http", "app.example.com")
    found = engine.answer(hosts.virtual_host, key)
    assert found is not None
    assert {it.origin.kind for it in found.routes} == {"Ingress", "HTTPProxy", "HTTPRoute"}
    assert {it.action for it in found.routes} == {nodes.Respond(503)}


def test_the_guards_of_an_httpproxy_that_has_no_routes_hold_for_those_of_other_apis() -> None:
    guard = ", ipDenyPolicy: [{source: Peer, cidr: 10.0.0.0/8}]"
    bare = f"{proxy('/', more=guard).partition('  routes:')[0]}  routes: []\n"
    it = world.world(SERVICES + ingress("/") + bare)
    assert world.problems(it, "HTTPProxy", "app") == ["SpecError/NothingDefined"]
    assert world.routes(it, "app.example.com") == ["/ -> default/ingress:80"]
    found = it.answer(
        hosts.virtual_host, nodes.HostKey("contour", "ingress_http", "app.example.com")
    )
    assert found is not None
    denied = (nodes.IpRange("10.0.0.0/8", "Peer"),)
    assert found.policies == nodes.Policies(ip_filter=nodes.IpFilter("DENY", denied))


def test_a_default_provider_that_cannot_be_served_closes_the_routes_of_every_api() -> None:
    provider = "{name: p, default: true, localJWKS: {secretName: keys, key: jwks}}"
    it = world.world(
        SERVICES + ingress("/") + GATEWAY + route("/gateway")
        + proxy("/proxy", more=f", jwtProviders: [{provider}]")
    )  # fmt: skip
    closed = ["/gateway/... -> 503", "/proxy -> 503", "/ -> 503"]
    assert world.routes(it, "app.example.com") == closed
    world.apply(it, KEYS)
    assert world.routes(it, "app.example.com") == [
        "/gateway/... -> default/gateway:80",
        "/proxy -> default/proxy:80",
        "/ -> default/ingress:80",
    ]


@pytest.mark.parametrize(
    ("frontend", "expected"),
    [
        ("", "/proxy -> 503"),
        ("{kind: Secret, group: '', name: other}", "/proxy -> 503"),
        ("{kind: Secret, group: '', name: ca}", "/proxy -> default/proxy:80"),
    ],
)
def test_a_gateway_lets_nobody_past_the_client_certificates_of_an_httpproxy(
    frontend: str, expected: str
) -> None:
    validation = f"frontend: {{default: {{validation: {{caCertificateRefs: [{frontend}]}}}}}}"
    listener = "{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}"
    gateway = GATEWAY.replace(
        "{name: http, port: 80, protocol: HTTP}]",
        f"{listener}]" + (f", tls: {{{validation}}}" if frontend else ""),
    )
    asked = ", tls: {secretName: cert, clientValidation: {caSecret: ca}}"
    certificates = pairs.secret("cert") + pairs.authority("ca") + pairs.authority("other")
    engine = world.world(SERVICES + certificates + gateway + proxy("/proxy", more=asked))
    assert world.secure(engine, "app.example.com") == ["/proxy -> default/proxy:80"]
    world.apply(engine, route("/gateway"))
    assert expected in world.secure(engine, "app.example.com")
    told = world.problems(engine, "HTTPProxy", "app")
    assert told == (["TLSError/ClientValidationInvalid"] if "503" in expected else [])


@pytest.mark.parametrize("is_owned", [True, False])
def test_a_gateway_that_lets_anybody_in_at_an_alias_closes_the_routes_there(is_owned: bool) -> None:
    listener = "{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}"
    gateway = GATEWAY.replace("{name: http, port: 80, protocol: HTTP}]", f"{listener}]")
    tls = "tls: {secretName: cert, clientValidation: {caSecret: ca}}"
    aliased = proxy("/proxy", "main.example.com", f", aliases: [app.example.com], {tls}")
    older = "" if is_owned else _named("a-older", proxy("/older"))
    certificates = pairs.secret("cert") + pairs.authority("ca")
    it = world.world(SERVICES + certificates + gateway + route("/gateway") + aliased + older)
    assert ("/proxy -> 503" in world.secure(it, "app.example.com")) is is_owned
    assert world.secure(it, "main.example.com") == ["/proxy -> default/proxy:80"]
    told = "TLSError/ClientValidationInvalid"
    assert (told in world.problems(it, "HTTPProxy", "app")) is is_owned


def test_a_wildcard_stands_for_one_label_in_httpproxy_and_for_any_in_the_gateway_api() -> None:
    wildcard = "*.example.com"
    engine = world.world(
        SERVICES + proxy("/proxy", wildcard) + GATEWAY + route("/gateway", wildcard)
    )
    found = engine.answer(hosts.virtual_host, nodes.HostKey("contour", "ingress_http", wildcard))
    assert found is not None
    by_kind = {it.origin.kind: it.match.headers for it in found.routes}
    assert by_kind["HTTPRoute"] == ()
    (condition,) = by_kind["HTTPProxy"]
    assert condition.name == ":authority"
    for host, is_one in (
        ("a.example.com", True),
        ("A.Example.com:8080", True),
        ("a.b.example.com", False),
        ("aXexample.com", False),
        ("-.example.com", False),
    ):
        assert bool(re2.fullmatch(condition.value.value, host)) is is_one, host


def test_a_gateway_that_comes_and_goes_leaves_the_hosts_where_they_are() -> None:
    engine = world.world(SERVICES + proxy("/"))
    before = world.routes(engine, "app.example.com")
    world.apply(engine, GATEWAY)
    assert world.routes(engine, "app.example.com") == before
    world.delete(engine, "Gateway", "edge")
    assert world.routes(engine, "app.example.com") == before


def test_a_host_is_marked_behind_tls_while_its_certificate_is_missing() -> None:
    """So that no wider host takes its requests there."""
    it = world.world(SERVICES + proxy("/", more=", tls: {secretName: cert}"))
    key = nodes.HostKey("contour", "ingress_https", "app.example.com")
    assert it.answer(hosts.unserved_hosts, "app.example.com") == (key,)
    world.apply(it, pairs.secret("cert"))
    assert not it.answer(hosts.unserved_hosts, "app.example.com")
    world.delete(it, "Secret", "cert")
    world.delete(it, "HTTPProxy", "app")
    assert not it.answer(hosts.unserved_hosts, "app.example.com")


_CERTIFIED, _LACKING = ", tls: {secretName: there}", ", tls: {secretName: cert}"
_ASKED = "  tls: [{hosts: [app.example.com], secretName: SECRET}]\n"


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        (
            proxy("/admin", more=", tls: {secretName: gone}")
            + ingress("/") + _ASKED.replace("SECRET", "cert"),
            ["/admin -> 503", "/ -> default/ingress:80"],
        ),
        (
            proxy("/", more=", tls: {secretName: cert}")
            + ingress("/admin") + _ASKED.replace("SECRET", "gone"),
            ["/admin/... -> 503", "/ -> default/proxy:80"],
        ),
        (
            proxy("/", more=", tls: {secretName: cert}") + ingress("/admin"),
            ["/ -> default/proxy:80"],
        ),
    ],
)  # fmt: skip
def test_no_other_api_takes_over_tls_what_is_meant_for_one_that_asks_for_it_in_vain(
    objects: str, expected: list[str]
) -> None:
    it = world.world(SERVICES + pairs.secret("cert") + objects)
    assert world.secure(it, "app.example.com") == expected
    world.delete(it, "Secret", "cert")
    assert not world.secure(it, "app.example.com")


_BARE_PROXY = """
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: app}
spec: {virtualhost: {fqdn: app.example.com}, WRITTEN}
"""
_NO_PATH = "routes: [{conditions: [{prefix: x}], services: [{name: proxy, port: 80}]}]"
_NO_EXPRESSION = ingress("/(?!x).*").replace("Prefix", "ImplementationSpecific")


@pytest.mark.parametrize(
    "written",
    [
        _BARE_PROXY.replace("WRITTEN", "includes: [{name: gone}]"),
        _BARE_PROXY.replace("WRITTEN", _NO_PATH),
        _NO_EXPRESSION,
    ],
)
@pytest.mark.parametrize("has_tls", [False, True])
def test_no_wider_host_takes_the_requests_of_one_without_a_good_route(
    has_tls: bool, written: str
) -> None:
    if has_tls:
        written = written.replace("fqdn: app.example.com", "fqdn: app.example.com" + _CERTIFIED)
        written += _ASKED.replace("SECRET", "there") if "Ingress" in written else ""
    it = world.world(SERVICES + pairs.secret("there") + written)
    placed = it.answer(hosts.classic_hosts, "app.example.com")
    assert placed is not None
    assert len(placed) == 1 + has_tls
    for key in placed:
        found = it.answer(hosts.virtual_host, key)
        assert found is not None
        assert found.routes == ()


def _named(name: str, text: str) -> str:
    return text.replace("name: app}", f"name: {name}}}")


def _wider(host: str, served: str) -> str:
    return f"""
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: wider}}
spec: {{virtualhost: {{fqdn: '{host}'{served}}}, {_BACKEND}}}
"""


_PASSED_ON = ", tls: {passthrough: true}"
_BACKEND = "tcpproxy: {services: [{name: ingress, port: 80}]}"
_PASSED = "{name: tls, port: 443, protocol: TLS, hostname: '*.com', tls: {mode: Passthrough}}"


_WIDER = pytest.mark.parametrize(
    ("wider", "is_closed"),
    [
        ("", False),
        (ingress("/", "*.example.com"), False),
        (_named("wider", proxy("/", "*.example.com", _CERTIFIED)), False),
        (_named("a", proxy("/", "*.example.com", _CERTIFIED)) + _wider("*", _PASSED_ON), False),
        (_wider("*.example.com", _CERTIFIED), True),
        (_wider("*.com", _PASSED_ON), True),
        (_wider("*", _PASSED_ON), True),
        (_wider("*.example.com", _LACKING), True),
        (GATEWAY.replace("{name: http, port: 80, protocol: HTTP}", _PASSED), True),
    ],
)


@_WIDER
def test_no_wider_stream_takes_the_connections_of_a_host_whose_certificate_is_missing(
    wider: str, *, is_closed: bool
) -> None:
    it = world.world(SERVICES + pairs.secret("there") + wider + proxy("/", more=_LACKING))
    key = nodes.HostKey("contour", "ingress_https", "app.example.com")
    assert (it.answer(hosts.secure_host, key) == _closed()) is is_closed
    assert it.answer(hosts.unserved_hosts, key.host) == (() if is_closed else (key,))
    assert world.routes(it, key.host) == ["/ -> 503"]
    world.apply(it, pairs.secret("cert"))
    assert world.tls(it, key.host) == "default/cert 1.2-1.3"


@_WIDER
@pytest.mark.parametrize("secret", ["secretName: cert", ""])
def test_an_ingress_whose_certificate_is_missing_is_left_to_no_wider_host(
    wider: str, secret: str, *, is_closed: bool
) -> None:
    own = _secured(f"{{hosts: [app.example.com], {secret}}}")
    it = world.world(SERVICES + pairs.secret("there") + wider + own)
    key = nodes.HostKey("contour", "ingress_https", "app.example.com")
    closed = replace(_closed(), origins=(ObjectRef("Ingress", "default", "app"),))
    assert (it.answer(hosts.secure_host, key) == closed) is is_closed
    assert it.answer(hosts.unserved_hosts, key.host) == (() if is_closed else (key,))
    assert world.routes(it, key.host) == ["/ -> default/ingress:80"]
    world.apply(
        it, _secured("{hosts: [app.example.com]}, {hosts: [app.example.com], secretName: there}")
    )
    assert world.tls(it, key.host) == "default/there 1.2-1.3"
    assert not it.answer(hosts.unserved_hosts, key.host)


def _secured(tls: str) -> str:
    return ingress("/").replace("spec:", f"spec:\n  tls: [{tls}]")


@pytest.mark.parametrize(
    "broken",
    [
        _wider("app.example.com", _LACKING),
        _wider("app.example.com", _PASSED_ON).replace("name: ingress", "name: missing"),
        pairs.authority("ca")
        + proxy("/", more=", tls: {secretName: cert, clientValidation: {caSecret: ca}}"),
    ],
    ids=["its Secret", "its Service", "client certificates"],
)
def test_an_ingress_gets_no_connections_of_a_tcpproxy_or_past_client_certificates(
    broken: str,
) -> None:
    own = _secured("{hosts: [app.example.com], secretName: there}")
    it = world.world(SERVICES + pairs.secret("there") + own)
    assert world.tls(it, "app.example.com") == "default/there 1.2-1.3"
    world.apply(it, broken)
    key = nodes.HostKey("contour", "ingress_https", "app.example.com")
    found = it.answer(hosts.secure_host, key)
    assert found is not None
    assert found.stream == _closed().stream


_FALLBACK = """
---
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec: {httpproxy: {fallbackCertificate: {name: there, namespace: default}}}
"""
_EDITS = (
    ("wider", proxy("/", "*.example.com", _CERTIFIED)),
    ("wider", proxy("/x", "*.example.com", _CERTIFIED)),
    ("widest", proxy("/", "*", _CERTIFIED)),
    ("a", proxy("/", "a.com", ", tls: {secretName: there, enableFallbackCertificate: true}")),
    ("b", proxy("/", "b.com", ", tls: {secretName: there, enableFallbackCertificate: true}")),
    ("wider", _wider("*.org", _PASSED_ON)),
    ("wider", _wider("*.org", _PASSED_ON).replace("ingress", "proxy")),
)


def test_an_edit_of_a_wider_host_wakes_no_host_without_tls() -> None:
    def works(size: int) -> list[Work]:
        hosts = (_named(f"h{n}", proxy("/", f"h{n}.example.com", _LACKING)) for n in range(size))
        it = world.world(SERVICES + pairs.secret("there") + _FALLBACK + "".join(hosts))
        return [_work(it, _named(*edit)) for edit in _EDITS]

    assert works(3) == works(100)


def _work(it: Engine, edit: str) -> Work:
    it.work = Work()
    world.apply(it, edit)
    return it.work


def _closed() -> nodes.SecureHost:
    origins = (ObjectRef("HTTPProxy", "default", "app"),)
    return nodes.SecureHost(None, origins, nodes.Stream((nodes.WeightedCluster(None),)))
