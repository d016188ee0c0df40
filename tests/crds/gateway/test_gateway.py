"""The checks of the Gateway's CRD that no schema can say."""

from typing import Any

import pytest

from tests.crds import documents
from tests.crds.objects import decoded, errors

CERTIFICATE = {"certificateRefs": [{"name": "certificate"}]}


def one(**fields: Any) -> documents.Document:
    return documents.gateway(documents.listener("a", **fields))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (one(tls=CERTIFICATE), "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']"),
        (
            one(protocol="HTTPS", tls={"mode": "Passthrough"}),
            "tls mode must be Terminate for protocol HTTPS",
        ),
        (one(protocol="TLS"), "tls mode must be set for protocol TLS"),
        (
            one(protocol="TCP", hostname="a.b"),
            "hostname must not be specified for protocols ['TCP', 'UDP']",
        ),
    ],
)
def test_a_listener_has_what_fits_its_protocol(given: documents.Document, message: str) -> None:
    assert errors(given) == [("spec.listeners[0]", message)]


def test_tls_that_ends_here_needs_a_certificate_or_options() -> None:
    assert errors(one(protocol="HTTPS", tls={})) == [
        (
            "spec.listeners[0].tls",
            "certificateRefs or options must be specified when mode is Terminate",
        )
    ]
    assert errors(one(protocol="HTTPS", tls={"options": {"a.b/c": "d"}})) == []
    assert errors(one(protocol="TLS", tls={"mode": "Passthrough"})) == []


def test_listeners_have_names_of_their_own() -> None:
    twins = [documents.listener("a"), documents.listener("a", port=81)]
    assert errors(documents.gateway(*twins)) == [
        ("spec", "Listener name must be unique within the Gateway")
    ]


@pytest.mark.parametrize(
    ("other", "is_taken"),
    [
        ({}, False),
        ({"port": 81}, True),
        ({"hostname": "a.b"}, True),
        ({"protocol": "TCP"}, True),
    ],
)
def test_listeners_have_places_of_their_own(other: documents.Document, is_taken: bool) -> None:
    document = documents.gateway(documents.listener("a"), documents.listener("b", **other))
    assert (errors(document) == []) == is_taken


def test_routes_come_from_the_same_namespace_if_a_listener_does_not_say() -> None:
    (listener,) = decoded(one()).spec.listeners
    assert listener.allowed_routes.namespaces.from_ == "Same"
    (listener,) = decoded(one(allowedRoutes={"namespaces": {"from": "All"}})).spec.listeners
    assert listener.allowed_routes.namespaces.from_ == "All"


def test_a_wildcard_stands_in_front_only() -> None:
    assert errors(one(hostname="*.a.b")) == []
    for name in ("*", "a.*.b", "A.b", "a_b"):
        assert [it for it, _ in errors(one(hostname=name))] == ["spec.listeners[0].hostname"]


def test_ports_of_the_frontend_are_told_apart() -> None:
    port = {"port": 443, "tls": {}}
    document = documents.gateway(tls={"frontend": {"default": {}, "perPort": [port, port]}})
    assert errors(document) == [
        ("spec.tls.frontend", "Port for TLS configuration must be unique within the Gateway")
    ]
