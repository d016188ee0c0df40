"""XBackends: where a reference to one leads, and what its owner and those who refer are told."""

import pytest

from crds.meta import ObjectRef
from dag import nodes, tables
from dag.engine.incremental import Engine
from dag.gateway import xbackends
from dag.problems.places import Place
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    configuration,
    gateway,
    gateway_class,
    grant,
    http,
    route,
    stream_route,
    to,
    xbackend,
)
from tests.dag.gateway.test_httproute import forward
from tests.dag.world import apply, delete, key, routes, world
from tests.testbed import pairs

ALLOWED = configuration("enableExternalNameService: true")
GIVEN = gateway_class() + gateway("gw") + ALLOWED
KIND = "group: gateway.networking.x-k8s.io, kind: XBackend"
TO = f"{{{KIND}, name: b}}"
FINE = ["Accepted", "ResolvedRefs"]
FAR = "type: ExternalHostname, externalHostname: {hostname: far.example.com}"
PORT = "port: {number: 8443}"
PODS = "type: EndpointSelector, endpointSelector: {matchLabels: {app: a}}"
TRUSTED = "validation: {hostname: it.example.com, wellKnownCACertificates: System}"
SERVER = f"tls: {{mode: ServerOnly, {TRUSTED}}}"
CLIENT = f"tls: {{mode: ClientAndServer, {TRUSTED}, clientCertificateRef: {{name: cert}}}}"


def cluster(it: Engine) -> nodes.Cluster:
    found = it.ask(xbackends.wanted, key("b"))
    assert found.port is not None
    return nodes.Cluster(found.port, found.dns, tls=found.tls)


def told(it: Engine, name: str = "b") -> list[str]:
    return status_text.policy(it, name, "XBackend")


def messages(it: Engine) -> str:
    return " ".join(status_text.policy_messages(it, "b", "XBackend"))


def test_requests_go_to_the_name_and_port() -> None:
    it = world(GIVEN + xbackend("b", f"{FAR}, {PORT}") + route("r", to(TO)))
    assert routes(it, "*") == ["/ -> default/b:8443"]
    assert status_text.route(it, "r") == told(it) == FINE
    port = nodes.ServicePort(key("b"), 8443, kind="XBackend")
    assert cluster(it) == nodes.Cluster(port, nodes.DnsAddress("far.example.com", 8443))


@pytest.mark.parametrize(
    ("fields", "kind", "expected"),
    [
        ("", "HTTPRoute", "http/1.1"),
        ("protocol: HTTP", "HTTPRoute", "http/1.1"),
        ("protocol: HTTP11", "HTTPRoute", "http/1.1"),
        ("protocol: H2C", "HTTPRoute", "h2c"),
        ("protocol: GRPC", "HTTPRoute", "h2c"),
        (f"protocol: HTTP2, {SERVER}", "HTTPRoute", "h2"),
        (f"protocol: WSS, {SERVER}", "HTTPRoute", "tls"),
        (SERVER, "HTTPRoute", "tls"),
        (CLIENT, "HTTPRoute", "tls"),
        ("tls: {mode: None}", "HTTPRoute", "http/1.1"),
        ("", "GRPCRoute", "h2c"),
        ("protocol: HTTP", "GRPCRoute", "h2c"),
        (SERVER, "GRPCRoute", "h2"),
        ("protocol: TCP", "TCPRoute", "http/1.1"),
        ("protocol: HTTP2, " + SERVER, "TCPRoute", "http/1.1"),
        ("protocol: TCP", "HTTPRoute", None),
        ("protocol: HTTP11", "GRPCRoute", None),
        (f"protocol: WSS, {SERVER}", "GRPCRoute", None),
        ("", "UDPRoute", None),
    ],
)
def test_the_protocol_is_its_own_or_that_of_the_route(
    fields: str, kind: str, expected: str | None
) -> None:
    spec = ", ".join(filter(None, (FAR, PORT, fields)))
    it = world(GIVEN + pairs.secret("cert") + xbackend("b", spec))
    found = xbackends.cluster(it, key("b"), Place(ObjectRef(kind, "default", "r")))
    if expected is None:
        assert not isinstance(found, nodes.Cluster)
        assert found.reason == "UnsupportedProtocol"
    else:
        assert isinstance(found, nodes.Cluster)
        assert found.protocol == expected


def test_tls_is_spoken_as_it_says() -> None:
    names = (nodes.AlternativeName("DNS", "it.example.com"),)
    tls = nodes.UpstreamTls(system=True, names=names, sni="it.example.com")
    it = world(GIVEN + pairs.secret("cert") + xbackend("b", f"{FAR}, {PORT}, {SERVER}"))
    assert cluster(it).tls == tls
    apply(it, xbackend("b", f"{FAR}, {PORT}, {CLIENT}"))
    found = cluster(it).tls
    assert found is not None
    assert found.client_certificate == key("cert")


@pytest.mark.parametrize(
    ("spec", "reason", "text"),
    [
        (f"{PODS}, {PORT}", "UnsupportedValue", "spec.type: EndpointSelector is not served; refer"),
        (f"{PODS}, {PORT}, sessionPersistence: {{cookie: {{}}}}", "UnsupportedValue", "spec.type"),
        (f"{FAR}, port: {{port: 80}}", "Invalid", "spec.port.number"),
        (f"{FAR}, {PORT}, protocol: MCP", "UnsupportedValue", "spec.protocol"),
        (f"{FAR}, {PORT}, protocol: QUIC", "Invalid", "spec.protocol"),
        ("type: Odd, " + PORT, "Invalid", "spec.type"),
        *(
            (f"{FAR}, {PORT}".replace("far.example.com", f"'{host}'"), "Invalid", host)
            for host in (
                *("127.0.0.1", "169.254.169.254", "10.0.0.1", "2130706433", "127.1"),
                *("localhost", "a.localhost", "metadata.google.internal"),
            )
        ),
    ],
)
def test_what_cannot_be_served_gets_no_requests_and_says_why(
    spec: str, reason: str, text: str
) -> None:
    it = world(GIVEN + xbackend("b", spec) + route("r", to(TO)))
    assert routes(it, "*") == ["/ -> 500"]
    assert told(it) == [f"Accepted=False/{reason}", "ResolvedRefs"]
    assert text in messages(it)
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs=False/BackendNotFound"]
    apply(it, xbackend("b", f"{FAR}, {PORT}"))
    assert routes(it, "*") == ["/ -> default/b:8443"]
    assert told(it) == status_text.route(it, "r") == FINE


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (CLIENT, "InvalidClientCertificateRef"),
        (CLIENT.replace("name: cert", "name: cert, namespace: far"), "RefNotPermitted"),
        (CLIENT.replace("name: cert", "name: cert, kind: Odd"), "InvalidClientCertificateRef"),
    ],
)
def test_a_certificate_that_is_not_there_closes_it(fields: str, reason: str) -> None:
    it = world(GIVEN + xbackend("b", f"{FAR}, {PORT}, {fields}") + route("r", to(TO)))
    assert routes(it, "*") == ["/ -> 500"]
    assert told(it) == ["Accepted", f"ResolvedRefs=False/{reason}"]


def test_authorities_that_cannot_be_read_close_it() -> None:
    ref = "{group: '', kind: ConfigMap, name: missing}"
    validation = f"validation: {{hostname: a.com, caCertificateRefs: [{ref}]}}"
    spec = f"{FAR}, {PORT}, tls: {{mode: ServerOnly, {validation}}}"
    it = world(GIVEN + xbackend("b", spec) + route("r", to(TO)))
    assert routes(it, "*") == ["/ -> 500"]
    no_authority = "ResolvedRefs=False/InvalidCACertificateRef"
    assert told(it) == ["Accepted=False/NoValidCACertificate", no_authority]


def test_names_of_other_machines_need_the_word_of_the_configuration() -> None:
    it = world(gateway_class() + gateway("gw") + xbackend("b", f"{FAR}, {PORT}"))
    apply(it, route("r", to(TO)))
    assert routes(it, "*") == ["/ -> 500"]
    assert told(it) == ["Accepted=False/UnsupportedValue", "ResolvedRefs"]
    assert "enableExternalNameService: true" in messages(it)
    apply(it, ALLOWED)
    assert routes(it, "*") == ["/ -> default/b:8443"]


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        (f"{{{KIND}, name: b, port: 8443}}", "BackendNotFound"),
        (f"{{{KIND}, name: missing}}", "BackendNotFound"),
        (f"{{{KIND}, name: b, namespace: far}}", "RefNotPermitted"),
        ("{kind: XBackend, name: b}", "InvalidKind"),
    ],
)
def test_a_reference_that_leads_nowhere_answers_500(reference: str, reason: str) -> None:
    it = world(GIVEN + xbackend("b", f"{FAR}, {PORT}") + route("r", to(reference)))
    assert routes(it, "*") == ["/ -> 500"]
    assert status_text.route(it, "r") == ["Accepted", f"ResolvedRefs=False/{reason}"]


def test_one_in_another_namespace_needs_a_grant_for_its_kind() -> None:
    reference = f"{{{KIND}, name: b, namespace: far}}"
    given = GIVEN + xbackend("far/b", f"{FAR}, {PORT}") + route("r", to(reference))
    it = world(given + grant("services", "far"))
    assert routes(it, "*") == ["/ -> 500"]
    assert told(it, "far/b") == []
    apply(it, grant("backends", "far", to_=KIND))
    assert routes(it, "*") == ["/ -> far/b:8443"]
    assert told(it, "far/b") == status_text.route(it, "r") == FINE


def test_the_kind_is_refused_while_the_api_server_does_not_serve_it() -> None:
    it = world(GIVEN + route("r", to(TO)))
    it.write(tables.ABSENT, "XBackend", True)
    it.settle()
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs=False/InvalidKind"]
    it.write(tables.ABSENT, "XBackend", None)
    apply(it, xbackend("b", f"{FAR}, {PORT}"))
    assert routes(it, "*") == ["/ -> default/b:8443"]


def test_its_status_follows_the_routes_that_lead_to_it() -> None:
    tcp = gateway("gw", http(), "{name: t, port: 90, protocol: TCP}")
    it = world(gateway_class() + tcp + ALLOWED + xbackend("b", f"{FAR}, {PORT}"))
    assert told(it) == []
    apply(it, route("r", to(TO)) + stream_route("TCPRoute", "t", TO))
    assert told(it) == FINE
    delete(it, "HTTPRoute", "r")
    assert told(it) == FINE
    delete(it, "TCPRoute", "t")
    assert told(it) == []


def test_only_websockets_are_upgraded_and_copies_go_there_too() -> None:
    copied = f"filters: [{{type: RequestMirror, requestMirror: {{backendRef: {TO}}}}}]"
    spec = f"{FAR}, {PORT}, protocol: WSS, {SERVER}"
    it = world(GIVEN + xbackend("b", spec) + route("r", to(TO)))
    found = forward(it)
    assert found.websockets
    apply(it, xbackend("b", f"{FAR}, {PORT}") + route("r", to(TO, copied)))
    found = forward(it)
    assert not found.websockets
    assert [it.cluster.port.owner.kind for it in found.mirrors] == ["XBackend"]


def test_a_service_of_the_same_name_is_another_backend() -> None:
    other = "---\napiVersion: v1\nkind: Service\nmetadata: {name: b, namespace: default}\n"
    other += "spec: {type: ExternalName, externalName: far.example.com, ports: [{port: 8443}]}\n"
    both = f"{{backendRefs: [{TO}, {{name: b, port: 8443}}]}}"
    it = world(GIVEN + other + xbackend("b", f"{FAR}, {PORT}") + route("r", both))
    found = forward(it)
    owners = {str(it.cluster.port.owner) for it in found.backends if it.cluster}
    assert owners == {"Service default/b", "XBackend default/b"}
