"""Backends of Envoy Gateway: where a reference leads, what may be led to, and what is told."""

from dataclasses import replace

import pytest

from crds.meta import NamespacedName, ObjectRef
from dag import nodes, services, tables
from dag.engine.incremental import Engine
from dag.gateway import envoybackends
from dag.problems.places import Place
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    backend,
    configuration,
    gateway,
    gateway_class,
    grant,
    http,
    policy,
    route,
    stream_route,
    to,
)
from tests.dag.gateway.test_httproute import forward
from tests.dag.world import apply, delete, key, routes, world
from tests.testbed import pairs

GIVEN = gateway_class() + gateway("gw") + configuration("enableBackend: true")
KIND = "group: gateway.envoyproxy.io, kind: Backend"
TO = f"{{{KIND}, name: b}}"
NAME = "endpoints: [{fqdn: {hostname: far.example.com, port: 8443}}]"
ADDRESSES = "endpoints: [{ip: {address: 10.0.0.2, port: 80}}, {ip: {address: 10.0.0.1, port: 81}}]"
SOCKET = "endpoints: [{unix: {path: /run/it.sock}}]"
SYSTEM = "tls: {wellKnownCACertificates: System}"
FINE = ["Accepted", "ResolvedRefs"]
HOME = "projectcontour"


def cluster(it: Engine, kind: str = "HTTPRoute") -> nodes.Cluster:
    found = envoybackends.cluster(it, key("b"), Place(ObjectRef(kind, "default", "r")))
    assert isinstance(found, nodes.Cluster), found
    return found


def endpoints(it: Engine) -> tuple[nodes.Endpoint, ...]:
    return it.ask(services.endpoints, cluster(it).port).endpoints


def in_cluster(it: Engine) -> Engine:
    it.write(tables.LOOPBACK_REFUSED, (), True)
    it.write(tables.CONFIGURATION_NAME, (), NamespacedName(HOME, "contour"))
    it.settle()
    return it


def test_requests_go_to_the_name_and_port() -> None:
    it = world(GIVEN + backend("b", NAME) + route("r", to(TO)))
    assert routes(it, "*") == ["/ -> default/b:8443"]
    assert status_text.route(it, "r") == FINE
    assert status_text.backend(it) == ["Accepted"]
    port = nodes.ServicePort(key("b"), 8443, kind="Backend")
    assert cluster(it) == nodes.Cluster(port, nodes.DnsAddress("far.example.com", 8443))


def test_several_names_are_endpoints_of_one_cluster() -> None:
    spec = (
        "endpoints: [{fqdn: {hostname: a.com, port: 80}},"
        " {fqdn: {hostname: b.com, port: 81}, hostname: it.b.com}]"
    )
    found = cluster(world(GIVEN + backend("b", spec)))
    assert found.dns == nodes.DnsAddress("a.com", 80)
    named = (nodes.Endpoint("a.com", 80), nodes.Endpoint("b.com", 81, "it.b.com"))
    assert found.members == (nodes.Member(found.port, named),)


def test_addresses_and_sockets_are_endpoints_that_envoy_is_told() -> None:
    it = world(GIVEN + backend("b", ADDRESSES))
    assert cluster(it).dns is None
    assert endpoints(it) == (nodes.Endpoint("10.0.0.2", 80), nodes.Endpoint("10.0.0.1", 81))
    apply(it, backend("b", SOCKET))
    assert endpoints(it) == (nodes.Endpoint("/run/it.sock", 0),)


@pytest.mark.parametrize(
    ("fields", "kind", "expected"),
    [
        ("", "HTTPRoute", "http/1.1"),
        ("appProtocols: [gateway.envoyproxy.io/h2c]", "HTTPRoute", "h2c"),
        ("appProtocols: [gateway.envoyproxy.io/ws]", "HTTPRoute", "http/1.1"),
        (f"appProtocols: [gateway.envoyproxy.io/wss], {SYSTEM}", "HTTPRoute", "tls"),
        (f"appProtocols: [gateway.envoyproxy.io/h2c], {SYSTEM}", "HTTPRoute", "h2"),
        (SYSTEM, "HTTPRoute", "tls"),
        ("tls: {insecureSkipVerify: true, alpnProtocols: [h2]}", "HTTPRoute", "h2"),
        ("tls: {insecureSkipVerify: true, alpnProtocols: ['http/1.1']}", "HTTPRoute", "tls"),
        ("", "GRPCRoute", "h2c"),
        (SYSTEM, "GRPCRoute", "h2"),
        ("", "TCPRoute", "http/1.1"),
        ("", "UDPRoute", "http/1.1"),
        ("appProtocols: [gateway.envoyproxy.io/ws]", "GRPCRoute", None),
        (SYSTEM, "UDPRoute", None),
        (SYSTEM, "TCPRoute", None),  # no request whose host a certificate could have
    ],
)
def test_the_protocol_is_its_own_or_that_of_the_route(
    fields: str, kind: str, expected: str | None
) -> None:
    it = world(GIVEN + backend("b", ", ".join(filter(None, (ADDRESSES, fields)))))
    found = envoybackends.cluster(it, key("b"), Place(ObjectRef(kind, "default", "r")))
    if expected is None:
        assert not isinstance(found, nodes.Cluster)
        assert found.reason == "UnsupportedProtocol"
    else:
        assert isinstance(found, nodes.Cluster)
        assert found.protocol == expected


def test_either_protocol_is_offered_if_both_are_asked_for() -> None:
    spec = f"{NAME}, tls: {{insecureSkipVerify: true, alpnProtocols: [h2, 'http/1.1']}}"
    it = world(GIVEN + backend("b", spec))
    assert cluster(it).prefers_http2
    assert not cluster(it, "GRPCRoute").prefers_http2


@pytest.mark.parametrize("listed", ["", "h2", "http/1.1, h2"])
def test_on_a_stream_what_is_listed_is_offered(listed: str) -> None:
    spec = f"{NAME}, tls: {{insecureSkipVerify: true, alpnProtocols: [{listed}]}}"
    tls = cluster(world(GIVEN + backend("b", spec)), "TCPRoute").tls
    assert tls is not None
    assert tls.offers == tuple(filter(None, listed.split(", ")))


def test_an_empty_list_of_protocols_is_told() -> None:
    """Envoy offers the protocol of a request by itself where it is told of none."""
    spec = f"{NAME}, tls: {{insecureSkipVerify: true, alpnProtocols: []}}"
    it = world(GIVEN + backend("b", spec) + route("r", to(TO)))
    text = "spec.tls.alpnProtocols: has no effect: for requests Envoy always offers"
    assert text in status_text.backend_messages(it)
    assert (status_text.backend(it), cluster(it).protocol) == (["Accepted"], "tls")


def test_a_certificate_must_have_the_name_that_is_asked_for() -> None:
    def tls(fields: str, kind: str = "HTTPRoute") -> nodes.UpstreamTls:
        it = world(GIVEN + backend("b", f"{NAME}, tls: {{{fields}}}"))
        found = cluster(it, kind).tls
        assert found is not None
        return found

    far = (nodes.AlternativeName("DNS", "far.example.com"),)
    other = (nodes.AlternativeName("DNS", "it.com"),)
    system, skip = "wellKnownCACertificates: System", "insecureSkipVerify: true"
    assert tls(system) == nodes.UpstreamTls(system=True, sni_of="request")
    assert tls(f"{system}, sni: it.com") == nodes.UpstreamTls(
        system=True, names=other, sni="it.com"
    )
    auto = nodes.UpstreamTls(system=True, names=far, sni_of="endpoint")
    assert tls(f"{system}, autoSNIFromEndpointHostname: true") == auto
    assert tls(system, "TCPRoute") == auto
    assert tls(system, "SecurityPolicy") == auto
    assert tls(skip) == nodes.UpstreamTls(sni_of="request")
    versions = tls(f"{skip}, minVersion: '1.3', ecdhCurves: [P-256]")
    assert (versions.minimum, versions.curves) == ("1.3", ("P-256",))


def test_a_policy_says_whom_to_trust_and_the_backend_the_rest() -> None:
    validation = "hostname: p.com, wellKnownCACertificates: System"
    attached = policy("p", validation, "b").replace(
        "group: '', kind: Service", "group: gateway.envoyproxy.io, kind: Backend"
    )
    assert "kind: Backend" in attached
    names = (nodes.AlternativeName("DNS", "p.com"),)
    it = world(GIVEN + backend("b", NAME) + attached + route("r", to(TO)))
    by_policy = nodes.UpstreamTls(system=True, names=names, sni="p.com")
    assert cluster(it).tls == by_policy
    assert status_text.policy(it, "p") == FINE
    own = "tls: {insecureSkipVerify: true, sni: own.com, maxVersion: '1.2'}"
    apply(it, backend("b", f"{NAME}, {own}"))
    assert cluster(it).tls == replace(by_policy, maximum="1.2")
    delete(it, "BackendTLSPolicy", "p")
    assert cluster(it).tls == nodes.UpstreamTls(sni="own.com", maximum="1.2")


def test_a_policy_for_a_port_holds_where_all_endpoints_have_it() -> None:
    validation = "hostname: p.com, wellKnownCACertificates: System"
    attached = policy("p", validation, "b", section="'8443'").replace(
        "group: '', kind: Service", "group: gateway.envoyproxy.io, kind: Backend"
    )
    it = world(GIVEN + backend("b", NAME) + attached + route("r", to(TO)))
    assert cluster(it).tls is not None
    apply(it, backend("b", ADDRESSES))
    assert cluster(it).tls is None
    assert status_text.policy(it, "p")[0] == "Accepted=False/TargetNotFound"


def test_a_policy_that_cannot_be_met_closes_it() -> None:
    ref = "{group: '', kind: ConfigMap, name: missing}"
    attached = policy("p", f"hostname: p.com, caCertificateRefs: [{ref}]", "b").replace(
        "group: '', kind: Service", "group: gateway.envoyproxy.io, kind: Backend"
    )
    it = world(GIVEN + backend("b", NAME) + attached + route("r", to(TO)))
    assert routes(it, "*") == ["/ -> 500"]
    assert status_text.backend(it) == ["Accepted=False/Invalid"]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("{}", "spec.endpoints: must have an endpoint"),
        ("type: DynamicResolver", "spec.type: is not served yet"),
        ("type: Odd, " + NAME, "spec.type"),
        (f"{NAME}, appProtocols: [odd]", "spec.appProtocols"),
        (f"{NAME}, appProtocols: [gateway.envoyproxy.io/wss]", "needs tls"),
        (f"{NAME}, tls: {{}}", "spec.tls: needs caCertificateRefs"),
        (f"{NAME}, tls: {{wellKnownCACertificates: a.com/Odd}}", "wellKnownCACertificates"),
        (f"{NAME}, {SYSTEM[:-1]}, signatureAlgorithms: [ed25519]}}", "signatureAlgorithms"),
        (f"{NAME}, {SYSTEM[:-1]}, clientCertificateRef: {{name: none}}}}", "clientCertificateRef"),
        ("endpoints: [{fqdn: {hostname: 10.0.0.1, port: 80}}]", "is an IP address; write ip"),
        ("endpoints: [{ip: {address: 10.0.0.256, port: 80}}]", "is no IP address"),
        ("endpoints: [{ip: {address: 169.254.169.254, port: 80}}]", "is link-local"),
        ("endpoints: [{ip: {address: 0.0.0.0, port: 80}}]", "is unspecified"),
        ("endpoints: [{ip: {address: 224.0.0.1, port: 80}}]", "is multicast"),
        ("endpoints: [{fqdn: {hostname: '2130706433', port: 80}}]", "in disguise"),
        ("endpoints: [{fqdn: {hostname: metadata.google.internal, port: 80}}]", "itself"),
        ("endpoints: [{unix: {path: it.sock}}]", "is no absolute path"),
        (f"endpoints: [{{unix: {{path: /{'a' * 107}}}}}]", "at most 107 bytes"),
    ],
)
def test_what_cannot_be_served_gets_no_requests_and_says_why(spec: str, text: str) -> None:
    spec = "" if spec == "{}" else spec
    it = world(GIVEN + backend("b", spec) + route("r", to(TO)))
    assert routes(it, "*") == ["/ -> 500"]
    assert status_text.backend(it)[0].startswith("Accepted=False/")
    assert text in status_text.backend_messages(it)
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs=False/BackendNotFound"]
    apply(it, backend("b", NAME))
    assert routes(it, "*") == ["/ -> default/b:8443"]
    assert status_text.backend(it) == ["Accepted"]


_OURS = "labels: {app.kubernetes.io/component: ingress-controller}"
_INSTANCE = f"""
---
apiVersion: v1
kind: Service
metadata: {{name: contour, namespace: {HOME}, {_OURS}}}
spec: {{clusterIPs: [10.96.0.9], ports: [{{port: 8001}}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: contour-1, namespace: {HOME}, {_OURS}}}
addressType: IPv4
ports: [{{port: 8001}}]
endpoints: [{{addresses: [10.1.0.7]}}]
"""
IN_CLUSTER = gateway_class() + gateway("gw") + _INSTANCE
ALLOWED = configuration("enableBackend: true", f"{HOME}/contour")


@pytest.mark.parametrize(
    ("endpoint", "text"),
    [
        ("ip: {address: 127.0.0.1, port: 9001}", "is loopback"),
        ("ip: {address: 127.8.8.8, port: 80}", "is loopback"),
        ("ip: {address: '::1', port: 80}", "is loopback"),
        ("ip: {address: '::ffff:127.0.0.1', port: 80}", "is loopback"),
        ("ip: {address: '64:ff9b::7f00:1', port: 80}", "is loopback"),
        ("ip: {address: '::ffff:169.254.169.254', port: 80}", "is link-local"),
        ("ip: {address: 10.1.0.7, port: 8001}", "leads to the control plane"),
        ("ip: {address: '::ffff:10.1.0.7', port: 8001}", "leads to the control plane"),
        ("ip: {address: 10.96.0.9, port: 8001}", "leads to the control plane"),
        ("fqdn: {hostname: localhost, port: 80}", "leads to the proxy itself"),
        ("fqdn: {hostname: a.localhost, port: 80}", "leads to the proxy itself"),
        ("fqdn: {hostname: localhost., port: 80}", "leads to the proxy itself"),
        ("fqdn: {hostname: '0x7f000001', port: 80}", "in disguise"),
        ("fqdn: {hostname: 127-0-0-1.default.pod.cluster.local, port: 80}", "in disguise"),
        ("fqdn: {hostname: contour, port: 8001}", "has one label"),
        (f"fqdn: {{hostname: contour.{HOME}, port: 8001}}", "leads to the control plane"),
        (f"fqdn: {{hostname: contour.{HOME}.svc, port: 8001}}", "leads to the control plane"),
        (
            f"fqdn: {{hostname: contour.{HOME}.svc.cluster.local., port: 8001}}",
            "leads to the control plane",
        ),
        (f"fqdn: {{hostname: p.contour.{HOME}.svc, port: 8001}}", "leads to the control plane"),
        ("unix: {path: /admin/admin.sock}", "on one machine only"),
    ],
)
def test_in_a_cluster_envoy_is_not_led_to_itself(endpoint: str, text: str) -> None:
    it = in_cluster(world(IN_CLUSTER + ALLOWED + route("r", to(TO))))
    apply(it, backend("b", f"endpoints: [{{{endpoint}}}]"))
    assert routes(it, "*") == ["/ -> 500"]
    assert status_text.backend(it) == ["Accepted=False/Invalid"]
    assert text in status_text.backend_messages(it)


@pytest.mark.parametrize(
    "endpoint",
    [
        "ip: {address: 10.1.0.8, port: 8001}",
        f"fqdn: {{hostname: other.{HOME}.svc, port: 8001}}",
        "fqdn: {hostname: contour.default.svc, port: 8001}",
        "fqdn: {hostname: backend.default.svc.cluster.local, port: 3000}",
    ],
)
def test_in_a_cluster_others_are_led_to(endpoint: str) -> None:
    it = in_cluster(world(IN_CLUSTER + ALLOWED + route("r", to(TO))))
    apply(it, backend("b", f"endpoints: [{{{endpoint}}}]"))
    assert status_text.backend(it) == ["Accepted"]


def test_a_pod_of_the_instance_that_comes_later_closes_it() -> None:
    it = in_cluster(world(gateway_class() + gateway("gw") + ALLOWED + route("r", to(TO))))
    apply(it, backend("b", "endpoints: [{ip: {address: 10.1.0.7, port: 80}}]"))
    assert status_text.backend(it) == ["Accepted"]
    apply(it, _INSTANCE)
    assert status_text.backend(it) == ["Accepted=False/Invalid"]
    assert routes(it, "*") == ["/ -> 500"]


def test_on_one_machine_its_own_addresses_are_meant() -> None:
    it = world(GIVEN + route("r", to(TO)))
    for endpoint in ("ip: {address: 127.0.0.1, port: 80}", "fqdn: {hostname: localhost, port: 80}"):
        apply(it, backend("b", f"endpoints: [{{{endpoint}}}]"))
        assert routes(it, "*") == ["/ -> default/b:80"]


def test_in_a_cluster_the_configuration_has_to_allow_them() -> None:
    given = IN_CLUSTER + configuration("enableExternalNameService: true", f"{HOME}/contour")
    it = in_cluster(world(given + backend("b", NAME) + route("r", to(TO))))
    assert routes(it, "*") == ["/ -> 500"]
    assert status_text.backend(it) == ["Accepted=False/UnsupportedValue"]
    assert "enableBackend: true" in status_text.backend_messages(it)
    apply(it, ALLOWED)
    assert routes(it, "*") == ["/ -> default/b:8443"]


def test_on_one_machine_the_configuration_may_forbid_them() -> None:
    given = gateway_class() + gateway("gw") + backend("b", NAME) + route("r", to(TO))
    assert routes(world(given), "*") == ["/ -> default/b:8443"]
    it = world(given + configuration("enableBackend: false"))
    assert routes(it, "*") == ["/ -> 500"]


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        (f"{{{KIND}, name: missing}}", "BackendNotFound"),
        (f"{{{KIND}, name: b, namespace: far}}", "RefNotPermitted"),
        ("{kind: Backend, name: b, port: 80}", "InvalidKind"),
    ],
)
def test_a_reference_that_leads_nowhere_answers_500(reference: str, reason: str) -> None:
    it = world(GIVEN + backend("b", NAME) + route("r", to(reference)))
    assert routes(it, "*") == ["/ -> 500"]
    assert status_text.route(it, "r") == ["Accepted", f"ResolvedRefs=False/{reason}"]


def test_a_port_of_the_reference_has_no_meaning() -> None:
    it = world(GIVEN + backend("b", NAME) + route("r", to(f"{{{KIND}, name: b, port: 443}}")))
    assert routes(it, "*") == ["/ -> default/b:8443"]
    assert status_text.route(it, "r") == FINE


def test_one_in_another_namespace_needs_a_grant_for_its_kind() -> None:
    reference = f"{{{KIND}, name: b, namespace: far}}"
    given = GIVEN + backend("far/b", NAME) + route("r", to(reference))
    it = world(given + grant("services", "far"))
    assert routes(it, "*") == ["/ -> 500"]
    assert status_text.backend(it, "far/b") == []
    apply(it, grant("backends", "far", to_=KIND))
    assert routes(it, "*") == ["/ -> far/b:8443"]
    assert status_text.backend(it, "far/b") == ["Accepted"]


def test_the_kind_is_refused_while_the_api_server_does_not_serve_it() -> None:
    it = world(GIVEN + route("r", to(TO)))
    it.write(tables.ABSENT, "Backend", True)
    it.settle()
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs=False/InvalidKind"]


def test_its_status_follows_the_routes_that_lead_to_it() -> None:
    tcp = gateway("gw", http(), "{name: t, port: 90, protocol: TCP}")
    it = world(gateway_class() + tcp + backend("b", NAME))
    assert status_text.backend(it) == []
    apply(it, route("r", to(TO)) + stream_route("TCPRoute", "t", TO))
    assert status_text.backend(it) == ["Accepted"]
    delete(it, "HTTPRoute", "r")
    assert status_text.backend(it) == ["Accepted"]
    delete(it, "TCPRoute", "t")
    assert status_text.backend(it) == []


def test_websockets_are_upgraded_and_copies_go_there_too() -> None:
    copied = f"filters: [{{type: RequestMirror, requestMirror: {{backendRef: {TO}}}}}]"
    spec = f"{NAME}, appProtocols: [gateway.envoyproxy.io/ws]"
    it = world(GIVEN + backend("b", spec) + route("r", to(TO)))
    assert forward(it).websockets
    apply(it, backend("b", NAME) + route("r", to(TO, copied)))
    found = forward(it)
    assert not found.websockets
    assert [it.cluster.port.owner.kind for it in found.mirrors] == ["Backend"]


def test_a_client_certificate_is_shown() -> None:
    spec = f"{NAME}, {SYSTEM[:-1]}, clientCertificateRef: {{name: cert}}}}"
    it = world(GIVEN + pairs.secret("cert") + backend("b", spec))
    found = cluster(it).tls
    assert found is not None
    assert found.client_certificate == key("cert")
