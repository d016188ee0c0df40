"""ClientTrafficPolicies with `contour run`: what becomes of requests, with the policy and without.

Each row has a listener of its own with a policy that has one field, and a question to which a
listener without a policy must give another answer: so no row holds where its field has no effect.
"""

import contextlib
import functools
import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tests.e2e.standalone import Answer, Standalone, exchange, manifest, standalone
from tests.testbed import certificates, pairs
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_LISTENER = """  - name: {name}
    protocol: HTTPS
    port: 443
    hostname: {name}.example.com
    tls: {{certificateRefs: [{{name: certificate}}]}}
"""
_POLICY = """---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: ClientTrafficPolicy
metadata: {{name: {name}}}
spec:
  targetRefs:
  - {{group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: {name}}}
  {spec}
"""
_GUARD = """---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: {{name: {name}}}
spec:
  targetRefs:
  - {{group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: {name}}}
  authorization:
    defaultAction: Deny
    rules: [{{action: Allow, principal: {{clientCIDRs: [203.0.113.10/32]}}}}]
"""
CONFIGURATION = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec:
  gateway: {controllerName: projectcontour.io/gateway-controller}
"""
Probe = Callable[[Standalone, str], Any]


class Row(NamedTuple):
    """A field, what is asked, and the answer with it."""

    name: str
    spec: str
    probe: Probe
    expected: Any
    is_guarded: bool = False
    """Only a client at 203.0.113.10 passes."""


def _ask(it: Standalone, host: str, path: str = "/", **headers: str) -> Answer:
    named = {name.replace("0", "-"): value for name, value in headers.items()}
    return it.ask(f"https://{host}{path}", headers=named)


def status(path: str = "/", **headers: str) -> Probe:
    return lambda it, host: _ask(it, host, path, **headers).status


def seen(header: str, path: str = "/", **headers: str) -> Probe:
    """A header of the request, as the backend sees it; its names have 0 for -."""
    return lambda it, host: _ask(it, host, path, **headers).seen.get("headers", {}).get(header)


def seen_path(path: str) -> Probe:
    return lambda it, host: _ask(it, host, path).seen.get("path")


def answered(header: str) -> Probe:
    return lambda it, host: _ask(it, host).headers.get(header)


def secured(it: Standalone, host: str, context: ssl.SSLContext | None = None) -> ssl.SSLSocket:
    plain = socket.create_connection(("127.0.0.1", it.ports["https"]), timeout=10)
    return (context or it.trusting()).wrap_socket(plain, server_hostname=host)


def said(text: str) -> Probe:
    """The first line of the answer to bytes; `closed` if there is none."""

    def probe(it: Standalone, host: str) -> str:
        with secured(it, host) as connection:
            connection.settimeout(4)
            connection.sendall(text.format(host=host).replace("\n", "\r\n").encode())
            try:
                found = connection.recv(4096)
            except TimeoutError:
                return "waits"
            return found.split(b"\r\n")[0].decode() if found else "closed"

    return probe


def handshake(**wanted: Any) -> Probe:
    """The version, cipher and protocol of a connection; `refused` if there is none."""

    def probe(it: Standalone, host: str) -> Any:
        context = it.trusting()
        for name, value in wanted.items():
            if name == "protocols":
                context.set_alpn_protocols(value)
            elif name == "ciphers":
                context.set_ciphers(value)
            else:
                setattr(context, name, value)
        try:
            with secured(it, host, context) as connection:
                found = connection.selected_alpn_protocol() if "protocols" in wanted else None
                return found or connection.version()
        except (ssl.SSLError, ConnectionError):
            return "refused"

    return probe


def showing(shown: str) -> Probe:
    """The status with a certificate of that name, or without one; `refused` if there is none."""

    def probe(it: Standalone, host: str) -> Any:
        return _shown(it, host, certificates.issued(it.authority, shown) if shown else None)

    return probe


def _shown(it: Standalone, host: str, shown: certificates.Pair | None) -> str:
    context = it.trusting()
    if shown is not None:
        certificates.show(context, shown)
    try:
        with secured(it, host, context) as connection:
            connection.sendall(f"GET / HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
            return connection.recv(4096)[9:12].decode() or "refused"
    except (ssl.SSLError, ConnectionError):
        return "refused"


@functools.cache
def _revoked(by: certificates.Pair) -> certificates.Pair:
    """The certificate that the authority has revoked."""
    return certificates.issued(by, "revoked.partner.com")


def showing_revoked(it: Standalone, host: str) -> str:
    """The same with that certificate."""
    assert it.authority is not None
    return _shown(it, host, _revoked(it.authority))


def second_connection(it: Standalone, host: str) -> str:
    """What becomes of a connection beside another one."""
    with secured(it, host) as first:
        first.sendall(f"GET / HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
        assert first.recv(4096)
        try:
            with secured(it, host) as second:
                second.sendall(f"GET / HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
                return "served" if second.recv(4096) else "closed"
        except (ssl.SSLError, ConnectionError):
            return "closed"


def setting(number: int) -> Probe:
    """A setting of HTTP/2 that Envoy sends."""

    def probe(it: Standalone, host: str) -> int | None:
        with _http2(it, host) as connection:
            for kind, payload in _frames(connection):
                if kind == 4:
                    return dict(struct.iter_unpack("!HI", payload)).get(number)
        return None

    return probe


def pinged(it: Standalone, host: str) -> bool:
    """Whether a connection of HTTP/2 that rests is pinged."""
    with _http2(it, host) as connection:
        connection.settimeout(2)
        try:
            return any(kind == 6 for kind, _ in _frames(connection))
        except TimeoutError:
            return False


@contextlib.contextmanager
def _http2(it: Standalone, host: str) -> Iterator[ssl.SSLSocket]:
    context = it.trusting()
    context.set_alpn_protocols(["h2"])
    with secured(it, host, context) as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
        yield connection


def _frames(connection: ssl.SSLSocket) -> Iterator[tuple[int, bytes]]:
    held = b""
    while True:
        got = connection.recv(4096)
        if not got:
            return
        held += got
        while len(held) >= 9 and len(held) >= 9 + int.from_bytes(held[:3], "big"):
            length = int.from_bytes(held[:3], "big")
            yield held[3], held[9 : 9 + length]
            held = held[9 + length :]


def reused(it: Standalone, host: str) -> bool:
    """Whether a session of TLS 1.2 is resumed."""
    context = it.trusting()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with secured(it, host, context) as first:
        session = first.session
    plain = socket.create_connection(("127.0.0.1", it.ports["https"]), timeout=10)
    with context.wrap_socket(plain, server_hostname=host, session=session) as second:
        return bool(second.session_reused)


XFF = "203.0.113.128, 203.0.113.10, 203.0.113.1"
CA = "caCertificateRefs: [{kind: ConfigMap, name: authority}]"
BEGUN = "GET / HTTP/1.1\nhost: {host}\n"
ROWS = [
    Row("hops", "clientIPDetection: {xForwardedFor: {numTrustedHops: 2}}",
        status(x0forwarded0for=XFF), 200, is_guarded=True),
    Row("ranges", "clientIPDetection:"
        " {xForwardedFor: {trustedCIDRs: [127.0.0.0/8, 203.0.113.1/32]}}",
        status(x0forwarded0for=XFF), 200, is_guarded=True),
    Row("header", "clientIPDetection: {customHeader: {name: X-Client}}",
        status(x0client="203.0.113.10"), 200, is_guarded=True),
    Row("failclosed", "clientIPDetection: {customHeader: {name: X-Client, failClosed: true}}",
        status(), 403),
    Row("unappended", "clientIPDetection: {xForwardedFor: {numTrustedHops: 1,"
        " disableXForwardedForAppend: true}}",
        seen("x-forwarded-for", x0forwarded0for="203.0.113.9"), "203.0.113.9"),
    Row("noenvoy", "headers: {enableEnvoyHeaders: false}",
        answered("x-envoy-upstream-service-time"), None),
    Row("underscores", "headers: {withUnderscoresAction: Allow}", seen("a_b", a_b="1"), "1"),
    Row("dropped", "headers: {withUnderscoresAction: DropHeader}", status(a_b="1"), 200),
    Row("forwarded", "headers: {xForwardedClientCert: {mode: AlwaysForwardOnly}}",
        seen("x-forwarded-client-cert", x0forwarded0client0cert="By=me"), "By=me"),
    Row("noid", "headers: {requestID: Disable}", seen("x-request-id"), None),
    Row("generated", "headers: {requestID: Generate}",
        lambda it, host: seen("x-request-id", x0request0id="mine")(it, host) == "mine", False),
    Row("early", "headers: {earlyRequestHeaders: {set: [{name: X-A, value: '1%'}]}}",
        seen("x-a", x0a="0"), "1%"),
    Row("removed", "headers: {earlyRequestHeaders: {remove: [X-A]}}", seen("x-a", x0a="0"), None),
    Row("matched", "headers: {earlyRequestHeaders: {removeOnMatch: [{type: Prefix, value: X-I-}]}}",
        seen("x-i-a", x0i0a="0"), None),
    Row("late", "headers: {lateResponseHeaders: {addIfAbsent: [{name: X-A, value: b}]}}",
        answered("x-a"), "b"),
    Row("large", "headers: {maxRequestHeaderLimit: 1Ki}", status(x0a="a" * 2000), 431),
    Row("dotted", "headers: {host: {stripTrailingHostDot: false}}",
        said("GET / HTTP/1.1\nhost: {host}.\n\n"), "HTTP/1.1 404 Not Found"),
    Row("kept", "path: {escapedSlashesAction: KeepUnchanged}", seen_path("/a%2Fb"), "/a%2Fb"),
    Row("rejected", "path: {escapedSlashesAction: RejectRequest}", status("/a%2Fb"), 400),
    Row("unmerged", "path: {disableMergeSlashes: true}", seen_path("/a//b"), "/a//b"),
    Row("healthy", "healthCheck: {path: /healthy}",
        lambda it, host: _ask(it, host, "/healthy").seen, {}),
    Row("slow", "timeout: {http: {requestReceivedTimeout: 1s}}", said(BEGUN),
        "HTTP/1.1 408 Request Timeout"),
    Row("slowheaders", "timeout: {http: {requestHeadersReceivedTimeout: 1s}}", said(BEGUN),
        "HTTP/1.1 408 Request Timeout"),
    Row("idle", "timeout: {http: {idleTimeout: 1s}}", said(""), "closed"),
    Row("resting", "timeout: {http: {streamIdleTimeout: 1s}}", said(BEGUN),
        "HTTP/1.1 408 Request Timeout"),
    Row("limited", "connection: {connectionLimit: {value: 1}}", second_connection, "closed"),
    Row("aged", "connection: {connectionLimit: {maxConnectionDuration: 1s},}\n"
        "  http1: {disableSafeMaxConnectionDuration: true}", said(""), "closed"),
    Row("once", "connection: {connectionLimit: {maxRequestsPerConnection: 1}}",
        answered("connection"), "close"),
    Row("bounded", "connection: {connectionLimit: {maxStreamDuration: 1s}}",
        lambda it, host: said(BEGUN)(it, host) != "waits", True),
    Row("upgraded", "http1: {ignoredUpgradeTypes: [{type: Exact, value: FOO}]}",
        said("GET / HTTP/1.1\nhost: {host}\nconnection: upgrade\nupgrade: foo\n\n"),
        "HTTP/1.1 200 OK"),
    Row("streams", "http2: {maxConcurrentStreams: 7}", setting(3), 7),
    Row("window", "http2: {initialStreamWindowSize: 2Mi}", setting(4), 2 << 20),
    Row("pings", "http2: {connectionKeepalive: {interval: 200ms, timeout: 100ms}}", pinged, True),
    Row("newer", "tls: {minVersion: '1.3'}",
        handshake(maximum_version=ssl.TLSVersion.TLSv1_2), "refused"),
    Row("older", "tls: {maxVersion: '1.2'}", handshake(), "TLSv1.2"),
    Row("ciphers", "tls: {ciphers: [ECDHE-ECDSA-AES128-SHA, ECDHE-RSA-AES128-SHA]}",
        handshake(maximum_version=ssl.TLSVersion.TLSv1_2, ciphers="ECDHE+AESGCM"), "refused"),
    Row("alpn", "tls: {alpnProtocols: [http/1.1]}", handshake(protocols=["h2", "http/1.1"]),
        "http/1.1"),
    Row("resumed", "tls: {session: {resumption: {}}}", reused, False),
    Row("certain", f"tls: {{clientValidation: {{{CA}}}}}", showing(""), "refused"),
    Row("named", f"tls: {{clientValidation: {{{CA}, subjectAltNames: {{dnsNames:"
        " [{type: Suffix, value: .partner.com}]}}}", showing("a.stranger.com"), "refused"),
    Row("hashed", f"tls: {{clientValidation: {{{CA}, certificateHashes: [{'ab' * 32}]}}}}",
        showing("a.partner.com"), "refused"),
    Row("keyed", f"tls: {{clientValidation: {{{CA},"
        " spkiHashes: [NvqYIYSbgK2vCJpQhObf77vv+bQWtc5ek5RIOwPiC9A=]}}",
        showing("a.partner.com"), "refused"),
    Row("revoked", f"tls: {{clientValidation: {{{CA}, crl: {{refs: [{{kind: ConfigMap,"
        " name: authority}]}}}", showing_revoked, "refused"),
    Row("lacking", "tls: {clientValidation: {caCertificateRefs: [{name: nowhere}]}}", status(),
        503),
]  # fmt: skip


@pytest.fixture(scope="module", name="web")
def _web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    authority = certificates.authority()
    names = ["bare", "guarded", *(it.name for it in ROWS)]
    policies = [_POLICY.format(name=it.name, spec=it.spec) for it in ROWS]
    guards = [_GUARD.format(name=it.name) for it in ROWS if it.is_guarded]
    guards.append(_GUARD.format(name="guarded"))
    trusted = authority.pem.decode().replace("\n", "\n    ")
    listed = certificates.revocations(authority, _revoked(authority))
    revoked = listed.decode().replace("\n", "\n    ")
    others = (
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: authority}\n"
        f"data:\n  ca.crt: |\n    {trusted}\n  ca.crl: |\n    {revoked}\n"
    )
    text = manifest("clients.yaml")
    text = text.replace("$listeners", "".join(_LISTENER.format(name=it) for it in names))
    text = text.replace("$policies", "".join((*policies, *guards)))
    files = {
        "services.yaml": manifest("services.yaml"),
        "clients.yaml": text.replace("$others", others),
        "configuration.yaml": CONFIGURATION,
        "secret.yaml": pairs.of("certificate", certificates.issued(authority, "*.example.com")),
    }
    with standalone(tmp_path_factory.mktemp("clients"), files) as found:
        found.authority = authority
        yield found


@pytest.mark.parametrize("row", ROWS, ids=[it.name for it in ROWS])
def test_a_field_has_its_effect_where_its_policy_is_and_nowhere_else(
    web: Standalone, row: Row
) -> None:
    bare = "guarded" if row.is_guarded else "bare"
    assert row.probe(web, f"{row.name}.example.com") == row.expected
    assert row.probe(web, f"{bare}.example.com") != row.expected


@pytest.mark.parametrize("name", ["certain", "named", "revoked"])
def test_clients_with_a_good_certificate_get_in(web: Standalone, name: str) -> None:
    assert showing("a.partner.com")(web, f"{name}.example.com") == "200"


_PORTS = """---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: ClientTrafficPolicy
metadata: {name: ports}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  %s
"""


@contextlib.contextmanager
def _ports(folder: Any, spec: str, settings: str = "") -> Iterator[Standalone]:
    authority = certificates.authority()
    text = manifest("clients.yaml").replace("$listeners", _LISTENER.format(name="bare"))
    files = {
        "services.yaml": manifest("services.yaml"),
        "clients.yaml": text.replace("$policies", _PORTS % spec).replace("$others", ""),
        "configuration.yaml": CONFIGURATION + settings,
        "secret.yaml": pairs.of("certificate", certificates.issued(authority, "*.example.com")),
    }
    with standalone(folder, files) as found:
        found.authority = authority
        yield found


def _through_proxy(it: Standalone, told: str) -> dict[str, Any]:
    """What the backend sees of a request over a connection that begins with this."""
    with contextlib.closing(it.connection("http", "")) as client:
        client.sock.sendall(told.encode())
        with contextlib.suppress(ConnectionError):
            return exchange(client, "bare.example.com", "/").seen
    return {}


PROXIED = "PROXY TCP4 203.0.113.10 127.0.0.1 1234 80\r\n"


def test_what_hosts_of_a_port_share(tmp_path: Any) -> None:
    kept = "tcpKeepalive: {idleTime: 20m, interval: 60s, probes: 3}"
    spec = "proxyProtocol: {optional: true}\n  " + kept
    with _ports(tmp_path, spec) as it:
        found = _through_proxy(it, PROXIED)
        assert found["headers"]["x-forwarded-for"] == "203.0.113.10"
        assert _through_proxy(it, "")["backend"] == "one"
        text = (it.manifests / "clients.yaml").read_text()
        it.write("clients.yaml", text.replace("{optional: true}", "{}"))
        wait(lambda: not _through_proxy(it, ""), "what says nothing is closed")
        assert _through_proxy(it, PROXIED)["backend"] == "one"
        it.write("clients.yaml", text.replace("20m", "30m"))
        it.until_told("ClientTrafficPolicy default/ports", "take effect at the next start")


def test_a_policy_takes_the_proxy_protocol_off_its_port(tmp_path: Any) -> None:
    settings = "  envoy: {listener: {useProxyProtocol: true}}\n"
    with _ports(tmp_path, "enableProxyProtocol: false", settings) as it:
        assert _through_proxy(it, "")["backend"] == "one"
        assert not _through_proxy(it, PROXIED), "nobody is believed to be somebody else"
        text = (it.manifests / "clients.yaml").read_text()
        it.write("clients.yaml", text.replace("enableProxyProtocol: false", "scheme: Preserve"))
        wait(lambda: not _through_proxy(it, ""), "the configuration holds again")
        assert _through_proxy(it, PROXIED)["backend"] == "one"


def test_http3_is_offered_where_a_policy_asks_for_it(tmp_path: Any) -> None:
    with _ports(tmp_path, "http3: {}") as it:
        assert it.ask("https://bare.example.com/").headers["alt-svc"].startswith('h3=":443"')
