"""Certificates that routes bring: who may, which one is served, and what is told.

The rows: the listener has a certificate of its own; it allows others; the route brings one; the
route's host is one of the listener's.
"""

import pytest

from dag.engine.incremental import Engine
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import gateway, gateway_class, host, http, listener, route, service
from tests.dag.world import apply, routes, secure, tls, world
from tests.testbed import pairs

OPTION = "projectcontour.io/route-certificate"
BROUGHT = "default/brought 1.2-1.3"
OWN = "default/cert 1.2-1.3"
FINE = ["Accepted", "ResolvedRefs"]


def given(own: bool, allowed: bool, name: str = "*.a.com") -> str:
    """A Gateway with one TLS listener, and the Secrets that anybody may need."""
    parts = ["certificateRefs: [{name: cert}]"] if own else []
    parts.append(f"options: {{{OPTION}: {'Allow' if allowed else 'Deny'}}}")
    rest = f"tls: {{{', '.join(parts)}}}, {host(name)}"
    return (
        gateway_class()
        + gateway("gw", listener("https", 443, "HTTPS", rest))
        + service("s1")
        + pairs.secret("cert")
        + pairs.secret("brought")
        + pairs.secret("more")
    )


def bringing(
    name: str = "r", hosts: str = "foo.a.com", secret: str = "brought", created: str = ""
) -> str:
    """A route that brings a certificate."""
    annotation = f"metadata: {{annotations: {{projectcontour.io/certificate: {secret}}}, "
    return route(name, hosts=(hosts,), created=created).replace("metadata: {", annotation)


@pytest.mark.parametrize(
    ("own", "allowed", "brings", "matches", "served", "wide"),
    [
        (True, True, True, True, BROUGHT, OWN),
        (True, True, True, False, "", OWN),
        (True, True, False, True, OWN, OWN),
        (True, True, False, False, "", OWN),
        (True, False, True, True, OWN, OWN),
        (True, False, True, False, "", OWN),
        (True, False, False, True, OWN, OWN),
        (True, False, False, False, "", OWN),
        (False, True, True, True, BROUGHT, ""),
        (False, True, True, False, "", ""),
        (False, True, False, True, "", ""),
        (False, True, False, False, "", ""),
        (False, False, True, True, "", ""),
        (False, False, True, False, "", ""),
        (False, False, False, True, "", ""),
        (False, False, False, False, "", ""),
    ],
)
def test_the_certificate_of_a_host(
    own: bool, allowed: bool, brings: bool, matches: bool, served: str, wide: str
) -> None:
    wanted = "foo.a.com" if matches else "foo.b.com"
    it = world(given(own, allowed) + (bringing(hosts=wanted) if brings else _plain(wanted)))
    assert tls(it, wanted) == served
    assert tls(it, "*.a.com") == wide
    is_attached = status_text.route(it, "r")[0] == "Accepted"
    assert is_attached == matches
    assert status_text.listener(it, "https")[0] == "Accepted"
    assert (status_text.listener(it, "https")[2] == "Programmed") == (own or allowed)


def _plain(wanted: str) -> str:
    return route("r", hosts=(wanted,))


def test_a_certificate_that_is_not_wanted_is_told_and_the_route_serves() -> None:
    it = world(given(own=True, allowed=False) + bringing())
    assert status_text.route(it, "r") == FINE
    assert "certificates of routes" in status_text.route_messages(it, "r")[0]
    assert secure(it, "foo.a.com") == ["/ -> default/s1:80"]


def test_a_route_without_a_certificate_where_nobody_has_one_is_told() -> None:
    it = world(given(own=False, allowed=True) + _plain("foo.a.com"))
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs=False/CertificateMissing"]


def test_on_plain_http_the_certificate_is_told_to_be_ignored() -> None:
    it = world(gateway_class() + gateway("gw", http()) + service("s1") + bringing())
    assert routes(it, "foo.a.com") == ["/ -> default/s1:80"]
    assert "certificates of routes" in status_text.route_messages(it, "r")[0]


def test_one_certificate_serves_all_routes_of_a_host() -> None:
    it = world(given(own=False, allowed=True) + bringing() + route("other", hosts=("foo.a.com",)))
    assert tls(it, "foo.a.com") == BROUGHT
    assert status_text.route(it, "other") == FINE


def test_of_two_certificates_the_older_route_s_is_served_and_the_other_told() -> None:
    older = bringing("older", created="01", secret="more")
    it = world(given(own=True, allowed=True) + older + bringing("younger", created="02"))
    assert tls(it, "foo.a.com") == "default/more 1.2-1.3"
    assert "older route" in status_text.route_messages(it, "younger")[0]
    assert "older route" not in status_text.route_messages(it, "older")[0]


@pytest.mark.parametrize("secret", ["absent", "far/cert"])
def test_a_certificate_that_cannot_serve_falls_back_to_the_listener_s(secret: str) -> None:
    it = world(given(own=True, allowed=True) + bringing(secret=secret))
    assert tls(it, "foo.a.com") == OWN
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs=False/InvalidCertificateRef"]


def test_without_one_to_fall_back_to_there_is_no_tls() -> None:
    it = world(given(own=False, allowed=True) + bringing(secret="absent"))
    assert tls(it, "foo.a.com") == ""


def test_other_hosts_of_a_wildcard_keep_the_listener_s() -> None:
    it = world(given(own=True, allowed=True) + bringing() + route("bar", hosts=("bar.a.com",)))
    assert tls(it, "foo.a.com") == BROUGHT
    assert tls(it, "bar.a.com") == OWN


def test_an_option_that_is_not_known_is_told() -> None:
    odd = listener(
        "https", 443, "HTTPS", "tls: {options: {a.b/c: d}, certificateRefs: [{name: c}]}"
    )
    it: Engine = world(gateway_class() + gateway("gw", odd) + pairs.secret("c"))
    assert "a.b/c is not known" in status_text.listener_messages(it, "https")[0]
    apply(it, gateway("gw", http()))
    assert status_text.gateway(it)[0] == "Accepted"
