"""Defaults and limits that descriptions of the CRDs tell users are those of the code."""

import pytest

from contour import bootstrap
from contour.envoy import policy
from contour.pages.settings import USUAL
from crds import contourconfiguration, kinds, schema
from crds.draining import DRAIN_SECONDS
from dag.configuration import monitoring, reading, runtime
from dag.httpproxy import answers, errorpages, healthchecks, included, includes, querymatches
from dag.values import regexes
from provisioning import commands
from tests.crds import openapi

_TIMEOUTS, _PORTS = reading.Timeouts(), reading.Ports()
_RULE = ".spec.routes[].conditions[]"
_DIRECT = ".spec.routes[].directResponsePolicy"
_CHECK = ".spec.routes[].healthCheckPolicy"
_ENVOY, _WORKLOAD = ".spec.envoy", ".spec.envoy.workload"
_DEFAULTS = {
    "HTTPProxy": {
        f"{_RULE}.header.regex": f"{regexes.MAX_LENGTH} characters",
        f"{_RULE}.queryParameter.name": f"from 1 to {querymatches.MAX_NAME} bytes",
        f"{_DIRECT}.body": f"at most {answers.MAX_BODY} bytes",
        ".spec.routes[].errorPages[].body": f"at most {errorpages.MAX_BODY} bytes",
        f"{_CHECK}.timeoutSeconds": f"more than {healthchecks.LONGEST_CHECK:.0f} count",
        f"{_CHECK}.host": f"`{healthchecks.HOST}`",
        ".spec.includes": f"{included.MAX_DEPTH} deep, and a root may have up to "
        f"{includes.MAX_ROUTES:,} routes",
    },
    "ContourConfiguration": {
        ".spec.debug": f"{USUAL['debug'].address}:{USUAL['debug'].port}",
        ".spec.health": f"{USUAL['health'].address}:{USUAL['health'].port}",
        ".spec.metrics": f"{USUAL['metrics'].address}:{USUAL['metrics'].port}",
        ".spec.gateway.controllerName": f"`{contourconfiguration.DEFAULT_CONTROLLER_NAME}`",
        f"{_ENVOY}.http": f"{_PORTS.http_address}:{_PORTS.http_bind}",
        f"{_ENVOY}.https": f"{_PORTS.https_address}:{_PORTS.https_bind}",
        f"{_ENVOY}.health": f"port is {monitoring.USUAL_PORT}",
        f"{_ENVOY}.runtimeSettings": f"up to {runtime.MAX_KEY} characters",
        f"{_ENVOY}.timeouts.requestHeadersTimeout": f"{_TIMEOUTS.request_headers:.0f} seconds",
        f"{_ENVOY}.timeouts.tlsHandshakeTimeout": f"{_TIMEOUTS.tls_handshake:.0f} seconds",
        f"{_ENVOY}.timeouts.tcpIdleTimeout": f"{_TIMEOUTS.tcp_idle:.0f} seconds",
        f"{_ENVOY}.timeouts.connectTimeout": f"{_TIMEOUTS.connect:.0f} seconds",
        f"{_ENVOY}.listener.per-connection-buffer-limit-bytes": f"{policy.BUFFER >> 10} KiB",
        f"{_ENVOY}.cluster.per-connection-buffer-limit-bytes": f"{policy.BUFFER >> 10} KiB",
        f"{_WORKLOAD}.overloadMaxDownstreamConnections": f"{bootstrap.CONNECTIONS:,}",
        f"{_WORKLOAD}.overloadMaxHeapSize": f"{commands.HEAP >> 20} MiB",
        f"{_WORKLOAD}.drainTimeSeconds": f"default is {DRAIN_SECONDS}",
    },
    "ClientTrafficPolicy": {
        ".spec.timeout.tcp.idleTimeout": f"{_TIMEOUTS.tcp_idle:.0f} seconds",
    },
}


@pytest.mark.parametrize("kind", _DEFAULTS)
def test_descriptions_have_the_defaults_and_limits_of_the_code(kind: str) -> None:
    (ours,) = (it for it in kinds.KINDS.values() if it.kind == kind)
    (version,) = schema.crd(ours)["spec"]["versions"]
    found = dict(openapi.parts(version["schema"]["openAPIV3Schema"]))
    for path, text in _DEFAULTS[kind].items():
        assert text in found[path]["description"], path
