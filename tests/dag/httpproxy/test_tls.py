"""Hosts behind TLS: Secrets, delegation, versions, and what plain HTTP does meanwhile."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from dag import tables
from dag.ports import HostPorts
from tests.dag.httpproxy.manifests import configuration, on, services, tls_root, to
from tests.dag.world import apply, delete, messages, problems, routes, secure, tls, world
from tests.testbed import certificates, pairs

SERVICES = services("s1", "s2")
REDIRECT = "/ -> 301 https"


def test_a_host_with_a_secret_is_served_over_tls_and_redirected_on_plain_http() -> None:
    engine = world(SERVICES + pairs.secret("cert") + tls_root("root", f"routes: [{to('s1')}]"))
    assert secure(engine, "a.com") == ["/ -> default/s1:80"]
    assert tls(engine, "a.com") == "default/cert 1.2-1.3"
    assert routes(engine, "a.com") == [REDIRECT]
    assert problems(engine, "HTTPProxy", "root") == []


def test_a_route_that_permits_it_is_served_on_plain_http_too() -> None:
    permitted = on("/open", "s2", "permitInsecure: true")
    engine = world(
        SERVICES + pairs.secret("cert") + tls_root("root", f"routes: [{to('s1')}, {permitted}]")
    )
    assert routes(engine, "a.com") == ["/open -> default/s2:80", REDIRECT]
    assert secure(engine, "a.com") == ["/open -> default/s2:80", "/ -> default/s1:80"]


def test_the_configuration_can_forbid_that() -> None:
    engine = world(
        SERVICES
        + pairs.secret("cert")
        + configuration("httpproxy: {disablePermitInsecure: true}")
        + tls_root("root", f"routes: [{to('s1', 'permitInsecure: true')}]")
    )
    assert routes(engine, "a.com") == [REDIRECT]


@pytest.mark.parametrize(
    ("host_ports", "expected"),
    [
        (HostPorts(), "/ -> 301 https 8443"),  # moved from 443: nobody translates it
        (HostPorts(moved=((443, 9443),)), "/ -> 301 https 9443"),
        (HostPorts(overrides=((443, 9443),)), REDIRECT),  # chosen: clients reach it as 443
    ],
)
def test_a_redirect_on_one_machine_names_a_port_that_was_moved_by_itself(
    host_ports: HostPorts, expected: str
) -> None:
    engine = world(SERVICES + pairs.secret("cert") + tls_root("root", f"routes: [{to('s1')}]"))
    engine.write(tables.HOST_PORTS, (), host_ports)
    engine.settle()
    assert routes(engine, "a.com") == [expected]


def test_a_redirect_names_the_port_that_users_see_where_it_is_unusual() -> None:
    engine = world(
        SERVICES
        + pairs.secret("cert")
        + configuration("envoy: {externalPorts: {http: 8080, https: 8443}}")
        + tls_root("root", f"routes: [{to('s1')}]")
    )
    assert routes(engine, "a.com") == [f"{REDIRECT} 8443"]


CHAIN, KEY = pairs.pair()
OTHER_CURVE = certificates.self_signed("k1", curve=ec.SECP256K1())


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        ("", "Secret default/cert not found"),
        (pairs.with_pair("cert", b"", KEY), "has no certificate"),
        (pairs.with_pair("cert", CHAIN, b""), "has no private key"),
        (pairs.with_pair("cert", b"junk", KEY), "does not parse"),
        (pairs.with_pair("cert", pairs.in_year_0(CHAIN), KEY), "does not parse"),
        (pairs.with_pair("cert", CHAIN, pairs.pair(1)[1]), "do not belong together"),
        (pairs.of("cert", OTHER_CURVE), "an ECDSA key of the curve secp256k1, not P-256"),
    ],
)
def test_a_secret_that_cannot_serve_takes_the_host_off_tls_but_never_into_the_clear(
    secret: str, why: str
) -> None:
    permitted = on("/x", "s2", "permitInsecure: true")
    engine = world(SERVICES + secret + tls_root("root", f"routes: [{to('s1')}, {permitted}]"))
    assert secure(engine, "a.com") == []
    assert tls(engine, "a.com") == ""
    assert routes(engine, "a.com") == ["/x -> default/s2:80", "/ -> 503"]
    (told,) = messages(engine, "HTTPProxy", "root")
    assert told.startswith("TLSError/SecretNotValid: spec.virtualhost.tls.secretName: ")
    assert why in told


def test_a_secret_that_appears_late_wakes_the_host() -> None:
    engine = world(SERVICES + tls_root("root", f"routes: [{to('s1')}]"))
    apply(engine, pairs.secret("cert"))
    assert secure(engine, "a.com") == ["/ -> default/s1:80"]
    assert problems(engine, "HTTPProxy", "root") == []
    delete(engine, "Secret", "default/cert")
    assert tls(engine, "a.com") == ""


def delegation(targets: str, secret: str = "cert") -> str:
    return f"""
---
apiVersion: projectcontour.io/v1
kind: TLSCertificateDelegation
metadata: {{name: d, namespace: certs}}
spec: {{delegations: [{{secretName: {secret}, targetNamespaces: {targets}}}]}}
"""


@pytest.mark.parametrize(
    ("delegated", "expected"),
    [
        ("", ["TLSError/DelegationNotPermitted"]),
        (delegation("[other]"), ["TLSError/DelegationNotPermitted"]),
        (delegation("['*', other]"), ["TLSError/DelegationNotPermitted"]),
        (delegation("[default]", "wrong"), ["TLSError/DelegationNotPermitted"]),
        (delegation("[other, default]"), []),
        (delegation("['*']"), []),
        (delegation("['*', default]"), []),
    ],
)
def test_a_secret_of_another_namespace_must_be_delegated(
    delegated: str, expected: list[str]
) -> None:
    engine = world(
        SERVICES
        + pairs.secret("cert", "certs")
        + delegated
        + tls_root("root", f"routes: [{to('s1')}]", secret="certs/cert")
    )
    assert problems(engine, "HTTPProxy", "root") == expected
    assert tls(engine, "a.com") == ("" if expected else "certs/cert 1.2-1.3")


def test_without_delegation_nobody_learns_whether_the_secret_exists() -> None:
    proxy = tls_root("root", f"routes: [{to('s1')}]", secret="certs/cert")
    without, with_it = (
        world(SERVICES + proxy),
        world(SERVICES + proxy + pairs.secret("cert", "certs")),
    )
    assert messages(without, "HTTPProxy", "root") == messages(with_it, "HTTPProxy", "root")


@pytest.mark.parametrize(
    ("targets", "expected"), [("['*', x]", ["?SpecError/IgnoredField"]), ("['*']", []), ("[x]", [])]
)
def test_a_star_among_names_is_told_on_the_delegation(targets: str, expected: list[str]) -> None:
    engine = world(delegation(targets) + pairs.secret("cert", "certs"))
    assert problems(engine, "TLSCertificateDelegation", "certs/d") == expected


def test_a_delegation_of_a_secret_that_is_not_there_is_told_to_its_author_alone() -> None:
    engine = world(SERVICES + delegation("['*']"))
    (told,) = messages(engine, "TLSCertificateDelegation", "certs/d")
    assert told.startswith(
        "?SpecError/SecretNotFound: spec.delegations[0].secretName: Secret certs"
    )
    apply(engine, pairs.secret("cert", "certs"))
    assert problems(engine, "TLSCertificateDelegation", "certs/d") == []


@pytest.mark.parametrize(
    ("tls_spec", "settings", "expected", "told"),
    [
        ("minimumProtocolVersion: '1.3'", "", "default/cert 1.3-1.3", []),
        ("maximumProtocolVersion: '1.2'", "", "default/cert 1.2-1.2", []),
        ("minimumProtocolVersion: '1.1'", "", "default/cert 1.2-1.3", ["?SpecError/IgnoredField"]),
        ("", "minimumProtocolVersion: '1.3'", "default/cert 1.3-1.3", []),
        (
            "minimumProtocolVersion: '1.3', maximumProtocolVersion: '1.2'",
            "",
            "",
            ["TLSError/TLSConfigNotValid"],
        ),
        (
            "maximumProtocolVersion: '1.2'",
            "minimumProtocolVersion: '1.3'",
            "",
            ["TLSError/TLSConfigNotValid"],
        ),
    ],
)
def test_the_versions_are_those_that_host_and_configuration_both_allow(
    tls_spec: str, settings: str, expected: str, told: list[str]
) -> None:
    configured = f"envoy: {{listener: {{tls: {{{settings}}}}}}}"
    spec = f"virtualhost: {{fqdn: a.com, tls: {{secretName: cert, {tls_spec}}}}}"
    engine = world(
        SERVICES
        + pairs.secret("cert")
        + (configuration(configured) if settings else "")
        + f"""
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: root}}
spec: {{{spec}, routes: [{to("s1")}]}}
"""
    )
    assert tls(engine, "a.com") == expected
    assert problems(engine, "HTTPProxy", "root") == told


@pytest.mark.parametrize("secret", ["''", "a/b/c", "/cert", "certs/"])
def test_a_reference_that_names_no_secret_is_told(secret: str) -> None:
    engine = world(SERVICES + tls_root("root", f"routes: [{to('s1')}]", secret=secret))
    (told,) = problems(engine, "HTTPProxy", "root")
    assert told in {"TLSError/TLSConfigNotValid", "TLSError/SecretNotValid"}
    assert tls(engine, "a.com") == ""
