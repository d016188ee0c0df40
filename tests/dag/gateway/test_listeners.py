"""Which listeners are served, what is told of the others, and what Envoy listeners they make."""

import pytest

from crds.meta import ObjectRef
from dag import listeners, nodes, tables
from dag.engine.incremental import Engine
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    gateway,
    gateway_class,
    grant,
    host,
    http,
    https,
    listener,
    listener_set,
    namespace,
    route,
    service,
)
from tests.dag.world import FLEET, apply, delete, key, routes, secure_host, tls, world
from tests.testbed import pairs

FINE = ["Accepted", "ResolvedRefs", "Programmed"]
LOST = "Programmed=False/Invalid"
FROM_GATEWAY = "group: gateway.networking.k8s.io, kind: Gateway, namespace: default"
TO_SECRETS = "group: '', kind: Secret"


def with_listeners(*given: str, rest: str = "") -> str:
    return gateway_class() + gateway("gw", *given, rest=rest)


def envoy(it: Engine) -> list[str]:
    found = it.answer(listeners.listeners, FLEET) or ()
    return [f"{each.name} {each.protocol} {each.port}" for each in found]


def test_listeners_on_the_usual_ports_take_over_those_of_ingress_and_httpproxy() -> None:
    it = world(with_listeners(http(), https()) + pairs.secret("cert"))
    assert status_text.listener(it, "http") == status_text.listener(it, "https") == FINE
    assert envoy(it) == ["ingress_http HTTP 80", "ingress_https HTTPS 443"]


def test_listeners_on_other_ports_are_named_after_protocol_and_port() -> None:
    it = world(with_listeners(http(port=8080), https(port=8443)) + pairs.secret("cert"))
    assert envoy(it) == ["http-8080 HTTP 8080", "https-8443 HTTPS 8443"]


def test_listeners_on_one_port_share_an_envoy_listener() -> None:
    it = world(with_listeners(http("a", host("a.com")), http("b", host("b.com"))))
    assert status_text.listener(it, "a") == status_text.listener(it, "b") == FINE
    assert envoy(it) == ["ingress_http HTTP 80", "ingress_https HTTPS 443"]


@pytest.mark.parametrize("protocol", ["SCTP", "example.com/SMTP"])
def test_a_protocol_that_is_not_served_hurts_only_its_listener(protocol: str) -> None:
    it = world(with_listeners(http(), listener("odd", 9000, protocol)))
    assert status_text.listener(it, "odd") == [
        "Accepted=False/UnsupportedProtocol",
        "ResolvedRefs",
        LOST,
    ]
    assert status_text.kinds(it, "odd") == []
    assert status_text.listener(it, "http") == FINE
    assert status_text.gateway(it) == [
        "Accepted=True/ListenersNotValid",
        "Programmed",
        "ResolvedRefs",
    ]


def test_a_gateway_without_a_good_listener_is_not_accepted() -> None:
    it = world(with_listeners(listener("odd", 9000, "SCTP")))
    assert status_text.gateway(it) == [
        "Accepted=False/ListenersNotValid",
        "Programmed=False/Invalid",
        "ResolvedRefs",
    ]


def test_a_protocol_that_is_not_served_takes_nothing_away_from_others_on_its_port() -> None:
    it = world(with_listeners(http(), listener("odd", 80, "SCTP")))
    assert status_text.listener(it, "http") == FINE


@pytest.mark.parametrize(
    ("wanted", "left", "conditions"),
    [
        ("{kind: HTTPRoute}", ["HTTPRoute"], FINE),
        ("{kind: TCPRoute}", [], ["Accepted", "ResolvedRefs=False/InvalidRouteKinds", LOST]),
        (
            "{kind: HTTPRoute}, {kind: Odd, group: example.com}",
            ["HTTPRoute"],
            ["Accepted", "ResolvedRefs=False/InvalidRouteKinds", "Programmed"],
        ),
        (
            "{kind: HTTPRoute, group: example.com}",
            [],
            ["Accepted", "ResolvedRefs=False/InvalidRouteKinds", LOST],
        ),
    ],
)
def test_the_kinds_that_are_served_are_used_and_the_others_told(
    wanted: str, left: list[str], conditions: list[str]
) -> None:
    it = world(with_listeners(http(rest=f"allowedRoutes: {{kinds: [{wanted}]}}")))
    assert status_text.kinds(it, "http") == left
    assert status_text.listener(it, "http") == conditions


@pytest.mark.parametrize(
    ("tls", "kinds"),
    [
        ("mode: Passthrough", ["TLSRoute"]),
        ("mode: Terminate, certificateRefs: [{name: cert}]", ["TLSRoute", "TCPRoute"]),
    ],
)
def test_bytes_are_routed_where_their_tls_ends(tls: str, kinds: list[str]) -> None:
    it = world(with_listeners(listener("tls", 443, "TLS", f"tls: {{{tls}}}")))
    assert status_text.kinds(it, "tls") == kinds


def test_plain_http_and_tls_on_one_port_conflict_and_none_is_served() -> None:
    it = world(
        with_listeners(http(port=443, rest=host("a.com")), https(rest=host("b.com")), http("ok"))
        + pairs.secret("cert")
        + route("r")
        + service("s1")
    )
    conflict = "ProtocolConflict"
    for name in ("http", "https"):
        assert status_text.listener(it, name) == [
            f"Accepted=False/{conflict}",
            "ResolvedRefs",
            f"Programmed=False/{conflict}",
            f"Conflicted=True/{conflict}",
        ]
    assert status_text.listener(it, "ok") == FINE
    assert "is used with another protocol by https" in status_text.listener_messages(it, "http")[0]
    assert tls(it, "b.com") == ""
    assert routes(it, "*") == ["/ -> default/s1:80"]


def test_only_listeners_that_conflict_are_named() -> None:
    innocent = (listener("u", 80, "UDP"), listener("odd", 80, "SCTP"))
    given = (http("h"), listener("t", 80, "TCP"), listener("t2", 81, "TCP"), *innocent)
    it = world(
        with_listeners(*given, rest="allowedListeners: {namespaces: {from: All}}")
        + listener_set("ls", listener("t2", 81, "TCP"), listener("u2", 81, "UDP"))
    )
    named = "spec.listeners[0].protocol: port 80 is used with another protocol by t"
    assert status_text.listener_messages(it, "h")[0] == named
    named = "has the same port and hostname as a listener of another object of the Gateway"
    (told, *_) = status_text.set_messages(it, "t2", "ls")
    assert told == f"spec.listeners[0].hostname: {named}"


def test_the_same_host_and_port_twice_is_a_conflict_and_none_is_served() -> None:
    passthrough = listener("raw", 443, "TLS", f"tls: {{mode: Passthrough}}, {host('a.com')}")
    it = world(with_listeners(https(rest=host("a.com")), passthrough) + pairs.secret("cert"))
    assert "Conflicted=True/HostnameConflict" in status_text.listener(it, "https")
    assert tls(it, "a.com") == ""


def test_a_conflict_ends_when_one_of_its_listeners_is_gone() -> None:
    it = world(with_listeners(http(port=443), https()) + pairs.secret("cert"))
    assert tls(it, "*") == ""
    apply(it, gateway("gw", https()))
    assert status_text.listener(it, "https") == FINE
    assert tls(it, "*") == "default/cert 1.2-1.3"


def test_hosts_that_overlap_behind_tls_are_told_and_served() -> None:
    it = world(
        with_listeners(
            https("wide", rest=host("*.a.com")),
            https("narrow", rest=host("x.a.com")),
            https("other", rest=host("b.com")),
            https("elsewhere", rest=host("x.a.com"), port=8443),
        )
        + pairs.secret("cert")
    )
    overlap = "OverlappingTLSConfig=True/OverlappingHostnames"
    assert (
        status_text.listener(it, "wide") == status_text.listener(it, "narrow") == [*FINE, overlap]
    )
    assert status_text.listener(it, "other") == status_text.listener(it, "elsewhere") == FINE
    assert tls(it, "x.a.com") == "default/cert 1.2-1.3"


def test_hosts_that_overlap_on_plain_http_are_no_news() -> None:
    it = world(with_listeners(http("wide"), http("narrow", host("a.com"))))
    assert status_text.listener(it, "wide") == FINE


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("{name: missing}", "InvalidCertificateRef"),
        ("{name: broken}", "InvalidCertificateRef"),
        ("{name: cert, kind: ConfigMap}", "InvalidCertificateRef"),
        ("{name: cert, group: example.com}", "InvalidCertificateRef"),
        ("{name: cert, namespace: far}", "RefNotPermitted"),
        ("{name: missing, namespace: far}", "RefNotPermitted"),
    ],
)
def test_a_certificate_that_cannot_serve_stops_its_listener_alone(
    reference: str, reason: str
) -> None:
    chain, _ = pairs.pair()
    bad = listener("bad", 8443, "HTTPS", f"tls: {{certificateRefs: [{reference}]}}")
    it = world(
        with_listeners(bad, https())
        + pairs.secret("cert")
        + pairs.secret("cert", namespace="far")
        + pairs.with_pair("broken", chain, b"no key")
        + route("r")
    )
    assert status_text.listener(it, "bad") == ["Accepted", f"ResolvedRefs=False/{reason}", LOST]
    assert status_text.kinds(it, "bad") == ["HTTPRoute", "GRPCRoute"]
    assert status_text.attached(it) == {"bad": 1, "https": 1}
    assert status_text.listener(it, "https") == FINE
    assert status_text.gateway(it) == [
        "Accepted=True/ListenersNotValid",
        "Programmed",
        "ResolvedRefs=False/ListenersNotResolved",
    ]
    assert envoy(it) == ["ingress_http HTTP 80", "ingress_https HTTPS 443"]


def test_what_is_told_without_a_grant_does_not_tell_whether_the_secret_is_there() -> None:
    it = world(with_listeners(https("a", "far/there"), https("b", "far/absent", port=8443)))
    apply(it, pairs.secret("there", namespace="far"))
    there, absent = (status_text.listener_messages(it, name)[1] for name in ("a", "b"))
    assert there.split(": ", 1)[1].replace("there", "absent") == absent.split(": ", 1)[1]


def test_a_certificate_that_comes_goes_and_breaks_is_followed() -> None:
    it = world(with_listeners(https()))
    assert status_text.listener(it, "https")[1] == "ResolvedRefs=False/InvalidCertificateRef"
    apply(it, pairs.secret("cert"))
    assert status_text.listener(it, "https") == FINE
    assert tls(it, "*") == "default/cert 1.2-1.3"
    delete(it, "Secret", "cert")
    assert status_text.listener(it, "https")[2] == LOST
    assert tls(it, "*") == ""


def test_a_certificate_of_another_namespace_needs_a_grant_and_loses_it() -> None:
    it = world(with_listeners(https(secret="far/cert")) + pairs.secret("cert", namespace="far"))
    assert status_text.listener(it, "https")[1] == "ResolvedRefs=False/RefNotPermitted"
    apply(it, grant("g", "far", FROM_GATEWAY, TO_SECRETS))
    assert status_text.listener(it, "https") == FINE
    assert tls(it, "*") == "far/cert 1.2-1.3"
    delete(it, "ReferenceGrant", "far/g")
    assert status_text.listener(it, "https")[1] == "ResolvedRefs=False/RefNotPermitted"
    assert tls(it, "*") == ""


def test_https_needs_a_certificate() -> None:
    it = world(with_listeners(listener("bare", 443, "HTTPS")))
    assert status_text.listener(it, "bare")[1] == "ResolvedRefs=False/InvalidCertificateRef"


def test_several_certificates_are_served_and_a_broken_one_hurts_no_other() -> None:
    two = "tls: {certificateRefs: [{name: cert}, {name: other}]}"
    it = world(with_listeners(listener("https", 443, "HTTPS", two)) + pairs.secret("cert"))
    assert status_text.listener(it, "https") == [
        "Accepted",
        "ResolvedRefs=False/InvalidCertificateRef",
        "Programmed",
    ]
    assert secure_host(it, "*").tls == nodes.Tls(key("cert"))
    apply(it, pairs.secret("other"))
    assert status_text.listener(it, "https") == FINE
    assert secure_host(it, "*").tls == nodes.Tls(key("cert"), more_secrets=(key("other"),))


def test_where_clients_must_show_certificates_tls_is_not_served_without() -> None:
    refs = "caCertificateRefs: [{group: '', kind: ConfigMap, name: ca}]"
    frontend = (
        f"tls: {{frontend: {{default: {{}}, perPort: "
        f"[{{port: 8443, tls: {{validation: {{{refs}}}}}}}]}}}}"
    )
    it = world(
        with_listeners(http(), https(), https("closed", port=8443), rest=frontend)
        + pairs.secret("cert")
    )
    assert status_text.listener(it, "closed")[0] == "Accepted=False/NoValidCACertificate"
    assert status_text.listener(it, "http") == status_text.listener(it, "https") == FINE


def test_clients_may_be_checked_with_a_bundle_of_the_cluster_that_no_grant_is_asked_for() -> None:
    bundle = "{group: certificates.k8s.io, kind: ClusterTrustBundle, name: all}"
    frontend = f"tls: {{frontend: {{default: {{validation: {{caCertificateRefs: [{bundle}]}}}}}}}}"
    it = world(with_listeners(https(), rest=frontend) + pairs.secret("cert"))
    closed = ["Accepted=False/NoValidCACertificate", "ResolvedRefs=False/InvalidCACertificateRef"]
    assert status_text.listener(it, "https")[:2] == closed
    apply(it, pairs.trust_bundle("all"))
    assert status_text.listener(it, "https") == FINE
    validation = nodes.ClientValidation(nodes.Trust((ObjectRef("ClusterTrustBundle", "", "all"),)))
    assert secure_host(it, "*").tls == nodes.Tls(key("cert"), clients=validation)
    it.write(tables.ABSENT, "ClusterTrustBundle", True)
    it.settle()
    unknown = "ResolvedRefs=False/InvalidCACertificateKind"
    assert status_text.listener(it, "https")[:2] == [closed[0], unknown]
    assert tls(it, "*") == ""


@pytest.mark.parametrize(
    "rest",
    [
        host("10.0.0.1"),
        "allowedRoutes: {namespaces: {from: Selector}}",
        "allowedRoutes: {namespaces: {from: Selector, selector: "
        "{matchExpressions: [{key: a, operator: Like}]}}}",
    ],
)
def test_values_that_make_no_sense_stop_the_listener(rest: str) -> None:
    it = world(with_listeners(http(rest=rest)) + namespace("default"))
    assert status_text.listener(it, "http") == [
        "Accepted=False/UnsupportedValue",
        "ResolvedRefs",
        LOST,
    ]
