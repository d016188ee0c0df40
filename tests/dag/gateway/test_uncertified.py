"""Listeners without a certificate: nobody else gets the connections that are meant for them."""

import pytest

from dag import hosts, listeners, nodes
from dag.engine.incremental import Engine
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway import filteredlisteners
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    gateway,
    gateway_class,
    host,
    http,
    https,
    listener,
    listener_set,
    on,
    route,
    service,
)
from tests.dag.httpproxy import manifests as proxies
from tests.dag.world import apply, delete, secure, tls, world
from tests.testbed import pairs

GIVEN = (
    gateway_class()
    + gateway("gw", http(), rest="allowedListeners: {namespaces: {from: All}}")
    + service("s1")
    + service("s2")
    + pairs.secret("cert")
)
OWN = listener_set("own", https("a", "gone", host("a.example.com")))
WIDE = listener_set("wide", https())
SET = "{kind: ListenerSet, name: %s}"


def _at(name: str) -> nodes.HostKey:
    return nodes.HostKey(DEFAULT_FLEET, "ingress_https", name)


def _is_closed(engine: Engine, name: str) -> bool:
    """Whether Envoy closes the connections for a host."""
    found = engine.answer(hosts.secure_host, _at(name))
    if found is None or found.stream is None:
        return False
    return found.tls is None and all(it.cluster is None for it in found.stream.shares)


@pytest.mark.parametrize(
    "wide",
    [
        WIDE,
        listener_set("wide", https(rest=host("*.example.com"))),
        listener_set("wide", listener("tls", 443, "TLS", "tls: {mode: Passthrough}")),
        proxies.tls_root("wide", f"routes: [{proxies.to('s1')}]", fqdn="'*.example.com'"),
    ],
)
def test_no_wider_host_takes_what_is_meant_for_a_listener_without_its_certificate(
    wide: str,
) -> None:
    routed = route("r", hosts=("a.example.com",), parents=SET % "own")
    it = world(GIVEN + OWN + routed + wide)
    assert _is_closed(it, "a.example.com")
    assert secure(it, "a.example.com") == []
    assert status_text.set_listener(it, "a", "own")[2] == "Programmed=False/Invalid"
    apply(it, pairs.secret("gone"))
    assert tls(it, "a.example.com") == "default/gone 1.2-1.3"
    assert secure(it, "a.example.com")[0] == "/ -> default/s1:80"


def test_where_nobody_would_take_them_nothing_is_closed() -> None:
    it = world(GIVEN + OWN + WIDE)
    assert _is_closed(it, "a.example.com")
    delete(it, "ListenerSet", "wide")
    assert it.answer(hosts.secure_host, _at("a.example.com")) is None
    bare = world(GIVEN + gateway("gw", https("a", "gone", host("a.example.com"))))
    assert all(found.port != 443 or not found.origins for found in _open(bare))


def _open(engine: Engine) -> list[nodes.Listener]:
    return [it for _, it in engine.answers(listeners.listener) if it is not None]


def test_a_route_of_both_listeners_is_not_served_by_the_wider_one() -> None:
    own = listener_set("own", https("a", "gone", host("*.example.com")))
    both = f"{SET % 'own'}, {SET % 'wide'}"
    it = world(GIVEN + own + WIDE + route("r", hosts=("x.example.com",), parents=both))
    assert _is_closed(it, "x.example.com")
    assert _is_closed(it, "*.example.com")
    assert secure(it, "x.example.com") == []
    delete(it, "ListenerSet", "own")
    assert tls(it, "x.example.com") == "default/cert 1.2-1.3"


def test_an_httpproxy_with_a_certificate_serves_the_host() -> None:
    proxy = proxies.tls_root("p", f"routes: [{proxies.to('s2')}]", fqdn="a.example.com")
    it = world(GIVEN + OWN + WIDE + proxy)
    assert tls(it, "a.example.com") == "default/cert 1.2-1.3"
    assert secure(it, "a.example.com") == ["/ -> default/s2:80"]


def test_no_httpproxy_takes_the_requests_of_routes_whose_listener_has_no_certificate() -> None:
    proxy = proxies.tls_root("p", f"routes: [{proxies.to('s2')}]", fqdn="a.example.com")
    routed = route("r", on("/own", "s1"), hosts=("a.example.com",), parents=SET % "own")
    it = world(GIVEN + OWN + routed + proxy)
    assert secure(it, "a.example.com") == ["/own/... -> 503", "/ -> default/s2:80"]


_FRONTEND = "tls: {frontend: {default: {validation: {caCertificateRefs: [%s]}}}}"
_AUTHORITY = "{group: '', kind: Secret, name: ca}"
_POLICY = """
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: ClientTrafficPolicy
metadata: {name: clients, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gw}]
  tls: {clientValidation: {caCertificateRefs: [{name: ca}]}}
"""


@pytest.mark.parametrize(
    ("check", "more", "lost"),
    [
        (_FRONTEND % _AUTHORITY, "", "own"),
        (_FRONTEND % _AUTHORITY, "", "ca"),
        ("", _POLICY, "own"),
    ],
)
@pytest.mark.parametrize("fqdn", ["a.example.com", "'*.example.com'"])
def test_no_other_api_lets_in_whom_a_listener_that_is_not_served_would_check(
    check: str, more: str, lost: str, fqdn: str
) -> None:
    own = gateway("gw", https("a", "own", host("a.example.com")), rest=check)
    proxy = proxies.tls_root("p", f"routes: [{proxies.to('s2')}]", fqdn=fqdn)
    it = world(GIVEN + own + more + pairs.authority("ca") + pairs.secret("own") + proxy)
    assert tls(it, "a.example.com") == "default/own 1.2-1.3"
    delete(it, "Secret", lost)
    assert _is_closed(it, "a.example.com")


def test_the_filters_of_a_listener_without_certificate_are_passed_on_hosts_of_other_apis() -> None:
    asked = "protocol: HTTP, http: {path: /}, backendRef: {name: s1, port: 80}"
    filters = f"filters: {{requests: [{{type: ExternalAuth, externalAuth: {{{asked}}}}}]}}"
    proxy = proxies.tls_root("p", f"routes: [{proxies.to('s2')}]", fqdn="a.example.com")
    it = world(GIVEN + gateway("gw", https("a", "own", filters)) + pairs.secret("own") + proxy)
    key = nodes.ListenerKey(DEFAULT_FLEET, "ingress_https")
    before = it.answer(filteredlisteners.filters, key)
    assert before
    delete(it, "Secret", "own")
    assert secure(it, "a.example.com")[0] == "/ -> default/s2:80"
    assert it.answer(filteredlisteners.filters, key) == before
    delete(it, "Service", "s1")
    assert secure(it, "a.example.com") == ["/ -> 503"]


def test_a_listener_whose_routes_may_bring_certificates_keeps_its_hosts() -> None:
    options = "tls: {options: {projectcontour.io/route-certificate: Allow}}"
    own = listener_set("own", listener("a", 443, "HTTPS", f"{options}, {host('*.example.com')}"))
    it = world(GIVEN + own + WIDE)
    assert _is_closed(it, "*.example.com")
    delete(it, "ListenerSet", "wide")
    assert tls(it, "*.example.com") == ""
