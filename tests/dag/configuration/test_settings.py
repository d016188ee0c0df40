"""What a ContourConfiguration makes of listeners, clusters and routes, and what it is told."""

from typing import Any

import pytest

from crds.meta import NamespacedName
from dag import defaults, nodes, tables
from dag.configuration import settings
from dag.engine.incremental import Engine
from dag.engine.view import Kept, Plan, Query, Table
from dag.plan import PLAN
from tests.dag.httpproxy import served
from tests.dag.httpproxy.manifests import configuration, extension, root, services, to
from tests.dag.world import apply, messages, problems

ONCE: Table[tuple[()], bool] = Table("once")
SETTINGS: tuple[Query[tuple[()], Any], ...] = (
    defaults.edge,
    settings.settings,
    defaults.rate_limit_service,
)


def configured(spec: str, more: str = "") -> Engine:
    engine = Engine(PLAN + Plan(kept=tuple(Kept(it, ONCE) for it in SETTINGS)))
    engine.write(ONCE, (), True)
    apply(engine, services("s1", "s2", "s3") + more + configuration(spec))
    return engine


def edge(spec: str, more: str = "") -> nodes.Edge:
    engine = configured(spec, more)
    assert [it for it in told(engine) if not it.startswith("?")] == []
    found = engine.answer(defaults.edge, ())
    assert found is not None
    return found


def upstreams(spec: str) -> nodes.Upstreams:
    engine = configured(spec)
    found = engine.answer(settings.settings, ())
    assert found is not None
    return found.upstreams


def told(engine: Engine) -> list[str]:
    return messages(engine, "ContourConfiguration", "projectcontour/contour")


@pytest.mark.parametrize(
    ("listener", "changes"),
    [
        ("", {}),
        ("useProxyProtocol: true", {"use_proxy_protocol": True}),
        ("disableAllowChunkedLength: true", {}),
        ("disableAllowChunkedLength: false", {"allow_chunked_length": True}),
        ("serverHeaderTransformation: pass_through", {"server_header": "pass_through"}),
        ("connectionBalancer: exact", {"exact_balance": True}),
        ("maxRequestsPerConnection: 5", {"max_requests_per_connection": 5}),
        ("per-connection-buffer-limit-bytes: 9", {"buffer_limit": 9}),
        ("httpMaxConcurrentStreams: 7", {"max_concurrent_streams": 7}),
        ("maxHeadersCount: 50", {"max_headers": 50}),
        ("maxConnectionsToAcceptPerSocketEvent: 3", {"max_connections_per_event": 3}),
        ("socketOptions: {tos: 64, trafficClass: 0}", {"tos": 64, "traffic_class": 0}),
        ("compression: {algorithm: zstd}", {"compression": "zstd"}),
        ("tls: {fingerprint: {ja3: true, ja4: true}}", {"ja3": True, "ja4": True}),
        ("tls: {cipherSuites: [AES128-SHA, AES128-SHA]}", {"ciphers": ("AES128-SHA",)}),
        ("tls: {ecdhCurves: [X25519MLKEM768]}", {"curves": ("X25519MLKEM768",)}),
        ("http3: true", {"http3": True}),
        ("disablePathNormalization: true", {"normalize_path": False}),
        ("escapedSlashes: Keep", {"escaped_slashes": "Keep"}),
        ("headersWithUnderscores: Drop", {"underscores": "Drop"}),
        ("http2StreamWindowBytes: 65535", {"stream_window": 65_535}),
        ("http2ConnectionWindowBytes: 65535", {"connection_window": 65_535}),
    ],
)
def test_what_is_said_of_listeners(listener: str, changes: dict[str, object]) -> None:
    assert edge(f"envoy: {{listener: {{{listener}}}}}") == nodes.Edge(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "field", "seconds"),
    [
        ("", "request_headers", 10),
        ("requestHeadersTimeout: 1m", "request_headers", 60),
        ("requestHeadersTimeout: infinity", "request_headers", 0),
        ("", "tls_handshake", 10),
        ("tlsHandshakeTimeout: 3s", "tls_handshake", 3),
        ("", "tcp_idle", 9001),
        ("tcpIdleTimeout: 1h", "tcp_idle", 3600),
        ("tcpIdleTimeout: infinity", "tcp_idle", 0),
    ],
)
def test_limits_of_time_that_are_on_unless_they_are_lifted(
    written: str, field: str, seconds: float
) -> None:
    engine = configured(f"envoy: {{timeouts: {{{written}}}}}")
    found = engine.answer(settings.settings, ())
    assert found is not None
    assert getattr(found.timeouts, field) == seconds


def test_what_is_said_of_the_runtime() -> None:
    limits = "listener: {maxRequestsPerIOCycle: 3, maxConnectionsPerListener: 9}"
    engine = configured(f"envoy: {{runtimeSettings: {{b: '1', a: text}}, {limits}}}")
    assert not told(engine)
    found = engine.answer(settings.settings, ())
    assert found is not None
    assert found.envoy_runtime == ((("a", "text"), ("b", "1")), 3, 9)


@pytest.mark.parametrize("key", ["re2.max_program_size.warn_level", "''", '"a\\nb"', "a" * 254])
def test_keys_of_the_runtime_that_nobody_may_set(key: str) -> None:
    engine = configured(f"envoy: {{runtimeSettings: {{{key}: '1'}}}}")
    assert "spec.envoy.runtimeSettings" in told(engine)[0]


OP = nodes.Operator


@pytest.mark.parametrize(
    ("logging", "log"),
    [
        ("accessLogLevel: error", nodes.AccessLog(level="error")),
        ("accessLogLevel: disabled", nodes.AccessLog(level="disabled")),
        (
            r'accessLogFormatString: "%REQ(:METHOD)% %DURATION%\n"',
            nodes.AccessLog(format=nodes.Format((OP("REQ", ":METHOD"), " ", OP("DURATION"), "\n"))),
        ),
        (
            r'accessLogFormatString: "%START_TIME(%Y-%m)% %REQ(X-A):9%%RESP(B)% 7%%\n"',
            nodes.AccessLog(
                format=nodes.Format(
                    (
                        *(OP("START_TIME", "%Y-%m"), " ", OP("REQ", "X-A", 9)),
                        *(OP("RESP", "B"), " 7", "%", "\n"),
                    )
                )
            ),
        ),
        (
            "accessLogFormat: json, accessLogJSONFields: [contour_config_kind]",
            nodes.AccessLog(
                json=(
                    (
                        "contour_config_kind",
                        nodes.Format(
                            (
                                OP(
                                    "METADATA",
                                    "ROUTE:envoy.access_loggers.file:io.projectcontour.kind",
                                ),
                            )
                        ),
                    ),
                )
            ),
        ),
        (
            "accessLogFormat: json, accessLogJSONFields: ['@timestamp', 'who=%REQ(X-Who?X-Ho)%']",
            nodes.AccessLog(
                json=(
                    ("@timestamp", nodes.Format((OP("START_TIME"),))),
                    ("who", nodes.Format((OP("REQ", "X-Who?X-Ho"),))),
                )
            ),
        ),
        (
            "accessLogFormat: json, accessLogJSONFields: "
            "[trace_id, ROUTE_NAME, 'p=%REQ_WITHOUT_QUERY(:PATH):9%']",
            nodes.AccessLog(
                json=(
                    ("trace_id", nodes.Format((OP("TRACE_ID"),))),
                    ("ROUTE_NAME", nodes.Format((OP("ROUTE_NAME"),))),
                    ("p", nodes.Format((OP("REQ_WITHOUT_QUERY", ":PATH", 9),))),
                )
            ),
        ),
    ],
)
def test_what_is_logged(logging: str, log: nodes.AccessLog) -> None:
    assert edge(f"envoy: {{logging: {{{logging}}}}}").http_log == log


@pytest.mark.parametrize(
    ("logging", "ignored"),
    [
        ("accessLogJSONFields: [method]", "accessLogJSONFields"),
        ("accessLogFormat: envoy, accessLogJSONFields: [method]", "accessLogJSONFields"),
        (r'accessLogFormat: json, accessLogFormatString: "x\n"', "accessLogFormatString"),
        (
            "accessLogFormat: json, accessLogJSONFields: [path, method, 'path=%REQ(X)%']",
            "accessLogJSONFields[0]",
        ),
        ("accessLogFormat: json, accessLogJSONFields: [path, method]", ""),
    ],
)
def test_what_has_no_effect_on_the_log_is_told(logging: str, ignored: str) -> None:
    start = f"?SpecError/IgnoredField: spec.envoy.logging.{ignored}: "
    found = told(configured(f"envoy: {{logging: {{{logging}}}}}"))
    assert [it[: len(start)] for it in found] == ([start] if ignored else [])


def test_json_without_fields_is_what_upstream_logs_and_files_are_per_listener() -> None:
    found = edge("envoy: {logging: {accessLogFormat: json}, https: {accessLog: /dev/stderr}}")
    assert len(found.http_log.json) == 23
    assert (found.http_log.path, found.https_log.path) == ("/dev/stdout", "/dev/stderr")


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ("envoy: {logging: {accessLogLevel: loud}}", "spec.envoy.logging.accessLogLevel"),
        (
            "envoy: {logging: {accessLogFormatString: '%DURATION%'}}",
            "spec.envoy.logging.accessLogFormatString",
        ),
        (
            r'envoy: {logging: {accessLogFormatString: "%FILTER_STATE(x)%\n"}}',
            "spec.envoy.logging.accessLogFormatString",
        ),
        (
            r'envoy: {logging: {accessLogFormatString: "100% sure\n"}}',
            "spec.envoy.logging.accessLogFormatString",
        ),
        (
            r'envoy: {logging: {accessLogFormatString: "%METADATA(ROUTE:a:b)%\n"}}',
            "spec.envoy.logging.accessLogFormatString",
        ),
        (
            r'envoy: {logging: {accessLogFormatString: "%DURATION%:3 %PROTOCOL:3%\n"}}',
            "spec.envoy.logging.accessLogFormatString",
        ),
        (
            "envoy: {logging: {accessLogFormat: json, accessLogJSONFields: [what]}}",
            "spec.envoy.logging.accessLogJSONFields[0]",
        ),
        *(
            (
                "envoy: {logging: {accessLogFormat: json, "
                f"accessLogJSONFields: [method, 'a=%{operator}%']}}}}",
                "spec.envoy.logging.accessLogJSONFields[1]",
            )
            for operator in (
                *("REQ(A?B?C)", "REQ(A:B)", "RESP(A:)", "TRAILER(::a)", "REQ(A?:)", "REQ(A.B)"),
                *("START_TIME(%n)", "START_TIME(%Y%%n)", "START_TIME(%_5En)"),
            )
        ),
        (
            "envoy: {listener: {tls: {cipherSuites: [AES128-SHA, RC4]}}}",
            "spec.envoy.listener.tls.cipherSuites[1]",
        ),
        (
            "envoy: {listener: {serverHeaderTransformation: nginx}}",
            "spec.envoy.listener.serverHeaderTransformation",
        ),
        (
            "envoy: {cluster: {upstreamTLS: {minimumProtocolVersion: '1.3', "
            "maximumProtocolVersion: '1.2'}}}",
            "spec.envoy.cluster.upstreamTLS",
        ),
        ("policy: {requestHeaders: {set: {Host: x}}}", "spec.policy.requestHeaders.set[Host]"),
        ("policy: {responseHeaders: {remove: ['a b']}}", "spec.policy.responseHeaders.remove[0]"),
        (
            "policy: {responseHeaders: {set: {Content-Length: '3'}}}",
            "spec.policy.responseHeaders.set[Content-Length]",
        ),
        (
            "policy: {requestHeaders: {remove: [content-length]}}",
            "spec.policy.requestHeaders.remove[0]",
        ),
        (
            "tracing: {extensionService: {namespace: default, name: s}, "
            "customTags: [{tagName: a}]}",
            "spec.tracing.customTags[0]",
        ),
        (
            "tracing: {extensionService: {namespace: default, name: s}, "
            "customTags: [{tagName: a, literal: b}, {tagName: a, literal: c}]}",
            "spec.tracing.customTags[1]",
        ),
        (
            "tracing: {extensionService: {namespace: default, name: s}, overallSampling: most}",
            "spec.tracing.overallSampling",
        ),
        ("debug: {address: a b}", "spec.debug.address"),
        ("health: {address: a..b}", "spec.health.address"),
        ("metrics: {address: 'a:1'}", "spec.metrics.address"),
        ("envoy: {http: {address: localhost}}", "spec.envoy.http.address"),
        ("envoy: {https: {address: 256.0.0.1}}", "spec.envoy.https.address"),
        ("envoy: {health: {address: a}}", "spec.envoy.health.address"),
        ("envoy: {metrics: {address: a}}", "spec.envoy.metrics.address"),
        ("envoy: {omEnforcedHealth: {address: a, port: 1}}", "spec.envoy.omEnforcedHealth.address"),
        ("envoy: {service: {namespace: A, name: a}}", "spec.envoy.service.namespace"),
        ("envoy: {service: {namespace: a, name: a/b}}", "spec.envoy.service.name"),
        ("envoy: {externalPorts: {http: 80, https: 80}}", "spec.envoy.externalPorts.https"),
        ("ingress: {statusAddress: '192.0.2.1, A.example'}", "spec.ingress.statusAddress"),
        ("gateway: {controllerName: a b}", "spec.gateway.controllerName"),
        ("gateway: {controllerName: contour}", "spec.gateway.controllerName"),
        ("httpproxy: {rootNamespaces: [a, A]}", "spec.httpproxy.rootNamespaces[1]"),
        ("rateLimitFilters: {redis: {address: 'a:0'}}", "spec.rateLimitFilters.redis.address"),
        ("rateLimitFilters: {redis: {address: 'a:65536'}}", "spec.rateLimitFilters.redis.address"),
        (
            "extensions: [{name: a, hooks: {post: [Route]}, service: {host: a b}}]",
            "spec.extensions[0].service.host",
        ),
    ],
)
def test_a_value_that_makes_no_sense_is_told_with_its_path(spec: str, path: str) -> None:
    first = told(configured(spec, extension("s")))[0]
    assert first.startswith(f"SpecError/InvalidValue: {path}: ")


@pytest.mark.parametrize(
    "spec",
    [
        "debug: {address: localhost}, health: {address: '::'}, metrics: {address: 127.0.0.1}",
        "envoy: {http: {address: '::'}, https: {address: 127.0.0.1}}",
        "ingress: {statusAddress: ' 192.0.2.1,fd00::1, a.example ,'}",
        "gateway: {controllerName: example.com/a}, rateLimitFilters: {redis: {address: 'a:06379'}}",
        "extensions: [{name: a, hooks: {post: [Route]}, service: {host: My_ext.}}]",
    ],
)
def test_addresses_and_names_that_can_be_are_taken(spec: str) -> None:
    assert [it for it in told(configured(spec)) if "InvalidValue" in it] == []


def test_what_is_said_of_clusters() -> None:
    found = upstreams(
        "envoy: {clientCertificate: {namespace: a, name: b}, cluster: "
        "{maxRequestsPerConnection: 1, per-connection-buffer-limit-bytes: 2, "
        "http2StreamWindowBytes: 70000, http2ConnectionWindowBytes: 80000, "
        "circuitBreakers: {maxRequests: 3, maxRetries: 0}, "
        "upstreamTLS: {minimumProtocolVersion: '1.3', ecdhCurves: [P-256]}}}"
    )
    assert found == nodes.Upstreams(
        max_requests_per_connection=1,
        buffer_limit=2,
        stream_window=70_000,
        connection_window=80_000,
        limits=nodes.CircuitBreakers(requests=3),
        minimum="1.3",
        curves=("P-256",),
        client_certificate=NamespacedName("a", "b"),
    )


def test_annotations_of_a_service_limit_it() -> None:
    annotated = """
---
apiVersion: v1
kind: Service
metadata:
  name: s1
  annotations:
    projectcontour.io/max-connections: '5'
    projectcontour.io/per-host-max-connections: '2'
    projectcontour.io/max-requests: '0'
spec: {ports: [{port: 80}]}
"""
    found = served.cluster(to("s1"), annotated)
    assert found.limits == nodes.CircuitBreakers(connections=5, connections_per_host=2)


HEADERS = (
    "policy: {requestHeaders: {set: {X-Ns: '%CONTOUR_NAMESPACE%/%CONTOUR_SERVICE_NAME%', X-A: a}, "
    "remove: [X-Gone]}, responseHeaders: {set: {X-B: b}}, applyToIngress: false}"
)


def test_headers_for_every_service_give_way_to_its_own() -> None:
    own = "requestHeadersPolicy: {set: [{name: x-a, value: mine}]}"
    route = f"{{services: [{{name: s1, port: 80, {own}}}]}}"
    (backend,) = served.forward(route, configuration(HEADERS)).backends
    assert backend.request_headers == nodes.HeaderPolicy(
        set=(("x-a", "mine"), ("x-ns", "default/s1")), remove=("x-gone",)
    )
    assert backend.response_headers == nodes.HeaderPolicy(set=(("x-b", "b"),))


@pytest.mark.parametrize(("applies", "expected"), [("true", (("x-b", "b"),)), ("false", ())])
def test_headers_are_for_ingresses_where_it_is_said(
    applies: str, expected: tuple[tuple[str, str], ...]
) -> None:
    ingress = """
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: i}
spec: {defaultBackend: {service: {name: s1, port: {number: 80}}}}
"""
    engine = configured(HEADERS.replace("false", applies), ingress)
    engine.write(tables.FLEETS, "contour", True)
    engine.settle()
    (route,) = served.virtual_host(engine, "*").routes
    assert isinstance(route.action, nodes.Forward)
    headers = route.action.backends[0].response_headers
    assert (headers.set if headers else ()) == expected


def test_the_service_that_counts() -> None:
    spec = (
        "rateLimitService: {extensionService: {namespace: default, name: counter}, domain: d, "
        "failOpen: true, enableXRateLimitHeaders: true, enableResourceExhaustedCode: true}"
    )
    engine = configured(spec)
    assert told(engine) == [
        "SpecError/UnresolvedReference: spec.rateLimitService.extensionService: "
        "ExtensionService default/counter not found"
    ]
    apply(engine, extension("counter", "protocol: h2c, timeoutPolicy: {response: 2s}"))
    assert told(engine) == []
    found = engine.answer(defaults.rate_limit_service, ())
    assert found is not None
    assert isinstance(found.cluster, nodes.ExtensionCluster)
    assert (found.domain, found.timeout, found.cluster.name.name) == ("d", 2.0, "counter")
    assert found.fail_open
    assert found.x_ratelimit_headers
    assert found.resource_exhausted


def test_where_traces_go() -> None:
    spec = (
        "tracing: {extensionService: {namespace: default, name: spans}, overallSampling: '0', "
        "maxPathTagLength: 0, includePodDetail: false, customTags: [{tagName: a, literal: b}]}"
    )
    found = edge(spec, extension("spans")).tracing
    assert found is not None
    assert (found.overall, found.client, found.max_path_length) == (0.0, 100.0, 0)
    assert (found.tags, found.pod_details) == ((nodes.CustomTag("a", "b"),), False)


def test_a_tag_that_makes_no_sense_is_left_out() -> None:
    tags = "customTags: [{tagName: a}, {tagName: b, requestHeaderName: 'x y'}]"
    spec = f"tracing: {{extensionService: {{namespace: default, name: spans}}, {tags}}}"
    found = configured(spec, extension("spans")).answer(defaults.edge, ())
    assert found is not None
    assert found.tracing is not None
    assert found.tracing.tags == ()


def test_a_certificate_that_cannot_serve_is_told() -> None:
    engine = configured("envoy: {clientCertificate: {namespace: a, name: b}}")
    assert told(engine) == [
        "SpecError/UnresolvedReference: spec.envoy.clientCertificate: Secret a/b not found"
    ]


def test_a_change_of_another_setting_wakes_no_route() -> None:
    proxies = root("root", f"routes: [{to('s1')}]")
    engine = configured("envoy: {listener: {maxRequestsPerConnection: 5}}", proxies)
    before = engine.work.runs
    apply(engine, configuration("envoy: {listener: {maxRequestsPerConnection: 6}}"))
    assert problems(engine, "HTTPProxy", "root") == []
    assert engine.work.runs - before < 40
