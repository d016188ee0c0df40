"""Marked fields are listed where an object really sets them, with paths as users write them."""

from typing import Any

import pytest

from crds.unserved import unserved
from tests.crds import documents
from tests.crds.objects import decoded

WEB = {"name": "web", "port": 80}


def listed(document: documents.Document) -> list[tuple[str, bool]]:
    return [(it.path, it.guards) for it in unserved(decoded(document))]


@pytest.mark.parametrize("document", documents.of_every_kind(), ids=lambda it: str(it["kind"]))
def test_what_this_release_serves_is_not_listed(document: documents.Document) -> None:
    assert listed(document) == []


def route(**fields: Any) -> documents.Document:
    return documents.httpproxy(routes=[{"services": [WEB]}, {"services": [WEB], **fields}])


def host(**fields: Any) -> documents.Document:
    return documents.httpproxy(virtualhost={"fqdn": "a.b", **fields})


def backend(**fields: Any) -> documents.Document:
    return documents.httpproxy(routes=[{"services": [WEB, {**WEB, **fields}]}])


JWT = {"name": "a", "localJWKS": {"secretName": "a", "key": "b"}}
ADDRESSES = [{"source": "Peer", "cidr": "10.0.0.0/8"}]
LIMIT = {"local": {"requests": 1, "unit": "second"}}
CA = {"caSecret": "a", "subjectName": "b"}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (host(jwtProviders=[JWT]), ("spec.virtualhost.jwtProviders", True)),
        (host(authorization={}), ("spec.virtualhost.authorization", True)),
        (
            host(corsPolicy={"allowOrigin": ["*"], "allowMethods": ["GET"]}),
            ("spec.virtualhost.corsPolicy", True),
        ),
        (host(rateLimitPolicy=LIMIT), ("spec.virtualhost.rateLimitPolicy", True)),
        (host(ipAllowPolicy=ADDRESSES), ("spec.virtualhost.ipAllowPolicy", True)),
        (host(ipDenyPolicy=ADDRESSES), ("spec.virtualhost.ipDenyPolicy", True)),
        (host(tls={"passthrough": True}), ("spec.virtualhost.tls.passthrough", True)),
        (host(tls={"clientValidation": {}}), ("spec.virtualhost.tls.clientValidation", True)),
        (
            host(tls={"enableFallbackCertificate": True}),
            ("spec.virtualhost.tls.enableFallbackCertificate", False),
        ),
        (route(authPolicy={"disabled": True}), ("spec.routes[1].authPolicy", True)),
        (route(rateLimitPolicy=LIMIT), ("spec.routes[1].rateLimitPolicy", True)),
        (route(jwtVerificationPolicy={}), ("spec.routes[1].jwtVerificationPolicy", True)),
        (route(ipAllowPolicy=ADDRESSES), ("spec.routes[1].ipAllowPolicy", True)),
        (route(ipDenyPolicy=ADDRESSES), ("spec.routes[1].ipDenyPolicy", True)),
        (route(healthCheckPolicy={"path": "/"}), ("spec.routes[1].healthCheckPolicy", False)),
        (
            route(timeoutPolicy={"idleConnection": "1s", "idle": "1s"}),
            ("spec.routes[1].timeoutPolicy.idleConnection", False),
        ),
        (
            route(cookieRewritePolicies=[{"name": "a", "secure": True}]),
            ("spec.routes[1].cookieRewritePolicies", False),
        ),
        (
            route(loadBalancerPolicy={"strategy": "Cookie"}),
            ("spec.routes[1].loadBalancerPolicy.strategy", False),
        ),
        (backend(protocol="tls"), ("spec.routes[0].services[1].protocol", True)),
        (backend(validation=CA), ("spec.routes[0].services[1].validation", True)),
        (backend(mirror=True), ("spec.routes[0].services[1].mirror", False)),
        (documents.httpproxy(tcpproxy={"services": [WEB]}), ("spec.tcpproxy", False)),
        (
            documents.httproute(documents.backends("web", retry={"attempts": 1})),
            ("spec.rules[0].retry", False),
        ),
        (
            documents.gateway(tls={"frontend": {"default": {}}}),
            ("spec.tls.frontend", True),
        ),
        (documents.gateway(addresses=[{"value": "10.0.0.1"}]), ("spec.addresses", False)),
        (
            documents.contourconfiguration(globalExtAuth={}),
            ("spec.globalExtAuth", True),
        ),
        (
            documents.contourconfiguration(envoy={"listener": {"useProxyProtocol": True}}),
            ("spec.envoy.listener.useProxyProtocol", False),
        ),
    ],
    ids=lambda it: it[0] if isinstance(it, tuple) else "",
)
def test_a_field_that_is_not_served_is_listed(
    document: documents.Document, expected: tuple[str, bool]
) -> None:
    assert listed(document) == [expected]


@pytest.mark.parametrize("strategy", ["", "RoundRobin", "Random", "WeightedLeastRequest"])
def test_a_value_that_is_served_is_not_listed(strategy: str) -> None:
    assert listed(route(loadBalancerPolicy={"strategy": strategy})) == []
    assert listed(backend(protocol="h2c")) == []


def test_a_field_that_is_set_to_its_default_is_not_listed() -> None:
    assert listed(host(tls={"passthrough": False}, ipAllowPolicy=[])) == []


def test_a_guard_below_a_field_that_is_not_served_is_listed_too() -> None:
    reference = {"type": "ExtensionRef", "extensionRef": {"group": "a", "kind": "B", "name": "c"}}
    rule = {"backendRefs": [{"name": "web", "port": 80, "filters": [reference]}]}
    assert listed(documents.httproute(rule)) == [
        ("spec.rules[0].backendRefs[0].filters", False),
        ("spec.rules[0].backendRefs[0].filters[0].extensionRef", True),
    ]


@pytest.mark.parametrize(
    ("kind", "field", "guards"),
    [
        ("RequestMirror", {"requestMirror": {"backendRef": {"name": "a", "port": 1}}}, False),
        ("CORS", {"cors": {}}, True),
        (
            "ExternalAuth",
            {
                "externalAuth": {
                    "protocol": "GRPC",
                    "backendRef": {"name": "a", "port": 1},
                    "grpc": {},
                }
            },
            True,
        ),
    ],
)
def test_filters_that_are_not_served_are_listed(
    kind: str, field: documents.Document, guards: bool
) -> None:
    document = documents.httproute(documents.backends("web", filters=[{"type": kind, **field}]))
    assert listed(document) == [(f"spec.rules[0].filters[0].{next(iter(field))}", guards)]
