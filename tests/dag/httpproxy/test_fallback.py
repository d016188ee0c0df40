"""Clients that send no server name: which hosts serve them, with which certificate."""

import pytest

from dag import hosts, nodes
from dag.engine.incremental import Engine
from tests.dag.httpproxy import served
from tests.dag.httpproxy.manifests import configuration, root, services, to
from tests.dag.world import FLEET, apply, delete, messages, tls, world
from tests.testbed import pairs

DELEGATION = """
---
apiVersion: projectcontour.io/v1
kind: TLSCertificateDelegation
metadata: {name: d, namespace: certs}
spec: {delegations: [{secretName: fallback, targetNamespaces: ['*']}]}
"""
SETTINGS = configuration(
    "gateway: {}, httpproxy: {fallbackCertificate: {namespace: certs, name: fallback}}"
)
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
spec:
  gatewayClassName: contour
  listeners:
  - {name: http, port: 80, protocol: HTTP}
  - {name: tls, port: 443, protocol: TLS, hostname: db.com, tls: {mode: Passthrough}}
"""
GIVEN = services("s1") + pairs.secret("cert") + pairs.secret("fallback", "certs")


def host(rest: str = "", fqdn: str = "a.com") -> str:
    wanted = f"tls: {{secretName: cert, enableFallbackCertificate: true{rest}}}"
    text = root("root", f"routes: [{to('s1')}]", fqdn=fqdn)
    return text.replace(f"fqdn: {fqdn}", f"fqdn: {fqdn}, {wanted}")


def is_served(engine: Engine) -> bool:
    found = served.virtual_host(engine, at="ingress_https")
    return found.is_fallback


def test_clients_without_a_name_get_the_fallback_certificate_and_the_hosts_that_want_them() -> None:
    engine = world(GIVEN + DELEGATION + SETTINGS + host())
    assert is_served(engine)
    assert not served.virtual_host(engine).is_fallback
    assert tls(engine, "*") == "certs/fallback 1.2-1.3"
    assert tls(engine, "a.com") == "default/cert 1.2-1.3"
    key = nodes.HostKey(FLEET, "ingress_https", "*")
    assert engine.answer(hosts.virtual_host, key) is None
    delete(engine, "HTTPProxy", "root")
    assert tls(engine, "*") == ""


@pytest.mark.parametrize(
    ("given", "rest", "reason"),
    [
        (GIVEN + DELEGATION, "", "FallbackNotPresent"),
        (GIVEN + SETTINGS, "", "FallbackNotDelegated"),
        (
            services("s1") + pairs.secret("cert") + SETTINGS + DELEGATION,
            "",
            "FallbackNotValid",
        ),
        (
            GIVEN + SETTINGS + DELEGATION + pairs.authority("ca"),
            ", clientValidation: {caSecret: ca}",
            "TLSIncompatibleFeatures",
        ),
    ],
)
def test_a_fallback_that_cannot_be_is_told_and_the_host_is_served_by_name(
    given: str, rest: str, reason: str
) -> None:
    engine = world(given + host(rest))
    assert not is_served(engine)
    assert tls(engine, "*") == ""
    assert tls(engine, "a.com") == "default/cert 1.2-1.3"
    (told,) = messages(engine, "HTTPProxy", "root")
    assert told.startswith(f"TLSError/{reason}: spec.virtualhost.tls.enableFallbackCertificate: ")


def test_a_host_for_everybody_wins_over_the_fallback() -> None:
    engine = world(GIVEN + DELEGATION + SETTINGS + host())
    every = root("every", f"routes: [{to('s1')}]", fqdn="'*'")
    apply(engine, every.replace("fqdn: '*'", "fqdn: '*', tls: {secretName: cert}"))
    assert tls(engine, "*") == "default/cert 1.2-1.3"


@pytest.mark.parametrize("stream", ["secretName: cert", "passthrough: true"])
def test_a_tcpproxy_for_everybody_hides_the_fallback_and_that_is_told(stream: str) -> None:
    engine = world(GIVEN + DELEGATION + SETTINGS + host())
    assert not messages(engine, "HTTPProxy", "root")
    every = root("every", "tcpproxy: {services: [{name: s1, port: 80}]}", fqdn="'*'")
    apply(engine, every.replace("fqdn: '*'", f"fqdn: '*', tls: {{{stream}}}"))
    (told,) = messages(engine, "HTTPProxy", "root")
    field = "spec.virtualhost.tls.enableFallbackCertificate"
    assert told.startswith(f"?SpecError/IgnoredField: {field}: has no effect")
    delete(engine, "HTTPProxy", "every")
    assert not messages(engine, "HTTPProxy", "root")


def test_a_listener_of_a_gateway_for_streams_leaves_unknown_names_to_the_fallback() -> None:
    it = world(GIVEN + DELEGATION + SETTINGS + host() + GATEWAY)
    assert is_served(it)
    assert tls(it, "*") == "certs/fallback 1.2-1.3"
    assert tls(it, "db.com") == "passthrough"
    delete(it, "HTTPProxy", "root")
    assert tls(it, "*") == "passthrough"  # of a stream that is closed


def test_a_gateway_that_terminates_tls_for_a_host_keeps_clients_without_a_name_away() -> None:
    """They would pass none of its checks, such as that of client certificates."""
    it = world(GIVEN + DELEGATION + SETTINGS + host())
    tls_of_gateway = "protocol: HTTPS, hostname: a.com, tls: {certificateRefs: [{name: cert}]}"
    passed_on = "protocol: TLS, hostname: db.com, tls: {mode: Passthrough}"
    apply(it, GATEWAY.replace(passed_on, tls_of_gateway))
    assert not is_served(it)
    (told,) = messages(it, "HTTPProxy", "root")
    field = "spec.virtualhost.tls.enableFallbackCertificate"
    assert told.startswith(f"?SpecError/IgnoredField: {field}: has no effect for a.com")
    delete(it, "Gateway", "edge")
    assert is_served(it)


def test_a_fallback_beside_a_tcpproxy_has_no_effect_and_that_is_told() -> None:
    stream = "tcpproxy: {services: [{name: s1, port: 80}]}, routes:"
    it = world(GIVEN + DELEGATION + SETTINGS + host().replace("routes:", stream))
    assert tls(it, "*") == ""
    (told,) = messages(it, "HTTPProxy", "root")
    at = "spec.virtualhost.tls.enableFallbackCertificate"
    assert told.startswith(f"?SpecError/IgnoredField: {at}: has no effect")
