"""Each check on small worlds: what is found, and what must not be."""

import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding

from dag import tables
from dag.findings import Finding
from dag.findings.checks import CHECKS
from tests.dag import world
from tests.dag.gateway import manifests
from tests.testbed import certificates, pairs

SERVICE = """
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
"""


def proxy(*routes: str, name: str = "shop", tls: str = "", host: str = "") -> str:
    entries = "".join(f"  - {{services: [{{name: web, port: 80}}], {it}}}\n" for it in routes)
    return f"""
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: {name}}}
spec:
  virtualhost: {{fqdn: shop.example.com{f", tls: {tls}" if tls else ""}{host}}}
  routes:
{entries}"""


def prefix(path: str, more: str = "") -> str:
    return f"conditions: [{{prefix: {path}}}{more}]"


INGRESS = """
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: old}
spec:
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
"""
HEADER = ", {header: {name: x-user, exact: '7'}}"
PROVIDER = (
    ", jwtProviders: [{name: p, remoteJWKS: {uri: 'https://keys.example.com/k'}, default: true}]"
)
TLS = "{secretName: web}"


def secret(*names: str, name: str = "web") -> str:
    return pairs.of(name, certificates.self_signed(*names))


ODD = {
    "an algorithm that nobody knows": (
        bytes.fromhex("2a8648ce3d040302"), bytes.fromhex("2a8648ce3d040309"), 0,
    ),
    "a name that is no DNS name": (b"\x82\x05b.com", b"\xa3\x05b.com", 0),
    "names twice": (bytes.fromhex("551d61"), bytes.fromhex("551d11"), 1),
}  # fmt: skip
"""Certificates that are loaded and cannot be read as a whole: what is changed in an ordinary one,
and whether clients will refuse it."""


@pytest.mark.parametrize("name", ODD)
def test_a_certificate_that_cannot_be_read_as_a_whole_hides_nothing(name: str) -> None:
    before, after, refused = ODD[name]
    pair = certificates.self_signed("any", "shop.example.com", "b.com")
    other = x509.UnrecognizedExtension(x509.ObjectIdentifier("2.5.29.97"), b"")
    made = x509.CertificateBuilder(
        *(pair.certificate.issuer, pair.certificate.subject, pair.key.public_key(), 1),
        *(pair.certificate.not_valid_before_utc, pair.certificate.not_valid_after_utc),
        [*pair.certificate.extensions],
    ).add_extension(other, critical=False)
    der = made.sign(pair.key, hashes.SHA256()).public_bytes(Encoding.DER)
    assert before in der
    odd = ssl.DER_cert_to_PEM_cert(der.replace(before, after)).encode()
    text = pairs.with_pair("web", odd, pair.key_pem) + proxy(prefix("/"), tls=TLS)
    told = found(text + secret("shop.example.com", name="left"))
    wanted = ["CertificateForOtherHost HTTPProxy default/shop"] * refused
    assert told == [*wanted, "SecretUnused Secret default/left"]


CASES = {
    "a wider prefix is first": (
        proxy(prefix("/cart"), prefix("/cart", HEADER)), [],
    ),
    "a route of another API has the same match": (
        proxy(prefix("/")) + INGRESS, ["RouteShadowed Ingress default/old"],
    ),
    "an Ingress serves what is left": (
        proxy(prefix("/cart")) + INGRESS,
        ["HostShared HTTPProxy default/shop", "HostShared Ingress default/old"],
    ),
    "a certificate for another host": (
        secret("www.example.com") + proxy(prefix("/"), tls=TLS),
        ["CertificateForOtherHost HTTPProxy default/shop"],
    ),
    "a certificate with a wildcard": (
        secret("*.example.com") + proxy(prefix("/"), tls=TLS), [],
    ),
    "a wildcard stands for one label": (
        secret("*.com") + proxy(prefix("/"), tls=TLS),
        ["CertificateForOtherHost HTTPProxy default/shop"],
    ),
    "a certificate that nobody uses": (
        secret("shop.example.com") + secret("shop.example.com", name="left")
        + proxy(prefix("/"), tls=TLS),
        ["SecretUnused Secret default/left"],
    ),
    "client certificates, and plain HTTP": (
        secret("shop.example.com")
        + proxy(
            f"permitInsecure: true, {prefix('/')}",
            tls="{secretName: web, clientValidation: {skipClientCertValidation: true}}",
        ),
        ["ClientCertificateBypassed HTTPProxy default/shop"],
    ),
    "client certificates, and plain HTTP is redirected": (
        secret("shop.example.com")
        + proxy(
            prefix("/"), tls="{secretName: web, clientValidation: {skipClientCertValidation: true}}"
        ), [],
    ),
    "tokens over plain HTTP": (
        secret("shop.example.com")
        + proxy(f"permitInsecure: true, {prefix('/')}", tls=TLS, host=PROVIDER),
        ["TokenOverPlainHTTP HTTPProxy default/shop"],
    ),
    "a backend that is not asked who it is": (
        proxy(prefix("/")).replace("port: 80}", "port: 80, protocol: tls}"),
        ["BackendNotVerified HTTPProxy default/shop"],
    ),
}  # fmt: skip


REFERRERS = {
    "keys that are fetched": proxy(
        prefix("/"),
        host=PROVIDER.replace("/k'", "/k', validation: {caSecret: web, subjectName: a.com}"),
    ),
    "an HTTPProxy of another class": proxy(prefix("/"), tls=TLS).replace(
        "spec:", "spec:\n  ingressClassName: other", 1
    ),
    "a Gateway of another controller": """
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: other}
spec:
  gatewayClassName: other
  listeners:
  - {name: it, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: web}]}}
""",
    "clients are checked": """
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: ClientTrafficPolicy
metadata: {name: it}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gw}]
  tls: {clientValidation: {caCertificateRefs: [{kind: Secret, group: '', name: web}]}}
""",
    "backends are checked": """
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: Backend
metadata: {name: it}
spec:
  endpoints: [{fqdn: {hostname: a.com, port: 443}}]
  tls: {caCertificateRefs: [{kind: Secret, group: '', name: web}]}
""",
    "backends are shown it, from another namespace": """
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: Backend
metadata: {name: it, namespace: other}
spec:
  endpoints: [{fqdn: {hostname: a.com, port: 443}}]
  tls: {wellKnownCACertificates: System, clientCertificateRef: {name: web, namespace: default}}
""",
    "another controller": INGRESS.replace(
        "{name: old}",
        "{name: old, namespace: other, "
        "annotations: {nginx.ingress.kubernetes.io/auth-tls-secret: default/web}}",
    ),
    "the pods of the instance": "part-of",
}  # fmt: skip
STRANGERS = {
    "a route to a Backend of this name": """
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: it}
spec: {rules: [{backendRefs: [{name: web, port: 80}]}]}
""",
    "the same name in another namespace": proxy(prefix("/"), tls=TLS).replace(
        "{name: shop}", "{name: shop, namespace: other}"
    ),
    "a namespace that may use it": """
---
apiVersion: projectcontour.io/v1
kind: TLSCertificateDelegation
metadata: {name: it}
spec: {delegations: [{secretName: web, targetNamespaces: [other]}]}
""",
}


@pytest.mark.parametrize("name", [*REFERRERS, *STRANGERS])
def test_a_certificate_is_in_use_where_its_name_stands_in_any_object(name: str) -> None:
    text = REFERRERS.get(name) or STRANGERS[name]
    held = secret("shop.example.com")
    if text == "part-of":
        labels = "labels: {app.kubernetes.io/part-of: contour}"
        text, held = "", held.replace("name: web", f"name: web, {labels}", 1)
    told = [it for it in found(held + text) if it.startswith("SecretUnused")]
    assert told == ["SecretUnused Secret default/web"] * (name in STRANGERS)


def found(text: str) -> list[str]:
    return [f"{it.code} {it.subject}" for it in findings(text)]


def findings(text: str) -> list[Finding]:
    engine = world.world(SERVICE + text)
    engine.write(tables.ACCEPTANCE_ASSUMED, (), True)  # as if the keys were there
    engine.settle()
    return [it for check in CHECKS for it in check(engine) if it is not None]


@pytest.mark.parametrize("name", CASES)
def test_it_is_found(name: str) -> None:
    text, wanted = CASES[name]
    assert found(text) == wanted


ROUTE = """
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {{name: contour}}
spec: {{controllerName: projectcontour.io/gateway-controller}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: web}}
spec:
  gatewayClassName: contour
  listeners: [{{name: http, protocol: HTTP, port: 80}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: first}}
spec:
  parentRefs: [{{name: web}}]
  hostnames: [shop.example.com]
  rules:
  - matches: [{first}]
    backendRefs: [{{name: web, port: 80}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: second}}
spec:
  parentRefs: [{{name: web}}]
  hostnames: [shop.example.com]
  rules:
  - matches: [{second}]
    backendRefs: [{{name: web, port: 80}}]
"""
MATCHES = {
    "the same": ("path: {value: /a}", "path: {value: /a}", True),
    "with one more condition": ("path: {value: /a}", "path: {value: /a}, method: GET", False),
    "an expression that matches all": (
        "path: {type: RegularExpression, value: /.*}", "path: {value: /a}", False,
    ),
    "the same expression": (
        "path: {type: RegularExpression, value: /a+}",
        "path: {type: RegularExpression, value: /a+}", True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MATCHES)
def test_routes_of_gateways(name: str) -> None:
    first, second, shadowed = MATCHES[name]
    text = ROUTE.format(first=f"{{{first}}}", second=f"{{{second}}}")
    assert found(text) == ["RouteShadowed HTTPRoute default/second"] * shadowed


REDIRECTS: dict[str, tuple[int, list[tuple[str, str]]]] = {
    "to itself": (1, [("{value: /a}", "{hostname: shop.example.com, port: 80}")]),
    "to a path of its own": (1, [
        ("{value: /}", "{path: {type: ReplaceFullPath, replaceFullPath: /login}}"),
    ]),
    "to a path of another route": (0, [
        ("{value: /a}", "{path: {type: ReplaceFullPath, replaceFullPath: /b}}"),
    ]),
    "in a circle": (2, [
        ("{value: /a}", "{path: {type: ReplaceFullPath, replaceFullPath: /b}}"),
        ("{value: /b}", "{path: {type: ReplaceFullPath, replaceFullPath: /a}}"),
    ]),
    "to ever longer paths": (1, [
        ("{value: /}", "{path: {type: ReplacePrefixMatch, replacePrefixMatch: /app}}"),
    ]),
    "to where nothing listens": (0, [("{value: /}", "{scheme: https}")]),
    "to another host": (0, [("{value: /}", "{hostname: www.example.com}")]),
    "by a header": (0, [("{value: /}, headers: [{name: x, value: y}]", "{port: 80}")]),
}  # fmt: skip


@pytest.mark.parametrize("name", REDIRECTS)
def test_redirects_of_gateways(name: str) -> None:
    count, rules = REDIRECTS[name]
    written = "".join(
        f"""
  - matches: [{{path: {path}}}]
    filters: [{{type: RequestRedirect, requestRedirect: {redirect}}}]"""
        for path, redirect in rules
    )
    text = ROUTE.partition("  rules:\n")[0].format() + f"  rules:{written}\n"
    assert found(text) == ["RedirectLoop HTTPRoute default/first"] * count


def test_a_redirect_of_plain_http_to_one_of_https_that_leads_back_is_a_loop() -> None:
    redirects = "requestRedirectPolicy: {scheme: http}"
    text = proxy(prefix("/"), tls=TLS).replace("services: [{name: web, port: 80}]", redirects)
    assert found(secret("shop.example.com") + text) == ["RedirectLoop HTTPProxy default/shop"]


def redirecting(name: str, section: str, host: str, scheme: str) -> str:
    rule = f"{{filters: [{{type: RequestRedirect, requestRedirect: {{scheme: {scheme}}}}}]}}"
    parent = f"{{name: web, sectionName: {section}}}"
    return manifests.route(name, rule, hosts=(host,), parents=parent)


def test_a_redirect_to_https_is_a_loop_where_a_wildcard_there_leads_back() -> None:
    listening = manifests.gateway("web", manifests.http(), manifests.https(secret="web"))
    there = redirecting("there", "http", "shop.example.com", "https")
    back = redirecting("back", "https", "*.example.com", "http")
    text = secret("*.example.com") + manifests.gateway_class() + listening + there
    assert found(text) == []
    assert found(text + back) == ["RedirectLoop HTTPRoute default/there"]


PASSED = "{passthrough: true}"
STREAM = "\n  tcpproxy: {services: [{name: web, port: 80}]}\n"


def gateway(protocol: str, mode: str) -> str:
    tls = f"{{mode: {mode}, certificateRefs: [{{name: web}}]}}"
    listener = (
        f"{{name: tls, protocol: {protocol}, port: 443, hostname: shop.example.com, tls: {tls}}}"
    )
    text = ROUTE.partition("---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute")[0]
    return text.format().replace("{name: http, protocol: HTTP, port: 80}", listener)


TAKEN = "ConnectionsTaken HTTPProxy default/shop"
CONNECTIONS = {
    "a stream, of a Gateway": (
        gateway("TLS", "Passthrough") + proxy(prefix("/"), tls=PASSED) + STREAM, [TAKEN],
    ),
    "requests, of a Gateway": (
        gateway("HTTPS", "Terminate") + proxy(prefix("/"), tls=PASSED) + STREAM, [TAKEN],
    ),
    "a stream, of a Gateway, before requests": (
        gateway("TLS", "Passthrough") + proxy(prefix("/"), tls=TLS), [TAKEN],
    ),
    "requests, of both": (gateway("HTTPS", "Terminate") + proxy(prefix("/"), tls=TLS), []),
    "a stream, of an HTTPProxy": (
        INGRESS + "  tls: [{hosts: [shop.example.com], secretName: web}]\n"
        + proxy(prefix("/"), tls=PASSED) + STREAM,
        ["ConnectionsTaken Ingress default/old"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONNECTIONS)
def test_who_takes_the_connections_of_a_host(name: str) -> None:
    text, wanted = CONNECTIONS[name]
    told = [it for it in findings(secret("shop.example.com") + text) if "Taken" in it.code]
    assert [f"{it.code} {it.subject}" for it in told] == wanted
    assert all("for shop.example.com: they go to " in it.message for it in told)
