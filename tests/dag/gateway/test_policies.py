"""TLS towards backends: which policy holds, what it asks for, and what never happens without it."""

import pytest
import yaml

from crds.meta import ObjectRef
from dag import hosts, listeners, nodes, tables
from dag.engine.incremental import Engine
from dag.gateway import filteredlisteners, statusoverflow
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    backend,
    configuration,
    gateway,
    gateway_class,
    http,
    listener,
    policy,
    route,
    service,
    stream_route,
    to,
    xbackend,
)
from tests.dag.world import FLEET, apply, delete, key, routes, secure_host, world
from tests.testbed import pairs

PORTS = "name: https, port: 443}, {name: other, port: 444"
GIVEN = gateway_class() + gateway("gw") + service("s1", port=PORTS) + pairs.authority("authority")
SECRET = "caCertificateRefs: [{group: '', kind: Secret, name: authority}]"
SYSTEM = "wellKnownCACertificates: System"
SHOWN = "tls: {backend: {clientCertificateRef: {name: cert}}}"
FINE = ["Accepted", "ResolvedRefs"]
BROKEN_BUNDLE = pairs.trust_bundle("all", b"-----BEGIN CERTIFICATE-----")


def cluster(it: Engine, rest: str = "") -> nodes.Cluster:
    found = it.answer(hosts.virtual_host, nodes.HostKey(FLEET, "ingress_http", f"*{rest}"))
    assert found is not None
    action = found.routes[0].action
    assert isinstance(action, nodes.Forward)
    (share,) = action.backends
    assert share.cluster is not None
    return share.cluster


def going(port: int = 443, kind: str = "HTTPRoute") -> str:
    return route("r", to(f"{{name: s1, port: {port}}}")).replace("HTTPRoute", kind)


def test_a_policy_says_whom_a_backend_has_to_prove_to_be() -> None:
    it = world(GIVEN + going() + policy("p", f"hostname: a.com, {SECRET}"))
    tls = cluster(it).tls
    assert tls is not None
    assert tls.trust is not None
    assert [ref.name for ref in tls.trust.authorities] == ["authority"]
    assert (tls.sni, tls.names) == ("a.com", (nodes.AlternativeName("DNS", "a.com"),))
    assert status_text.policy(it, "p") == FINE


def test_other_names_replace_the_host_but_not_what_is_asked_for() -> None:
    names = "subjectAltNames: [{type: URI, uri: 'spiffe://x/y'}]"
    it = world(GIVEN + going() + policy("p", f"hostname: a.com, {SYSTEM}, {names}"))
    tls = cluster(it).tls
    assert tls is not None
    assert tls.system
    assert (tls.sni, tls.names) == ("a.com", (nodes.AlternativeName("URI", "spiffe://x/y"),))


@pytest.mark.parametrize(("kind", "protocol"), [("HTTPRoute", "tls"), ("GRPCRoute", "h2")])
def test_the_protocol_is_spoken_over_tls(kind: str, protocol: str) -> None:
    it = world(GIVEN + going(kind=kind) + policy("p", f"hostname: a.com, {SYSTEM}"))
    assert cluster(it).protocol == protocol


def test_a_policy_for_a_port_beats_one_for_the_service() -> None:
    whole = policy("whole", f"hostname: whole.com, {SYSTEM}", created="01")
    one = policy("one", f"hostname: one.com, {SYSTEM}", section="https", created="02")
    it = world(GIVEN + going() + whole + one)
    assert cluster(it).tls is not None
    assert status_text.policy(it, "whole") == status_text.policy(it, "one") == FINE
    assert _asked_for(it) == "one.com"
    apply(it, going(444))
    assert _asked_for(it) == "whole.com"


def _asked_for(it: Engine) -> str:
    tls = cluster(it).tls
    return tls.sni if tls is not None else ""


def test_the_younger_of_equals_is_told_and_promoted() -> None:
    two = (policy(f"p{n}", f"hostname: p{n}.com, {SYSTEM}", created=f"0{n}") for n in (1, 2))
    it = world(GIVEN + going() + "".join(two))
    assert _asked_for(it) == "p1.com"
    assert status_text.policy(it, "p2") == ["Accepted=False/Conflicted", "ResolvedRefs"]
    delete(it, "BackendTLSPolicy", "p1")
    assert _asked_for(it) == "p2.com"
    assert status_text.policy(it, "p2") == FINE


@pytest.mark.parametrize(
    ("validation", "conditions"),
    [
        (
            "caCertificateRefs: [{group: '', kind: Secret, name: absent}]",
            ["Accepted=False/NoValidCACertificate", "ResolvedRefs=False/InvalidCACertificateRef"],
        ),
        (
            "caCertificateRefs: [{group: '', kind: Service, name: s1}]",
            ["Accepted=False/NoValidCACertificate", "ResolvedRefs=False/InvalidKind"],
        ),
        ("wellKnownCACertificates: a.b/C", ["Accepted=False/Invalid", "ResolvedRefs"]),
        (
            f"{SYSTEM}, subjectAltNames: [{{type: Email}}]",
            ["Accepted=False/Invalid", "ResolvedRefs"],
        ),
    ],
)
def test_a_policy_that_cannot_be_met_closes_its_backend(
    validation: str, conditions: list[str]
) -> None:
    it = world(GIVEN + going() + policy("p", f"hostname: a.com, {validation}"))
    assert routes(it, "*") == ["/ -> 500"]
    assert status_text.policy(it, "p") == conditions
    assert status_text.route(it, "r") == FINE
    assert (
        "BackendTLSPolicy default/p cannot be met; its status says why"
        in status_text.route_messages(it, "r")[1]
    )


def test_one_authority_that_can_be_read_is_enough_and_the_other_is_told() -> None:
    both = (
        "caCertificateRefs: [{group: '', kind: Secret, name: absent},"
        " {group: '', kind: Secret, name: authority}]"
    )
    it = world(GIVEN + going() + policy("p", f"hostname: a.com, {both}"))
    assert cluster(it).tls is not None
    assert status_text.policy(it, "p") == ["Accepted", "ResolvedRefs=False/InvalidCACertificateRef"]


def test_an_authority_that_comes_later_opens_the_backend() -> None:
    late = "caCertificateRefs: [{group: '', kind: Secret, name: late}]"
    it = world(GIVEN + going() + policy("p", f"hostname: a.com, {late}"))
    assert routes(it, "*") == ["/ -> 500"]
    apply(it, pairs.authority("late"))
    assert cluster(it).tls is not None
    assert status_text.policy(it, "p") == FINE


@pytest.mark.parametrize(("target", "section"), [("absent", ""), ("s1", "absent")])
def test_a_target_that_is_not_there_is_told_once_a_route_leads_to_it(
    target: str, section: str
) -> None:
    wanted = policy("p", f"hostname: a.com, {SYSTEM}", target=target, section=section)
    it = world(GIVEN + wanted)
    assert status_text.policy(it, "p") == []
    apply(it, route("r", to(f"{{name: {target}, port: 443}}")))
    assert status_text.policy(it, "p") == ["Accepted=False/TargetNotFound", "ResolvedRefs"]


def test_a_policy_that_no_gateway_of_ours_needs_is_told_nothing() -> None:
    it = world(GIVEN + going() + policy("p", f"hostname: a.com, {SYSTEM}"))
    assert status_text.policy(it, "p") == FINE
    delete(it, "HTTPRoute", "r")
    assert status_text.policy(it, "p") == []


def test_a_policy_holds_in_its_own_namespace_only() -> None:
    it = world(GIVEN + going() + policy("far/p", f"hostname: a.com, {SYSTEM}"))
    assert cluster(it).tls is None


def test_the_certificate_of_the_gateway_is_shown_to_such_backends_only() -> None:
    it = world(GIVEN + going() + pairs.secret("cert") + gateway("gw", rest=SHOWN))
    assert cluster(it).tls is None
    apply(it, policy("p", f"hostname: a.com, {SYSTEM}"))
    tls = cluster(it).tls
    assert tls is not None
    assert tls.client_certificate == key("cert")
    delete(it, "Secret", "cert")
    tls = cluster(it).tls
    assert tls is not None
    assert tls.client_certificate is None


OWN = "clientCertificateRef: {name: own}"
BACKEND = "group: gateway.envoyproxy.io, kind: Backend"
AT = "endpoints: [{fqdn: {hostname: far.example.com, port: 443}}]"
FAR = "type: ExternalHostname, externalHostname: {hostname: far.example.com}, port: {number: 443}"


@pytest.mark.parametrize(
    ("spec", "has_policy", "certificate"),
    [
        (f"tls: {{{SYSTEM}, {OWN}}}", False, "own"),
        (f"tls: {{{SYSTEM}, {OWN}}}", True, "own"),
        (f"tls: {{{SYSTEM}}}", False, None),
        (f"tls: {{{SYSTEM}}}", True, "cert"),
        ("type: Endpoints", True, "cert"),
    ],
)
def test_a_backend_shows_its_own_certificate_before_that_of_the_gateway(
    spec: str, has_policy: bool, certificate: str | None
) -> None:
    by_policy = policy("p", f"hostname: a.com, {SYSTEM}", "b")
    by_policy = by_policy.replace("group: '', kind: Service", BACKEND)
    it = world(
        GIVEN
        + gateway("gw", rest=SHOWN)
        + configuration("enableBackend: true")
        + pairs.secret("cert")
        + pairs.secret("own")
        + backend("b", f"{AT}, {spec}")
        + (by_policy if has_policy else "")
        + route("r", to(f"{{{BACKEND}, name: b}}"))
    )
    tls = cluster(it).tls
    assert tls is not None
    assert tls.client_certificate == (key(certificate) if certificate else None)


@pytest.mark.parametrize(("mode", "certificate"), [("ServerOnly", ""), ("ClientAndServer", "own")])
def test_no_xbackend_is_shown_the_certificate_of_the_gateway(mode: str, certificate: str) -> None:
    shown = f", {OWN}" if certificate else ""
    spec = f"{FAR}, tls: {{mode: {mode}, validation: {{hostname: a.com, {SYSTEM}}}{shown}}}"
    it = world(
        GIVEN
        + gateway("gw", rest=SHOWN)
        + configuration("enableExternalNameService: true")
        + pairs.secret("cert")
        + pairs.secret("own")
        + xbackend("b", spec)
        + route("r", to("{group: gateway.networking.x-k8s.io, kind: XBackend, name: b}"))
    )
    tls = cluster(it).tls
    assert tls is not None
    assert tls.client_certificate == (key(certificate) if certificate else None)


def test_servers_of_external_authorization_and_copies_get_the_certificate_of_the_gateway() -> None:
    server = "{name: s2, port: 80}"
    asked = f"{{protocol: HTTP, http: {{}}, backendRef: {server}}}"
    filters = (
        f"filters: [{{type: ExternalAuth, externalAuth: {asked}}},"
        f" {{type: RequestMirror, requestMirror: {{backendRef: {server}}}}}]"
    )
    of_listener = f"filters: {{requests: [{{type: ExternalAuth, externalAuth: {asked}}}]}}"
    it = world(
        GIVEN
        + gateway("gw", http(rest=of_listener), rest=SHOWN)
        + pairs.secret("cert")
        + service("s2")
        + policy("p", f"hostname: a.com, {SYSTEM}", "s2")
        + route("r", to("{name: s1, port: 443}", filters))
    )
    found = it.answer(hosts.virtual_host, nodes.HostKey(FLEET, "ingress_http", "*"))
    assert found is not None
    (one,) = found.routes
    assert one.policies is not None
    filtered = it.answer(filteredlisteners.filters, nodes.ListenerKey(FLEET, "ingress_http"))
    assert filtered is not None
    assert isinstance(one.action, nodes.Forward)
    assert one.action.backends[0].cluster is not None
    assert one.action.backends[0].cluster.tls is None
    clusters = [it.cluster for it in one.action.mirrors]
    for asks in (one.policies.authorization, *(it.authorization for it in filtered)):
        assert isinstance(asks, nodes.Authorization)
        assert isinstance(asks.cluster, nodes.Cluster)
        clusters.append(asks.cluster)
    shown = [it.tls.client_certificate for it in clusters if it.tls is not None]
    assert shown == [key("cert")] * 3


BOTH_MODES = gateway(
    "gw",
    listener("tls", 443, "TLS", "tls: {mode: Passthrough}"),
    listener("ended", 8443, "TLS", "tls: {mode: Terminate, certificateRefs: [{name: cert}]}"),
)
STREAMED = (
    GIVEN
    + BOTH_MODES
    + pairs.secret("cert")
    + stream_route("TLSRoute", "r", "{name: s1, port: 443}", hosts="[a.com]")
)
"""A TLSRoute on a listener that passes TLS on, and on one where it ends."""


def test_what_is_passed_on_is_not_encrypted_twice() -> None:
    it = world(STREAMED + policy("p", f"hostname: a.com, {SYSTEM}"))
    for name, is_encrypted in (("ingress_https", False), ("https-8443", True)):
        stream = secure_host(it, "a.com", name).stream
        assert stream is not None
        (share,) = stream.shares
        assert share.cluster is not None
        assert (share.cluster.tls is not None) == is_encrypted


def test_a_policy_that_cannot_be_met_closes_streams_where_tls_ends() -> None:
    it = world(STREAMED + policy("p", f"hostname: a.com, {SECRET.replace('authority', 'none')}"))
    ended, passed = (secure_host(it, "a.com", of).stream for of in ("https-8443", "ingress_https"))
    assert ended == nodes.Stream((nodes.WeightedCluster(None),))
    plain = nodes.Cluster(nodes.ServicePort(key("s1"), 443, "https"))
    assert passed == nodes.Stream((nodes.WeightedCluster(plain),))
    told = " ".join(status_text.route_messages(it, "r", kind="TLSRoute"))
    assert "its status says why; where TLS ends at the listener, its connections are closed" in told


def test_raw_streams_reach_the_backend_as_the_client_sent_them() -> None:
    it = world(
        GIVEN
        + gateway("gw", listener("tcp", 9000, "TCP"))
        + stream_route("TCPRoute", "r", "{name: s1, port: 443}")
        + policy("p", f"hostname: a.com, {SYSTEM}")
    )
    found = it.answer(listeners.listener, nodes.ListenerKey(FLEET, "tcp-9000"))
    assert found is not None
    assert found.stream is not None
    assert found.stream.shares[0].cluster == nodes.Cluster(
        nodes.ServicePort(key("s1"), 443, "https")
    )


NAMED = "type: ExternalHostname, externalHostname: {hostname: b.com}, port: {number: 443}"
CHECKED = f"tls: {{mode: ServerOnly, validation: {{hostname: b.com, {SYSTEM}}}}}"
OWN_TLS = (
    backend("b", f"endpoints: [{{fqdn: {{hostname: b.com, port: 443}}}}], tls: {{{SYSTEM}}}"),
    xbackend("b", f"{NAMED}, {CHECKED}"),
)
"""A Backend and an XBackend that ask for TLS themselves."""


@pytest.mark.parametrize("manifest", OWN_TLS, ids=("Backend", "XBackend"))
@pytest.mark.parametrize(
    ("protocol", "mode", "kind", "is_encrypted"),
    [
        ("TCP", "", "TCPRoute", True),
        ("TLS", "tls: {certificateRefs: [{name: cert}]}", "TCPRoute", True),
        ("TLS", "tls: {certificateRefs: [{name: cert}]}", "TLSRoute", True),
        ("TLS", "tls: {mode: Passthrough}", "TLSRoute", False),
    ],
)
def test_streams_to_a_backend_with_tls_are_encrypted_once(
    manifest: str, protocol: str, mode: str, kind: str, is_encrypted: bool
) -> None:
    version, name = (yaml.safe_load(manifest)[it] for it in ("apiVersion", "kind"))
    target = f"{{group: {version.partition('/')[0]}, kind: {name}, name: b}}"
    it = world(
        gateway_class()
        + gateway("gw", listener("l", 9000, protocol, mode))
        + pairs.secret("cert")
        + configuration("enableExternalNameService: true, enableBackend: true")
        + manifest
        + stream_route(kind, "r", target, hosts="[a.com]" if kind == "TLSRoute" else "")
    )
    if protocol == "TCP":
        found = it.answer(listeners.listener, nodes.ListenerKey(FLEET, "tcp-9000"))
        assert found is not None
        stream = found.stream
    else:
        stream = secure_host(it, "a.com" if kind == "TLSRoute" else "*", "https-9000").stream
    assert stream is not None
    (share,) = stream.shares
    assert share.cluster is not None
    assert (share.cluster.tls is not None) == is_encrypted


def test_a_gateway_says_for_whom_there_is_no_room() -> None:
    it = world(GIVEN + going() + policy("p", f"hostname: a.com, {SYSTEM}"))
    before = status_text.gateway_messages(it)
    refs = [ObjectRef("BackendTLSPolicy", "default", "p"), ObjectRef("HTTPRoute", "default", "r")]
    for ref in refs:
        it.write(statusoverflow.UNTOLD, ref, (key("gw"),))
    it.settle()
    assert status_text.gateway(it)[0] == "Accepted"
    for ref in refs:
        assert f"the status of {ref} is full" in status_text.gateway_messages(it)[0]
    for ref in refs:
        it.write(statusoverflow.UNTOLD, ref, None)
    it.settle()
    assert status_text.gateway_messages(it) == before


BUNDLE = "caCertificateRefs: [{group: certificates.k8s.io, kind: ClusterTrustBundle, name: all}]"
UNMET = "Accepted=False/NoValidCACertificate"
NOT_FOUND = [UNMET, "ResolvedRefs=False/InvalidCACertificateRef"]
NO_SUCH_KIND = [UNMET, "ResolvedRefs=False/InvalidKind"]


@pytest.mark.parametrize("found", ["", pairs.trust_bundle("all", b""), BROKEN_BUNDLE])
def test_a_bundle_of_the_cluster_that_cannot_be_read_closes_the_backend(found: str) -> None:
    it = world(GIVEN + going() + policy("p", f"hostname: a.com, {BUNDLE}") + found)
    assert routes(it, "*") == ["/ -> 500"]
    assert status_text.policy(it, "p") == NOT_FOUND
    apply(it, pairs.trust_bundle("all"))
    tls = cluster(it).tls
    assert tls is not None
    assert tls.trust == nodes.Trust((ObjectRef("ClusterTrustBundle", "", "all"),))
    assert status_text.policy(it, "p") == FINE
    delete(it, "ClusterTrustBundle", "/all")
    assert routes(it, "*") == ["/ -> 500"]
    assert status_text.policy(it, "p") == NOT_FOUND


def test_another_authority_is_enough_beside_a_bundle_that_is_not_there() -> None:
    both = f"{BUNDLE[:-1]}, {SECRET.partition('[')[2]}"
    it = world(GIVEN + going() + policy("p", f"hostname: a.com, {both}"))
    assert cluster(it).tls is not None
    assert status_text.policy(it, "p") == ["Accepted", NOT_FOUND[1]]


def test_where_the_api_server_has_no_bundles_they_are_an_unknown_kind() -> None:
    it = world(GIVEN + going() + policy("p", f"hostname: a.com, {BUNDLE}"))
    it.write(tables.ABSENT, "ClusterTrustBundle", True)
    it.settle()
    assert routes(it, "*") == ["/ -> 500"]
    assert status_text.policy(it, "p") == NO_SUCH_KIND
    it.write(tables.ABSENT, "ClusterTrustBundle", None)
    apply(it, pairs.trust_bundle("all"))
    assert cluster(it).tls is not None
    assert status_text.policy(it, "p") == FINE
