"""Settings of upstream Contour become fields of a ContourConfiguration, or are told."""

import json

import pytest
import yaml

from contour.conversion import contourfile
from contour.files import upstream
from crds import decode
from tests.testbed.world import Document

SETTINGS: Document = {
    "accesslog-format": "json",
    "json-fields": ["@timestamp", "method"],
    "cluster": {"circuit-breakers": {"max-connections": 5}, "dns-lookup-family": "v4"},
    "default-http-versions": ["HTTP/1.1"],
    "disablePermitInsecure": True,
    "globalExtAuth": {
        "extensionService": "auth/htpasswd",
        "authPolicy": {"context": {"x-tenant": "a"}},
    },
    "listener": {"connection-balancer": "exact", "max-requests-per-connection": 100},
    "metrics": {
        "contour": {
            "server-certificate-path": "/tls.crt",
            "server-key-path": "/tls.key",
            "ca-certificate-path": "/ca.crt",
        },
        "envoy": {"port": 8002, "server-certificate-path": "", "server-key-path": ""},
    },
    "network": {"num-trusted-hops": 1, "admin-port": 9001},
    "policy": {
        "applyToIngress": True,
        "request-headers": {"set": {"X-A": "b", "l5d-dst-override": "c"}, "remove": ["x-b-c"]},
    },
    "rateLimitService": {"domain": "contour", "extensionService": "projectcontour/limits"},
    "runtime-settings": {"some-key": "1"},
    "timeouts": {"request-timeout": "10s", "connection-idle-timeout": "60s"},
    "tls": {
        "envoy-client-certificate": None,
        "minimum-protocol-version": "1.3",
        "fallback-certificate": {"name": "fallback", "namespace": "projectcontour"},
    },
    "tracing": {"extensionService": "projectcontour/otel", "serviceName": "edge"},
}
SPEC: Document = {
    "envoy": {
        "logging": {"accessLogFormat": "json", "accessLogJSONFields": ["@timestamp", "method"]},
        "cluster": {"circuitBreakers": {"maxConnections": 5}, "dnsLookupFamily": "v4"},
        "defaultHTTPVersions": ["HTTP/1.1"],
        "listener": {
            "connectionBalancer": "exact",
            "maxRequestsPerConnection": 100,
            "tls": {"minimumProtocolVersion": "1.3"},
        },
        "metrics": {"port": 8002},
        "network": {"numTrustedHops": 1, "adminPort": 9001},
        "runtimeSettings": {"some-key": "1"},
        "timeouts": {"requestTimeout": "10s", "connectionIdleTimeout": "60s"},
    },
    "globalExtAuth": {
        "extensionRef": {"namespace": "auth", "name": "htpasswd"},
        "authPolicy": {"context": {"x-tenant": "a"}},
    },
    "httpproxy": {
        "disablePermitInsecure": True,
        "fallbackCertificate": {"name": "fallback", "namespace": "projectcontour"},
    },
    "metrics": {"tls": {"certFile": "/tls.crt", "keyFile": "/tls.key", "caFile": "/ca.crt"}},
    "policy": {
        "applyToIngress": True,
        "requestHeaders": {"set": {"X-A": "b", "l5d-dst-override": "c"}, "remove": ["x-b-c"]},
    },
    "rateLimitService": {
        "domain": "contour",
        "extensionService": {"namespace": "projectcontour", "name": "limits"},
    },
    "tracing": {
        "extensionService": {"namespace": "projectcontour", "name": "otel"},
        "serviceName": "edge",
    },
}


IDLE: Document = {"connectionIdleTimeout": "60s"}
DEFAULTS: Document = {"envoy": {"timeouts": IDLE}}
"""What the file of Contour means if it says nothing."""


def _in_config_map(settings: Document) -> Document:
    metadata = {"name": "contour", "namespace": "projectcontour"}
    data = {"contour.yaml": yaml.safe_dump(settings)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.mark.parametrize("written", [SETTINGS, _in_config_map(SETTINGS)])
def test_a_configuration_file_is_converted(written: Document) -> None:
    found = contourfile.converted([("contour.yaml", json.dumps(written).encode())])
    assert found.told == []
    (document,) = found.documents
    assert document["metadata"] == {"name": "contour", "namespace": "projectcontour"}
    assert document["spec"] == SPEC
    decoded = decode.decode(document)
    assert isinstance(decoded, decode.Decoded)
    assert decoded.complaints == ()


@pytest.mark.parametrize(
    "written",
    [
        {"tls": {"fallback-certificate": {}}},
        {"tls": {"envoy-client-certificate": {"name": "", "namespace": ""}}},
        {"rateLimitService": {"extensionService": ""}},
    ],
)
def test_what_is_empty_is_left_out(written: Document) -> None:
    found = contourfile.converted([("contour.yaml", json.dumps(written).encode())])
    assert found.told == []
    assert [it["spec"] for it in found.documents] == [DEFAULTS]


@pytest.mark.parametrize(
    ("written", "told", "is_fault"),
    [
        ({"kubeconfig": "/x"}, "kubeconfig", False),
        ({"server": {"xds-server-type": "envoy"}}, "server", False),
        ({"nonsense": 1}, "nonsense", False),
        ({"tls": {"nonsense": 1}}, "tls.nonsense", False),
        ({"network": {"num-trusted-hops": "all"}}, "spec.envoy.network.numTrustedHops", True),
        ({"tracing": {"serviceNames": "a"}}, "spec.tracing.serviceNames", True),
        ({"globalExtAuth": {"extensionService": "a"}}, "spec.globalExtAuth.extensionRef", True),
        ({"globalExtAuth": {"failOpen": True}}, "globalExtAuth", False),
        ({"rateLimitService": {"extensionService": "", "domain": "a"}}, "rateLimitService", False),
    ],
)
def test_what_is_not_converted_is_told(written: Document, told: str, *, is_fault: bool) -> None:
    found = contourfile.converted([("contour.yaml", json.dumps(written).encode())])
    assert (told, is_fault) in [(it.field, it.is_left_out) for it in found.told]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"timeouts": {"request-timeout": "30h"}}, "error: -: spec.envoy.timeouts.requestTimeout:"),
        ({"accesslog-format": "text"}, "error: -: spec.envoy.logging.accessLogFormat:"),
        ({"featureFlags": ["useEndpointSlices"]}, "warning: -: spec.featureFlags:"),
    ],
)
def test_what_an_instance_refuses_or_ignores_is_told(written: Document, told: str) -> None:
    (found,) = contourfile.converted([("-", json.dumps(written).encode())]).told
    assert str(found).startswith(told)


@pytest.mark.parametrize("content", [b"a: [", b"kind: ConfigMap\ndata: {contour.yaml: 'a: ['}"])
def test_what_cannot_be_read_is_told(content: bytes) -> None:
    found = contourfile.converted([("contour.yaml", content)])
    assert found.documents == []
    assert [it.is_left_out for it in found.told] == [True]


def test_a_deployment_is_converted() -> None:
    written = {
        "apiVersion": "projectcontour.io/v1alpha1",
        "kind": "ContourDeployment",
        "metadata": {"name": "edge", "namespace": "gateways"},
        "spec": {
            "envoy": {
                "replicas": 3,
                "daemonSet": {},
                "networkPublishing": {"type": "LoadBalancerService"},
            },
            "runtimeSettings": {"envoy": {"logging": {"accessLogFormat": "json"}}},
        },
    }
    found = contourfile.converted([("-", json.dumps(written).encode())])
    (document,) = found.documents
    assert document["metadata"] == {"name": "contour", "namespace": "gateways"}
    assert document["spec"] == {
        "gateway": {"mode": "Single"},
        "envoy": {
            "logging": {"accessLogFormat": "json"},
            "workload": {"replicas": 3},
            "networkPublishing": {"type": "LoadBalancerService"},
        },
    }
    assert [it.field for it in found.told] == ["spec.envoy.daemonSet"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            {"timeouts": {"connection-idle-timeout": "5m"}},
            {"timeouts": {"connectionIdleTimeout": "5m"}},
        ),
        ({"timeouts": {"connection-idle-timeout": None}}, {"timeouts": IDLE}),
        (
            {"envoy-service-name": "web"},
            {"timeouts": IDLE, "service": {"namespace": "edge", "name": "web"}},
        ),
        (
            {"envoy-service-namespace": "lb"},
            {"timeouts": IDLE, "service": {"namespace": "lb", "name": "envoy"}},
        ),
    ],
)
def test_a_default_of_the_file_is_written(written: Document, expected: Document) -> None:
    given = _in_config_map(written)
    given["metadata"]["namespace"] = "edge"
    found = contourfile.converted([("-", json.dumps(given).encode())])
    assert found.told == []
    assert [it["spec"] for it in found.documents] == [{"envoy": expected}]


@pytest.mark.parametrize("name", ["globalExtAuth", "rateLimitService"])
def test_a_service_that_contour_does_not_ask_closes_nothing(name: str) -> None:
    written = {name: {"extensionService": "", "failOpen": False}}
    found = contourfile.converted([("-", json.dumps(written).encode())])
    assert [it["spec"] for it in found.documents] == [DEFAULTS]


def test_what_would_replace_another_is_left_out() -> None:
    text = yaml.safe_dump_all([_in_config_map({}), _in_config_map(SETTINGS)])
    found = contourfile.converted([("-", text.encode())])
    assert [it["spec"] for it in found.documents] == [DEFAULTS]
    assert [(it.subject, it.is_left_out) for it in found.told] == [
        ("ConfigMap projectcontour/contour", True)
    ]


@pytest.mark.parametrize("publishing", [None, {}, {"externalTrafficPolicy": "Cluster"}])
def test_a_deployment_has_a_gateway_and_envoys(publishing: Document | None) -> None:
    spec = {} if publishing is None else {"envoy": {"networkPublishing": publishing}}
    written = {"kind": "ContourDeployment", "metadata": {"name": "a"}, "spec": spec}
    found = contourfile.converted([("-", json.dumps(written).encode())])
    (document,) = found.documents
    assert found.told == []
    assert document["spec"] == {
        "gateway": {"mode": "Single"},
        "envoy": {"networkPublishing": {"type": "LoadBalancerService", **(publishing or {})}},
    }


def test_every_setting_of_the_file_is_looked_at() -> None:
    for path in upstream.FILE_SETTINGS:
        value: object = 1
        for name in reversed(path.split(".")):
            value = {name: value}
        found = contourfile.converted([("-", json.dumps(value).encode())])
        assert found.told or found.documents[0]["spec"], path
