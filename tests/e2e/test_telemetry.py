"""What an XTelemetryPolicy has Envoy tell a collector (Gateway API 1.7, experimental, GEP-5253)."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import Template
from uuid import uuid4

import pytest
from opentelemetry.proto.collector.trace.v1 import (  # type: ignore[import-untyped]
    trace_service_pb2,
)

from dag import nodes
from tests.contour.envoy.served import peers as servers
from tests.e2e import callouts, peers
from tests.e2e.standalone import Standalone, exchange, manifest, standalone
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_HOST = "www.example.com"
_CLASS = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec:
  gateway: {controllerName: projectcontour.io/gateway-controller}
  tracing: {serviceName: of-the-house, extensionService: {namespace: default, name: house}}
---
apiVersion: projectcontour.io/v1alpha1
kind: ExtensionService
metadata: {name: house}
spec: {protocol: h2c, services: [{name: collector, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: contour}
spec: {controllerName: projectcontour.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: main}
spec: {gatewayClassName: contour, listeners: [{name: http, protocol: HTTP, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: main}
spec: {parentRefs: [{name: main}], rules: [{backendRefs: [{name: one, port: 80}]}]}
"""


def _policy(fields: str, name: str = "p", created: int = 1) -> str:
    return f"""
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XTelemetryPolicy
metadata: {{name: {name}, creationTimestamp: '2026-01-01T00:00:0{created}Z'}}
spec:
  targetRefs: [{{group: gateway.networking.k8s.io, kind: Gateway, name: main}}]
  tracing: {{{fields}}}
"""


_HOUSE = b"of-the-house"
"""The name that the ContourConfiguration gives."""
_TO = "mode: Enabled, provider: {backendRef: {name: collector, port: 80}%s}"
_ON = _TO % ""


@dataclass
class Traced:
    """An instance, and the collector."""

    running: Standalone
    collector: servers.Peers

    def follow(self, fields: str) -> str:
        """Sets the policy, and waits until requests are answered by it; a mark that it leaves."""
        mark = f"mark-{uuid4()}"
        attribute = f"{{name: mark, sourceType: Literal, literalValue: {mark}}}"
        given = fields.replace("attributes: [", f"attributes: [{attribute}, ")
        given = given if given != fields else f"{fields}, attributes: [{attribute}]"
        self.running.write("policy.yaml", _policy(given))

        def is_followed() -> bool:
            # The first is not sampled where a policy says so: a parent decides.
            self.ask("until", sampled=True)
            return any(mark.encode() in it for it in self.collector.traced)

        wait(is_followed, f"spans with {mark}")
        return mark

    def ask(
        self, name: str, sent: Mapping[str, str] | None = None, *, sampled: bool | None = None
    ) -> str:
        """One request, perhaps of a trace that its sender has decided about; the path."""
        path, headers = f"{name}-{uuid4()}", dict(sent or {})
        if sampled is not None:
            flags = "01" if sampled else "00"
            headers["traceparent"] = f"00-{uuid4().hex}-{uuid4().hex[:16]}-{flags}"
        answer = self.running.ask(f"http://{_HOST}/{path}", headers=headers)
        assert answer.status == 200
        return path

    def spans(self, path: str) -> list[bytes]:
        """The exports that tell of a path."""
        return [it for it in self.collector.traced if path.encode() in it]

    def is_told(self, path: str) -> bool:
        """Whether a request is traced, once a later one that is traced has been told."""
        later = self.ask("later", sampled=True)
        wait(lambda: self.spans(later), "the span of a later request")
        return bool(self.spans(path))


@pytest.fixture(scope="module", name="traced")
def _traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    with callouts.serving() as collector:
        files = {
            "services.yaml": manifest("services.yaml"),
            "gateway.yaml": _CLASS,
            "collector.yaml": peers.service("collector", collector.grpc),
        }
        folder = tmp_path_factory.mktemp("traced")
        with standalone(folder, files, {"collector": collector.grpc}) as running:
            yield Traced(running, collector)


def test_spans_go_to_the_provider(traced: Traced) -> None:
    traced.follow(_ON)
    path = traced.ask("plain")
    wait(lambda: traced.spans(path), "a span")
    assert not any(_HOUSE in it for it in traced.spans(path))
    assert traced.running.reasons("XTelemetryPolicy default/p") == ""


def test_spans_have_the_names_and_attributes_that_are_asked_for(traced: Traced) -> None:
    attributes = (
        "{name: who, sourceType: Header, headerName: X-Who},"
        "{name: agent, sourceType: Attribute, attributeKey: user_agent.original},"
        "{name: way, sourceType: Attribute, attributeKey: url.path},"
        "{name: code, sourceType: Attribute, attributeKey: http.response.status_code}"
    )
    traced.follow(f"{_ON}, serviceName: edge-1, spanName: in and out, attributes: [{attributes}]")
    path = traced.ask("named", {"X-Who": "anna-7", "User-Agent": "browser-9"})
    wait(lambda: traced.spans(path), "a span")
    for word in ("edge-1", "in and out", "who", "anna-7", "agent", "browser-9", "way", "code"):
        assert word.encode() in traced.spans(path)[0]


_OF_REQUESTS = {
    "client.address": "127.0.0.1",
    "client.port": "$client",
    "http.request.method": "POST",
    "http.response.status_code": "200",
    "network.local.address": "127.0.0.1",
    "network.local.port": "$http",
    "network.peer.address": "127.0.0.1",
    "network.peer.port": "$client",
    "server.port": "$http",
    "url.path": "$path",
    "url.scheme": "http",
    "user_agent.original": "browser-9",
}


def test_every_property_of_a_request_that_is_known_has_its_value(traced: Traced) -> None:
    assert set(_OF_REQUESTS) == set(nodes.REQUEST_PROPERTIES)
    asked = ", ".join(
        f"{{name: my.{it}, sourceType: Attribute, attributeKey: {it}}}" for it in _OF_REQUESTS
    )
    traced.follow(f"{_ON}, attributes: [{asked}]")
    path = f"properties-{uuid4()}"
    with contextlib.closing(traced.running.connection("http", _HOST)) as connection:
        client = connection.sock.getsockname()[1]
        headers = {"User-Agent": "browser-9", "Content-Length": "0"}
        exchange(connection, _HOST, f"/{path}?a=b", "POST", headers)
    wait(lambda: traced.spans(path), "a span")
    values = {"client": client, "http": traced.running.ports["http"], "path": f"/{path}"}
    expected = {f"my.{k}": Template(v).substitute(values) for k, v in _OF_REQUESTS.items()}
    found = _attributes(traced.spans(path)[0], path)
    assert {name: it for name, it in found.items() if name.startswith("my.")} == expected


def _attributes(export: bytes, path: str) -> dict[str, str]:
    """Of the span of a request."""
    told = trace_service_pb2.ExportTraceServiceRequest.FromString(export)
    scopes = [it for of in told.resource_spans for it in of.instrumentation_library_spans]
    spans = [it for scope in scopes for it in scope.spans]
    (found,) = [it for it in spans if path.encode() in it.SerializeToString()]
    return {it.key: it.value.string_value for it in found.attributes}


def test_an_attribute_that_is_not_known_is_left_out_and_told(traced: Traced) -> None:
    odd = "{name: my.odd, sourceType: Attribute, attributeKey: network.protocol.version}"
    traced.follow(f"{_ON}, attributes: [{odd}]")
    path = traced.ask("odd")
    wait(lambda: traced.spans(path), "a span")
    assert "my.odd" not in _attributes(traced.spans(path)[0], path)
    traced.running.until_told("XTelemetryPolicy default/p", "network.protocol.version")


def test_the_provider_gets_the_headers(traced: Traced) -> None:
    traced.follow(_TO % ", headers: [{name: X-Key, value: secret-5}]")
    path = traced.ask("headers")
    wait(lambda: traced.spans(path), "a span")
    assert ("x-key", "secret-5") in traced.collector.trace_headers


@pytest.mark.parametrize("sampled", [True, False])
def test_the_decision_of_a_parent_holds_by_default(traced: Traced, *, sampled: bool) -> None:
    traced.follow(f"{_ON}, parentBasedSampling: {{mode: Enabled}}")
    assert traced.is_told(traced.ask("parent", sampled=sampled)) == sampled
    traced.follow(_ON)
    assert traced.is_told(traced.ask("parent", sampled=sampled)) == sampled


def test_a_rate_of_zero_traces_only_what_a_parent_wants(traced: Traced) -> None:
    traced.follow(f"{_ON}, samplingRate: {{numerator: 0}}")
    assert not traced.is_told(traced.ask("alone"))
    assert traced.is_told(traced.ask("parent", sampled=True))


def test_a_rate_is_a_share_of_the_requests(traced: Traced) -> None:
    traced.follow(f"{_ON}, samplingRate: {{numerator: 1, denominator: 4}}")
    paths = [traced.ask("share") for _ in range(200)]
    traced.is_told(paths[-1])
    assert 20 <= sum(bool(traced.spans(it)) for it in paths) <= 90


def test_parents_that_do_not_count_decide_nothing(traced: Traced) -> None:
    traced.follow(f"{_ON}, parentBasedSampling: {{mode: Disabled}}")
    assert traced.is_told(traced.ask("parent", sampled=False))


def test_the_rate_is_for_all_where_parents_do_not_count(traced: Traced) -> None:
    rate = "samplingRate: {numerator: 1, denominator: 4}"
    traced.follow(f"{_ON}, {rate}, parentBasedSampling: {{mode: Disabled}}")
    paths = [traced.ask("share", sampled=True) for _ in range(200)]
    wait(lambda: sum(bool(traced.spans(it)) for it in paths) >= 20, "a share of the spans")
    assert sum(bool(traced.spans(it)) for it in paths) <= 90


def test_a_share_of_the_requests_of_sampled_parents_is_not_served(traced: Traced) -> None:
    traced.follow(_ON)
    few = "parentBasedSampling: {mode: Enabled, samplingRate: {numerator: 1}}"
    traced.running.write("policy.yaml", _policy(f"{_ON}, {few}"))
    wait(lambda: _is_silent(traced) and _is_silent(traced), "no spans")
    traced.running.until_told("XTelemetryPolicy default/p", "only all requests of sampled parents")


def test_tracing_that_is_disabled_is_so_whatever_the_configuration_says(traced: Traced) -> None:
    traced.follow(_ON)
    traced.running.write("policy.yaml", _policy("mode: Disabled"))
    wait(lambda: _is_silent(traced) and _is_silent(traced), "no spans")


def test_the_default_is_what_the_configuration_says(traced: Traced) -> None:
    traced.follow(_ON)
    traced.running.write("policy.yaml", _policy("mode: ImplementationDefault"))
    paths: list[str] = []

    def is_told() -> bool:
        paths.append(traced.ask("default"))
        return any(_HOUSE in it for path in paths for it in traced.spans(path))

    wait(is_told, "spans with the name that it gives")


def test_while_its_provider_is_missing_nobody_else_gets_the_spans(traced: Traced) -> None:
    traced.follow(_ON)
    traced.running.write("policy.yaml", _policy(_ON.replace("name: collector", "name: gone")))
    wait(lambda: _is_silent(traced) and _is_silent(traced), "no spans")
    traced.running.until_told("XTelemetryPolicy default/p", "BackendNotFound")


def _is_silent(traced: Traced) -> bool:
    before = len(traced.collector.traced)
    paths = [traced.ask("silent", sampled=True) for _ in range(20)]
    return len(traced.collector.traced) == before and not any(map(traced.spans, paths))


def test_of_two_policies_the_older_holds(traced: Traced) -> None:
    traced.follow(_ON)
    traced.running.write("other.yaml", _policy(f"{_ON}, serviceName: younger", "q", 2))
    traced.running.until_told("XTelemetryPolicy default/q", "Conflicted")
    path = traced.ask("older")
    wait(lambda: traced.spans(path), "a span")
    assert not any(b"younger" in it for it in traced.spans(path))
    traced.running.remove("other.yaml")
