"""The checks of the CRDs of GRPCRoute, TLSRoute, ListenerSet and policies."""

from typing import Any

import pytest

from tests.crds import documents
from tests.crds.objects import decoded, errors


def calls(**method: Any) -> documents.Document:
    return documents.grpcroute(documents.backends("web", matches=[{"method": method}]))


@pytest.mark.parametrize(
    ("method", "is_taken"),
    [
        ({"service": "a.b_c.D", "method": "Get_1"}, True),
        ({"service": ".a.B"}, True),
        ({"method": "Get"}, True),
        ({}, False),
        ({"service": "a/b"}, False),
        ({"method": "a.b"}, False),
        ({"type": "RegularExpression", "service": "a/(b"}, True),
        ({"type": "RegularExpression"}, False),
    ],
)
def test_a_method_is_named_as_protobuf_names_it(method: dict[str, Any], is_taken: bool) -> None:
    assert (errors(calls(**method)) == []) == is_taken


def test_a_filter_of_a_call_has_the_field_that_its_type_names() -> None:
    wrong = {"type": "RequestMirror", "extensionRef": {"group": "", "kind": "A", "name": "a"}}
    ((where, _),) = errors(documents.grpcroute({"filters": [wrong]}))
    assert where == "spec.rules[0].filters[0]"
    headers = {"type": "RequestHeaderModifier", "requestHeaderModifier": {"remove": ["a"]}}
    assert errors(documents.grpcroute({"filters": [headers, headers]})) != []


@pytest.mark.parametrize(
    ("validation", "is_taken"),
    [
        ({"wellKnownCACertificates": "System"}, True),
        ({"caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "ca"}]}, True),
        ({}, False),
        (
            {
                "wellKnownCACertificates": "System",
                "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "ca"}],
            },
            False,
        ),
    ],
)
def test_a_policy_names_one_kind_of_authority(validation: dict[str, Any], is_taken: bool) -> None:
    document = documents.backendtlspolicy(hostname="a.b", **validation)
    assert (errors(document) == []) == is_taken


@pytest.mark.parametrize(
    ("value", "is_taken"),
    [("Basic YTpi", True), ("a\tb", True), ("a\nb", False), ("a\n", False), ("a\x7f", False)],
)
def test_a_header_for_a_collector_is_printable(value: str, is_taken: bool) -> None:
    headers = [{"name": "x-key", "value": value}]
    collector = {"backendRef": {"name": "collector", "port": 4317}, "headers": headers}
    assert (errors(documents.telemetrypolicy(provider=collector)) == []) == is_taken


def test_a_policy_tells_ports_of_one_service_apart() -> None:
    document = documents.backendtlspolicy()
    target = document["spec"]["targetRefs"][0]
    document["spec"]["targetRefs"] = [target, {**target, "sectionName": "https"}]
    assert [where for where, _ in errors(document)] == ["spec"]
    document["spec"]["targetRefs"][0] = {**target, "sectionName": "http"}
    assert errors(document) == []


def test_listeners_of_a_set_are_checked_like_those_of_a_gateway() -> None:
    twins = [documents.listener("a"), documents.listener("a", port=81)]
    assert errors(documents.listenerset(*twins)) == [
        ("spec", "Listener name must be unique within the Gateway")
    ]
    tls = {"certificateRefs": [{"name": "certificate"}]}
    assert [where for where, _ in errors(documents.listenerset(documents.listener("a", tls=tls)))]


@pytest.mark.parametrize("version", ["v1", "v1alpha2", "v1alpha3"])
def test_a_tlsroute_of_an_older_version_may_do_without_hosts(version: str) -> None:
    document = documents.tlsroute() | {"apiVersion": f"gateway.networking.k8s.io/{version}"}
    del document["spec"]["hostnames"]
    assert decoded(document).spec.hostnames == ()
