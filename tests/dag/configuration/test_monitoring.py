"""Where Envoy tells how it is: which sites share a port, and which cannot be."""

import pytest

from dag import nodes, tables
from dag.configuration import settings
from dag.ports import HostPorts
from tests.dag.configuration.test_settings import configured, told

TLS = nodes.MonitorTls("/c", "/k")


@pytest.mark.parametrize(
    ("envoy", "monitors"),
    [
        ("", ()),
        ("health: {}", (nodes.Monitor(8002, "", ("health",)),)),
        ("health: {}, metrics: {}", (nodes.Monitor(8002, "", ("health", "metrics")),)),
        (
            "health: {address: '::', port: 9100}, metrics: {port: 9000}",
            (nodes.Monitor(9000, "", ("metrics",)), nodes.Monitor(9100, "::", ("health",))),
        ),
        (
            "metrics: {tls: {certFile: /c, keyFile: /k}}",
            (nodes.Monitor(8002, "", ("metrics",), TLS),),
        ),
        ("omEnforcedHealth: {port: 9000}", (nodes.Monitor(9000, "", ("overload",)),)),
        ("network: {adminPort: 9001}", (nodes.Monitor(9001, "127.0.0.1", ("admin",)),)),
        ("network: {adminPort: 0}", ()),
    ],
)
def test_a_port_has_one_listener(envoy: str, monitors: tuple[nodes.Monitor, ...]) -> None:
    engine = configured(f"envoy: {{{envoy}}}")
    assert [it for it in told(engine) if not it.startswith("?")] == []
    found = engine.answer(settings.settings, ())
    assert found is not None
    assert found.monitors == monitors


@pytest.mark.parametrize(
    ("envoy", "path", "is_open"),
    [
        ("health: {}, metrics: {address: 127.0.0.1}", "spec.envoy.metrics:", True),
        ("health: {}, metrics: {tls: {certFile: /c, keyFile: /k}}", "spec.envoy.metrics:", True),
        ("metrics: {tls: {certFile: /c}}", "spec.envoy.metrics.tls:", False),
        ("metrics: {tls: {caFile: /c}}", "spec.envoy.metrics.tls:", False),
        ("metrics: {port: 9000, tls: {}}", "spec.envoy.metrics.tls:", False),
        ("omEnforcedHealth: {}", "spec.envoy.omEnforcedHealth.port:", False),
        ("health: {}, omEnforcedHealth: {port: 8002}", "spec.envoy.omEnforcedHealth:", True),
        ("health: {}, network: {adminPort: 8002}", "spec.envoy.network.adminPort:", True),
        ("health: {port: 8080}", "spec.envoy.health:", False),
        ("https: {port: 9000}, metrics: {port: 9000}", "spec.envoy.metrics:", False),
    ],
)
def test_what_cannot_be_is_told_and_never_opened_in_the_clear_instead(
    envoy: str, path: str, *, is_open: bool
) -> None:
    engine = configured(f"envoy: {{{envoy}}}")
    (error,) = told(engine)
    assert path in error
    found = engine.answer(settings.settings, ())
    assert found is not None
    assert [it.pages for it in found.monitors] == ([("health",)] if is_open else [])


@pytest.mark.parametrize(
    ("envoy", "path"),
    [
        ("health: {}, metrics: {port: 8002}", ""),
        ("http: {port: 8002}", "spec.envoy.http.port: in pods"),
        ("https: {port: 8090}", "spec.envoy.https.port: in pods"),
        ("health: {port: 8090}", "spec.envoy.health.port: in pods"),
        ("omEnforcedHealth: {port: 8002}", "spec.envoy.omEnforcedHealth.port: in pods"),
        ("network: {adminPort: 8002}", "spec.envoy.network.adminPort: in pods"),
        ("network: {adminPort: 9001}", ""),
        ("https: {port: 8080}", "spec.envoy.https.port: 8080 is the port of plain HTTP"),
        ("http: {port: 8443}", "spec.envoy.https.port: 8443 is the port of plain HTTP"),
        ("metrics: {tls: {certFile: /c, keyFile: /k}}", "spec.envoy.metrics.port: in pods"),
    ],
)
def test_a_port_that_something_else_has_beside_envoy_is_told(envoy: str, path: str) -> None:
    engine = configured(f"envoy: {{{envoy}}}")
    wanted = [f"?SpecError/IgnoredField: {path}"] if path else []
    assert [it[: len(wanted[0])] if wanted else it for it in told(engine)] == wanted
    engine.write(tables.HOST_PORTS, (), HostPorts("127.0.0.1"))
    engine.settle()
    assert not told(engine)


@pytest.mark.parametrize(("port", "is_told"), [(0, False), (8000, False), (9000, True)])
def test_a_port_of_health_that_no_probe_asks_is_told(port: int, *, is_told: bool) -> None:
    engine = configured(f"health: {{port: {port}}}")
    assert [it.partition(": in pods")[0] for it in told(engine)] == (
        ["?SpecError/IgnoredField: spec.health.port"] if is_told else []
    )
    engine.write(tables.HOST_PORTS, (), HostPorts("127.0.0.1"))
    engine.settle()
    assert not told(engine)
