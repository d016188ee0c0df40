"""Hosts of Ingresses behind TLS, and what annotations make of plain HTTP."""

import pytest

from tests.dag.ingress.manifests import configuration, ingress, path, rule, services
from tests.dag.world import apply, messages, problems, routes, secure, tls, world
from tests.testbed import pairs

SERVICES = services("s1", "s2")
RULES = f"rules: [{rule('a.com', path('/', 's1'))}]"
TLS = "tls: [{hosts: [a.com], secretName: cert}]"
SERVED = ["/ -> default/s1:80"]
OLD, YOUNG = "2020-01-01T00:00:00Z", "2024-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("annotations", "plain"),
    [
        ("", SERVED),
        ("ingress.kubernetes.io/force-ssl-redirect: 'true'", ["/ -> 301 https"]),
        ("ingress.kubernetes.io/force-ssl-redirect: 'false'", SERVED),
        ("kubernetes.io/ingress.allow-http: 'false'", []),
        (
            "kubernetes.io/ingress.allow-http: 'false', "
            "ingress.kubernetes.io/force-ssl-redirect: 'true'",
            ["/ -> 301 https"],
        ),
    ],
)
def test_a_host_with_a_secret_is_served_over_tls_and_plain_http_does_as_it_is_told(
    annotations: str, plain: list[str]
) -> None:
    engine = world(
        SERVICES + pairs.secret("cert") + ingress("i", f"{RULES}, {TLS}", annotations=annotations)
    )
    assert secure(engine, "a.com") == SERVED
    assert tls(engine, "a.com") == "default/cert 1.2-1.3"
    assert routes(engine, "a.com") == plain
    assert problems(engine, "Ingress", "i") == []


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            TLS,
            "TLSError/SecretNotValid: spec.tls[0].secretName: Secret default/cert not found; its",
        ),
        ("tls: [{hosts: [a.com]}]", "TLSError/SecretNotValid: spec.tls[0]: secretName is missing"),
    ],
)
def test_a_bad_secret_leaves_plain_http_as_it_is(entry: str, expected: str) -> None:
    engine = world(SERVICES + ingress("i", f"{RULES}, {entry}"))
    assert (routes(engine, "a.com"), secure(engine, "a.com"), tls(engine, "a.com")) == (
        SERVED,
        [],
        "",
    )
    (told,) = messages(engine, "Ingress", "i")
    assert told.startswith(expected)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("secretName: cert", "spec.tls[0]: names no hosts"),
        (
            "hosts: ['*.com'], secretName: cert",
            "spec.tls[0].hosts[0]: '*.com' is the host of no rule of this Ingress",
        ),
    ],
)
def test_an_entry_for_no_host_of_a_rule_is_told(entry: str, expected: str) -> None:
    engine = world(SERVICES + pairs.secret("cert") + ingress("i", f"{RULES}, tls: [{{{entry}}}]"))
    assert (routes(engine, "a.com"), secure(engine, "a.com")) == (SERVED, [])
    told = f"?SpecError/IgnoredField: {expected}; it has no effect"
    assert messages(engine, "Ingress", "i") == [told]


def test_a_secret_that_appears_late_wakes_the_host() -> None:
    engine = world(SERVICES + ingress("i", f"{RULES}, {TLS}"))
    apply(engine, pairs.secret("cert"))
    assert secure(engine, "a.com") == SERVED
    assert problems(engine, "Ingress", "i") == []


def test_the_versions_are_those_of_the_configuration() -> None:
    limits = configuration("envoy: {listener: {tls: {minimumProtocolVersion: '1.3'}}}")
    engine = world(limits + SERVICES + pairs.secret("cert") + ingress("i", f"{RULES}, {TLS}"))
    assert tls(engine, "a.com") == "default/cert 1.3-1.3"


def test_tls_of_a_host_serves_the_routes_of_all_and_the_oldest_secret_wins() -> None:
    other = f"rules: [{rule('a.com', path('/x', 's2'))}]"
    engine = world(
        SERVICES
        + pairs.secret("cert")
        + pairs.secret("other")
        + ingress("old", f"{RULES}, {TLS}", created=OLD)
        + ingress("young", f"{other}, {TLS.replace('cert', 'other')}", created=YOUNG)
    )
    assert tls(engine, "a.com") == "default/cert 1.2-1.3"
    assert secure(engine, "a.com") == ["/x/... -> default/s2:80", *SERVED]
    assert messages(engine, "Ingress", "young") == [
        "TLSError/DuplicateHost: spec.tls[0]: host a.com is served with Secret default/cert of "
        "Ingress default/old, which takes precedence"
    ]
    assert problems(engine, "Ingress", "old") == []


def test_the_versions_of_the_oldest_win_and_that_is_told() -> None:
    newest = "projectcontour.io/tls-minimum-protocol-version: '1.3'"
    other = f"rules: [{rule('a.com', path('/x', 's2'))}]"
    engine = world(
        SERVICES
        + pairs.secret("cert")
        + ingress("old", f"{RULES}, {TLS}", created=OLD)
        + ingress("young", f"{other}, {TLS}", annotations=newest, created=YOUNG)
    )
    assert tls(engine, "a.com") == "default/cert 1.2-1.3"
    assert messages(engine, "Ingress", "young") == [
        "?SpecError/IgnoredField: spec.tls[0]: host a.com is served over TLS 1.2 to 1.3 as "
        "Ingress default/old says, which takes precedence"
    ]


def test_httpproxy_wins_over_ingress_on_the_same_requests_and_the_rest_is_merged() -> None:
    engine = world(
        SERVICES
        + ingress("i", f"rules: [{rule('a.com', path('/', 's1'), path('/i', 's1'))}]")
        + """
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: p}
spec:
  virtualhost: {fqdn: a.com}
  routes: [{services: [{name: s2, port: 80}]}]
"""
    )
    assert routes(engine, "a.com") == ["/i/... -> default/s1:80", "/ -> default/s2:80"]
