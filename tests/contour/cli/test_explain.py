"""`contour explain` of manifests; that of a running instance is in the end-to-end tests."""

import json

import pytest
from click.testing import CliRunner, Result

from contour.cli import main
from tests.dag.gateway.manifests import (
    gateway,
    gateway_class,
    host,
    http,
    https,
    listener,
    route,
    stream_route,
    to,
)
from tests.testbed import certificates, pairs

SERVICES = """
apiVersion: v1
kind: Service
metadata: {name: cart}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{name: http, port: 9103}]
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: team-b}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: empty}
spec: {ports: [{name: http, port: 80}]}
"""
PROXY = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: shop}
spec:
  virtualhost: {fqdn: shop.example.com}
  routes:
  - conditions: [{prefix: /cart}]
    services: [{name: cart, port: 80}]
"""
INGRESS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop}
spec:
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: cart, port: {name: htpp}}}}
"""
PER_GATEWAY = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec: {gateway: {mode: PerGateway, only: true}}
"""


def site(listener_: str, hosts: tuple[str, ...] = ("shop.example.com",)) -> str:
    """A Gateway with one listener, and an HTTPRoute."""
    routed = route("shop", to("cart"), hosts=hosts)
    return gateway_class() + gateway("gw", listener_) + routed


def stream(kind: str, listener_: str, hosts: str = "") -> str:
    """A Gateway with one listener, and a route for streams to a Service that is not there."""
    made = stream_route(kind, "shop", "{name: gone, port: 80}", hosts)
    return gateway_class() + gateway("gw", listener_) + made


GATEWAY = site(http(rest=host("*.example.org")))
ROUTE = site(http())
PASSTHROUGH = stream(
    "TLSRoute", listener("tls", 443, "TLS", "tls: {mode: Passthrough}"), "[shop.example.com]"
)
BY_TLS = site(https(secret="gone"))
POLICY = """
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: {name: logins}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}]
  basicAuth: {users: {name: gone}}
"""
TLS = PROXY.replace("{fqdn: shop.example.com}", "{fqdn: shop.example.com, tls: {secretName: tls}}")
OPAQUE = """
apiVersion: v1
kind: Secret
type: Opaque
metadata: {name: tls}
data: {}
"""

BROKEN = {
    "a typing error in a Service": (
        PROXY.replace("name: cart", "name: crat"),
        "answered 503 by Envoy",
        "HTTPProxy default/shop",
        "Service default/crat not found",
    ),
    "a wrong name of a port": (
        INGRESS,
        "answered 503 by Envoy",
        "Ingress default/shop",
        "has no port 'htpp'",
    ),
    "a missing grant": (
        ROUTE.replace("name: cart,", "name: cart, namespace: team-b,"),
        "answered 500 by Envoy",
        "HTTPRoute default/shop",
        "no ReferenceGrant in namespace team-b",
    ),
    "a host without any route": (
        PROXY.replace("[{prefix: /cart}]", "[{prefix: /cart}, {prefix: /b}]"),
        "answered 404 by Envoy: no route of the host shop.example.com takes the request",
        "HTTPProxy default/shop",
        "more than one of prefix, exact and regex",
    ),
    "an include that leads nowhere": (
        PROXY.replace(
            "  routes:", "  includes: [{name: nowhere, conditions: [{prefix: /cart}]}]\n  routes:"
        ).replace("- conditions: [{prefix: /cart}]", "- conditions: [{prefix: /other}]"),
        "answered 502 by Envoy",
        "HTTPProxy default/shop",
        "HTTPProxy default/nowhere not found",
    ),
    "a host that is taken": (
        f"{PROXY}---{PROXY.replace('name: shop', 'name: younger')}",
        "answered by Service default/cart:80",
        "HTTPProxy default/younger",
        "shop.example.com belongs to HTTPProxy default/shop",
    ),
    "a wrong class": (
        PROXY.replace("spec:", "spec:\n  ingressClassName: nginx", 1),
        "answered 404 by Envoy",
        "HTTPProxy default/shop",
        "nginx",
    ),
    "a hostname that does not fit the listener": (
        GATEWAY,
        "answered 404 by Envoy",
        "HTTPRoute default/shop",
        "none matches the hostname of a listener of Gateway default/gw",
    ),
    "a rule that is left out": (
        ROUTE.replace("backendRefs:", "matches: [{path: {type: Prefix}}], backendRefs:"),
        "answered 404 by Envoy",
        "HTTPRoute default/shop",
        "'Prefix' is none of Exact, PathPrefix",
    ),
    "a parent that is not there, of a route for every host": (
        site(http(), hosts=()).replace("parentRefs: [{name: gw}]", "parentRefs: [{name: wg}]"),
        "answered 404 by Envoy",
        "HTTPRoute default/shop",
        "Gateway default/wg not found",
    ),
    "a listener without its Secret": (
        BY_TLS,
        "no answer",
        "Gateway default/gw",
        "spec.listeners[0].tls.certificateRefs[0]: Secret default/gone not found",
    ),
    "a Secret of the wrong type": (
        f"{TLS}---{OPAQUE}",
        "no answer",
        "HTTPProxy default/shop",
        "Secret default/tls",
    ),
    "connections of a route that leads nowhere": (
        PASSTHROUGH,
        "no answer",
        "TLSRoute default/shop",
        "Service default/gone not found",
    ),
    "no endpoints": (
        PROXY.replace("name: cart", "name: empty"),
        "answered 503 by Envoy: no endpoint of Service default/empty is ready",
        "HTTPProxy default/shop",
        "",
    ),
    "no endpoints of a stream": (
        PASSTHROUGH.replace("name: gone", "name: empty"),
        "no answer: no endpoint of Service default/empty is ready",
        "TLSRoute default/shop",
        "Service default/empty has no ready endpoints: requests",
    ),
}


def explain(*arguments: str, manifests: str = "") -> Result:
    given = ("-f", "-") if manifests else ()
    return CliRunner(env={"COLUMNS": None}).invoke(
        main, ["explain", *arguments, *given], input=f"{SERVICES}---{manifests}"
    )


@pytest.mark.parametrize("name", BROKEN)
def test_the_first_line_names_the_cause_and_the_object(name: str) -> None:
    manifests, answer, subject, cause = BROKEN[name]
    scheme = "https" if "tls" in manifests else "http"
    result = explain(f"{scheme}://shop.example.com/cart", manifests=manifests)
    assert result.exit_code == 0, result.output
    first = result.stdout.splitlines()[0]
    assert first.startswith(answer)
    assert subject in first
    assert cause in first
    assert len(result.stdout.splitlines()) <= 25


def test_of_several_problems_none_is_called_the_cause() -> None:
    two = PROXY.replace("  routes:", "  includes: [{name: nowhere}, {name: gone}]\n  routes:")
    first, _, *told, _ = explain("http://shop.example.com/x", manifests=two).stdout.splitlines()[:5]
    assert first.endswith("no route of the host shop.example.com takes the request")
    assert all(name in line for name, line in zip(("nowhere", "gone"), told, strict=True))


_OTHERS = {
    "HTTPRoute": site(http()).replace(
        "rules: [",
        "rules: [{matches: [{path: {value: /broken}}], backendRefs: [{name: gone, port: 80}]}, ",
    ),
    "HTTPProxy": PROXY.replace(
        "  routes:",
        "  routes:\n  - conditions: [{prefix: /broken}]\n    services: [{name: gone, port: 80}]",
    ),
    "Ingress": INGRESS.replace("{name: htpp}", "{number: 80}").replace(
        "paths:",
        "paths:\n      - {path: /broken, pathType: Prefix,"
        " backend: {service: {name: gone, port: {number: 80}}}}",
    ),
}


@pytest.mark.parametrize("kind", _OTHERS)
def test_the_only_error_is_no_cause_where_it_is_about_another_rule(kind: str) -> None:
    manifests = _OTHERS[kind].replace("name: cart", "name: empty")
    first, *rest = explain("http://shop.example.com/cart", manifests=manifests).stdout.splitlines()
    assert first == "answered 503 by Envoy: no endpoint of Service default/empty is ready"
    assert "Service default/gone not found" in "".join(rest)
    first, *_ = explain("http://shop.example.com/broken", manifests=manifests).stdout.splitlines()
    assert f"{kind} default/shop: " in first
    assert "Service default/gone not found" in first


def test_of_several_errors_that_of_the_rule_is_the_cause() -> None:
    manifests = _OTHERS["HTTPProxy"].replace("name: cart", "name: lost")
    for path, own, other in (("broken", "gone", "lost"), ("cart", "lost", "gone")):
        url = f"http://shop.example.com/{path}"
        first, _, *rest = explain(url, manifests=manifests).stdout.splitlines()
        assert f"Service default/{own} not found" in first
        assert f"Service default/{other} not found" in rest[0]


def test_a_single_error_is_the_cause_beside_a_warning() -> None:
    both = BROKEN["a typing error in a Service"][0].replace(
        "name: shop", "name: shop, annotations: {projectcontour.io/nothing: x}", 1
    )
    first, _, told, _ = explain("http://shop.example.com/cart", manifests=both).stdout.splitlines()[
        :4
    ]
    assert "Service default/crat not found" in first
    assert "UnknownAnnotation" in told


def test_the_problem_of_a_policy_that_closes_a_route_is_told() -> None:
    lines = explain("http://shop.example.com/", manifests=f"{ROUTE}---{POLICY}").stdout.splitlines()
    assert lines[0].startswith("answered 500 by Envoy: SecurityPolicy default/logins: ")
    assert "spec.basicAuth.users: Secret default/gone not found" in lines[0]
    assert lines[2].startswith("  HTTPRoute default/shop: ")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_object_that_cannot_be_read_is_told_where_nobody_has_the_host(scheme: str) -> None:
    broken = PROXY.replace("conditions", "conditons").replace("name: shop", "name: new")
    other = PROXY.replace("shop", "other")
    last = explain(f"{scheme}://shop.example.com/", manifests=f"{broken}---{other}").stdout
    assert last.splitlines()[-1].startswith(
        "  -- host         HTTPProxy default/new: not served as it is written, so its hosts are "
        "not known: spec.routes[0].conditons: unknown field; did you mean conditions? (<stdin>:"
    )
    served = explain("http://other.example.com/cart", manifests=f"{broken}---{other}").stdout
    assert "default/new" not in served


TCP = stream("TCPRoute", listener("tcp", 9000, "TCP"))


@pytest.mark.parametrize(
    ("url", "manifests", "route"),
    [
        ("https://shop.example.com/", PASSTHROUGH, "TLSRoute"),
        ("tcp://shop.example.com:9000", TCP, "TCPRoute"),
    ],
)
def test_the_route_that_takes_a_connection_is_named(url: str, manifests: str, route: str) -> None:
    for backend in ("gone", "cart"):
        result = explain(url, manifests=manifests.replace("name: gone", f"name: {backend}"))
        assert f"ok route        {route} default/shop: takes" in result.stdout, result.output
        told = f"{route} default/shop" in result.stdout.splitlines()[0]
        assert told == (backend == "gone")


UDP = stream("UDPRoute", listener("udp", 9000, "UDP"))
DNS = """
---
apiVersion: v1
kind: Service
metadata: {name: dns}
spec: {ports: [{name: dns, port: 53, protocol: UDP}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: dns, labels: {kubernetes.io/service-name: dns}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{name: dns, port: 9053, protocol: UDP}]
"""


def test_packets_are_explained() -> None:
    url = "udp://shop.example.com:9000"
    to_dns = UDP.replace("{name: gone, port: 80}", "{name: dns, port: 53}") + DNS
    served = explain(url, manifests=to_dns).stdout
    assert served.startswith("forwarded to Service default/dns:53: Envoy forwards packets to UDP")
    assert "ok route        UDPRoute default/shop: takes every packet" in served
    lost = explain(url, manifests=UDP).stdout.splitlines()
    assert lost[0].startswith("no answer: no backend takes packets to UDP port 9000: they are")
    assert "dropped: UDPRoute default/shop: " in lost[0]
    both = to_dns.replace("{name: dns, port: 53}", "{name: gone, port: 80}, {name: dns, port: 53}")
    assert "-- backend      50% dropped: no Service" in explain(url, manifests=both).stdout


@pytest.mark.parametrize("scheme", ["tcp", "udp"])
def test_where_no_route_takes_a_port_its_routes_are_told_and_those_of_no_host(
    scheme: str,
) -> None:
    routed = {"tcp": TCP, "udp": UDP}[scheme]
    broken = routed.replace("parentRefs: [{name: gw}]", "parentRefs: [{name: wg}]")
    first = explain(f"{scheme}://shop.example.com:9000", manifests=f"{broken}---{INGRESS}").stdout
    assert first.splitlines()[0].startswith("no answer: ")
    assert f"{scheme.upper()}Route default/shop: " in first
    assert "Ingress default/shop" not in first


def test_backends_are_named_with_their_kinds() -> None:
    backend = """
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: Backend
metadata: {name: elsewhere}
spec: {endpoints: [{ip: {address: 10.9.9.9, port: 90}}]}
"""
    other = "{name: elsewhere, group: gateway.envoyproxy.io, kind: Backend}"
    both = TCP.replace("[{name: gone, port: 80}]", f"[{other}, {{name: cart, port: 80}}]")
    result = explain("tcp://shop.example.com:9000", manifests=f"{both}---{backend}")
    first = result.stdout.splitlines()[0]
    assert first.startswith("forwarded to Backend default/elsewhere:90, Service default/cart:80:")


def test_a_certificate_that_has_ended_is_named() -> None:
    ended = pairs.with_pair("tls", *pairs.pair(7, days=1))
    result = explain("https://shop.example.com/cart", manifests=f"{TLS}{ended}")
    assert "HTTPProxy default/shop" in result.stdout.splitlines()[0]
    assert "Secret default/tls" in result.stdout.splitlines()[0]


OF_INGRESS = INGRESS.replace(
    "spec:", "spec:\n  tls: [{secretName: tls, hosts: [shop.example.com]}]"
).replace("htpp", "http")


@pytest.mark.parametrize(
    ("manifests", "subject"),
    [
        (TLS, "HTTPProxy default/shop"),
        (OF_INGRESS, "Ingress default/shop"),
        (BY_TLS.replace("gone", "tls"), "Gateway default/gw"),
    ],
)
def test_a_certificate_that_clients_refuse_is_named(manifests: str, subject: str) -> None:
    url, told = "https://shop.example.com/cart", "the certificate in Secret default/tls is for "
    for name, is_refused in {"www.example.com": True, "*.example.com": False}.items():
        pair = pairs.of("tls", certificates.self_signed(name))
        first = explain(url, manifests=f"{manifests}---{pair}").stdout.splitlines()[0]
        assert first.startswith("answered by Service default/cart:80")
        assert (f"{subject}: " in first and f"{told}{name}, not for shop" in first) == is_refused


def test_what_serves_and_what_does_not_is_told_in_order() -> None:
    result = explain("http://shop.example.com/cart?a=1", manifests=f"{PROXY}---{INGRESS}")
    assert [it.split()[:2] for it in result.stdout.splitlines()[3:]] == [
        ["ok", "listener"],
        ["ok", "host"],
        ["ok", "route"],
        ["--", "backend"],
    ]
    assert "Service default/cart:80 as shop.example.com/cart?a=1: 127.0.0.1:9103" in result.stdout


EXTENSION = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour}
spec:
  extensions: [{name: headers, hooks: {post: [VirtualHost]}, service: {unix: /run/headers.sock}}]
"""


def test_what_extensions_may_change_is_not_evaluated_and_that_is_said() -> None:
    manifests = f"{PROXY}---{EXTENSION}"
    result = explain("http://shop.example.com/cart", manifests=manifests)
    assert "unless a guard refuses it" in result.stdout
    assert "what extensions change (headers) is not evaluated" in result.stdout


GUARDS = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour}
spec:
  gateway: {controllerName: projectcontour.io/gateway-controller}
  extensions:
  - name: guards
    hooks: {post: [Route]}
    resources: [{group: example.com, version: v1, kind: Guard}]
    service: {unix: /run/guards.sock}
---
{apiVersion: example.com/v1, kind: Guard, metadata: {name: own}}
"""
_ELSEWHERE = "{type: RequestRedirect, requestRedirect: {hostname: elsewhere.example.com}}"
_OWN = "{type: ExtensionRef, extensionRef: {group: example.com, kind: Guard, name: own}}"
OF_ROUTES = (
    GUARDS
    + gateway_class()
    + gateway("gw")
    + route(
        "site",
        f"{{matches: [{{path: {{value: /own}}}}], filters: [{_OWN}, {_ELSEWHERE}]}}",
        f"{{filters: [{_ELSEWHERE}]}}",
        hosts=("site.example.com",),
    )
)


@pytest.mark.parametrize(("path", "is_told"), [("/own", True), ("/", False)])
def test_a_route_that_an_extension_may_change_is_told_and_no_other(
    path: str, is_told: bool
) -> None:
    result = explain(f"http://site.example.com{path}", manifests=OF_ROUTES)
    words = "what an extension makes of Guard.example.com default/own is not evaluated"
    assert (words in result.stdout) == is_told, result.stdout


OVERRIDDEN = ROUTE + "".join(
    f"""
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: {{name: {name}}}
spec: {{targetRefs: [{{group: gateway.networking.k8s.io, kind: {target}}}], cors: {{}}}}
"""
    for name, target in (("own", "HTTPRoute, name: shop"), ("wide", "Gateway, name: gw"))
)


def test_the_policy_that_is_overridden_is_named_with_the_other_one() -> None:
    lines = explain("http://shop.example.com/", manifests=OVERRIDDEN).stdout.splitlines()
    assert lines.index(f"  -- route        {APPLIES}") + 1 == lines.index(
        f"  -- route        {LOSES}"
    )


OWN, WIDE = "SecurityPolicy default/own", "SecurityPolicy default/wide"
APPLIES = f"{OWN}: {OWN} applies to the route"
LOSES = f"{WIDE}: {WIDE} is overridden by {OWN}, which is for a nearer target"


def test_machines_get_the_same() -> None:
    result = explain("http://shop.example.com/cart", "-o", "json", manifests=PROXY)
    found = json.loads(result.stdout)
    assert found["answer"]["object"] == {
        "kind": "HTTPProxy",
        "namespace": "default",
        "name": "shop",
    }
    assert found["backends"][0]["endpoints"] == ["127.0.0.1:9103"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("http://a.example", "-H", "no name: 7"), "'no name: 7' is not a valid header name"),
        (("http://a.example", "-H", "a: b\nc: d"), "holds a line break or NUL"),
        (("http://a.example/a b",), "'http://a.example/a b' is no URL"),
        (("http://a.example/a\nb",), "'http://a.example/a\\nb' is no URL"),
        (("http://no host/",), "'http://no host/' is no URL"),
    ],
)
def test_requests_that_no_client_can_send_are_refused(
    arguments: tuple[str, ...], told: str
) -> None:
    result = explain(*arguments)
    assert (result.exit_code, told in result.stderr) == (2, True), result.output


def test_a_method_is_taken_as_it_is_written() -> None:
    told = explain("http://shop.example.com/cart", "-X", "get", manifests=PROXY).stdout
    assert told.startswith("answered 400 by Envoy: Envoy takes no get with a path over HTTP/1.1")


@pytest.mark.parametrize(
    "arguments",
    [
        ("ftp://shop.example.com",),
        ("http://",),
        ("http://shop.example.com:99999",),
        ("http://shop.example.com", "-X", "NO METHOD"),
        ("http://shop.example.com", "-H", "no header"),
        ("http://shop.example.com", "--from", "nowhere"),
        ("http://shop.example.com", "--state-dir", "/nowhere"),
    ],
)
def test_what_makes_no_sense_is_told_in_a_line(arguments: tuple[str, ...]) -> None:
    result = explain(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_what_cannot_be_read_changes_the_exit_code_and_not_the_format() -> None:
    result = explain("http://shop.example.com/cart", "-o", "json", manifests=f"{PROXY}---\na: [")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["url"] == "http://shop.example.com/cart"
    assert result.stderr.startswith("error: ")


@pytest.mark.parametrize("command", ["explain", "translate"])
def test_a_fleet_that_is_not_there_is_told_with_those_that_are(command: str) -> None:
    url = ("http://shop.example.com/cart",) if command == "explain" else ()
    result = CliRunner().invoke(main, [command, *url, "--fleet", "zz", "-f", "-"], input=PROXY)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--fleet: there is no fleet 'zz'; there are: contour" in result.stderr


def test_without_a_shared_fleet_one_has_to_be_chosen() -> None:
    manifests = f"{PER_GATEWAY}---{GATEWAY}"
    result = explain("http://shop.example.org/cart", manifests=manifests)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Error: there is no fleet 'contour'; choose with --fleet one of " in result.stderr
    name = result.stderr.split()[-1]
    assert explain("http://x.example.org/", "--fleet", name, manifests=manifests).exit_code == 0
