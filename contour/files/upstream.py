"""Maps settings of upstream Contour (ContourDeployment, configuration file) to ours.

Neither of these is read. A complaint names each of their settings, with the field of a
ContourConfiguration that does the same (Contour 1.33, "ContourDeploymentSpec", "Parameters").
"""

from collections.abc import Iterator, Mapping

from contour.files import parse
from crds.raw import Raw, is_mapping

FILE = "contour.yaml"
"""The entry of upstream's ConfigMap that holds its configuration file."""

_NOWHERE = ""
_FLAGS = "the options of `contour serve`"
DEPLOYMENT_SETTINGS: Mapping[str, str] = {
    "contour.deployment.replicas": "spec.contour.replicas",
    "contour.deployment.strategy": _NOWHERE,
    "contour.disabledFeatures": _NOWHERE,
    "contour.kubernetesLogLevel": _NOWHERE,
    "contour.logLevel": "spec.contour.logLevel",
    "contour.nodePlacement": "spec.contour.placement",
    "contour.podAnnotations": "spec.contour.podAnnotations",
    "contour.replicas": "spec.contour.replicas",
    "contour.resources": "spec.contour.resources",
    "contour.watchNamespaces": "spec.contour.watchNamespaces",
    "envoy.baseID": "spec.envoy.workload.baseID",
    "envoy.daemonSet": "an EnvoyProxy",
    "envoy.deployment.replicas": "spec.envoy.workload.replicas",
    "envoy.deployment.strategy": "an EnvoyProxy",
    "envoy.extraVolumeMounts": "an EnvoyProxy",
    "envoy.extraVolumes": "an EnvoyProxy",
    "envoy.logLevel": "spec.envoy.workload.logLevel",
    "envoy.networkPublishing": "spec.envoy.networkPublishing",
    "envoy.nodePlacement": "spec.envoy.workload.placement",
    "envoy.overloadMaxDownstreamConnections": (
        "spec.envoy.workload.overloadMaxDownstreamConnections"
    ),
    "envoy.overloadMaxHeapSize": "spec.envoy.workload.overloadMaxHeapSize",
    "envoy.podAnnotations": "spec.envoy.workload.podAnnotations",
    "envoy.replicas": "spec.envoy.workload.replicas",
    "envoy.resources": "spec.envoy.workload.resources",
    "envoy.workloadType": "spec.envoy.workload.type",
    "resourceLabels": "spec.infrastructure.labels of the Gateway",
    "runtimeSettings": "spec",
}
"""Our field for each field of a ContourDeployment, by path; empty if there is none."""
FILE_SETTINGS: Mapping[str, str] = {
    "accesslog-format": "spec.envoy.logging.accessLogFormat",
    "accesslog-format-string": "spec.envoy.logging.accessLogFormatString",
    "accesslog-level": "spec.envoy.logging.accessLogLevel",
    "cluster.circuit-breakers": "spec.envoy.cluster.circuitBreakers",
    "cluster.dns-lookup-family": "spec.envoy.cluster.dnsLookupFamily",
    "cluster.max-requests-per-connection": "spec.envoy.cluster.maxRequestsPerConnection",
    "cluster.per-connection-buffer-limit-bytes": (
        "spec.envoy.cluster.per-connection-buffer-limit-bytes"
    ),
    "cluster.upstream-tls": "spec.envoy.cluster.upstreamTLS",
    "compression.algorithm": "spec.envoy.listener.compression.algorithm",
    "debug": _FLAGS,
    "default-http-versions": "spec.envoy.defaultHTTPVersions",
    "disableAllowChunkedLength": "spec.envoy.listener.disableAllowChunkedLength",
    "disableMergeSlashes": "spec.envoy.listener.disableMergeSlashes",
    "disablePermitInsecure": "spec.httpproxy.disablePermitInsecure",
    "enableExternalNameService": "spec.enableExternalNameService",
    "envoy-service-name": "spec.envoy.service.name",
    "envoy-service-namespace": "spec.envoy.service.namespace",
    "featureFlags": "spec.featureFlags",
    "gateway.gatewayRef": "spec.gateway.gatewayRef",
    "globalExtAuth.authPolicy": "spec.globalExtAuth.authPolicy",
    "globalExtAuth.extensionService": "spec.globalExtAuth.extensionRef",
    "globalExtAuth.failOpen": "spec.globalExtAuth.failOpen",
    "globalExtAuth.responseTimeout": "spec.globalExtAuth.responseTimeout",
    "globalExtAuth.withRequestBody": "spec.globalExtAuth.withRequestBody",
    "incluster": _FLAGS,
    "ingress-status-address": "spec.ingress.statusAddress",
    "json-fields": "spec.envoy.logging.accessLogJSONFields",
    "kubeconfig": _FLAGS,
    "kubernetesClientBurst": _NOWHERE,
    "kubernetesClientQPS": _NOWHERE,
    "listener.connection-balancer": "spec.envoy.listener.connectionBalancer",
    "listener.http2-max-concurrent-streams": "spec.envoy.listener.httpMaxConcurrentStreams",
    "listener.max-connections-per-listener": "spec.envoy.listener.maxConnectionsPerListener",
    "listener.max-connections-to-accept-per-socket-event": (
        "spec.envoy.listener.maxConnectionsToAcceptPerSocketEvent"
    ),
    "listener.max-requests-per-connection": "spec.envoy.listener.maxRequestsPerConnection",
    "listener.max-requests-per-io-cycle": "spec.envoy.listener.maxRequestsPerIOCycle",
    "listener.per-connection-buffer-limit-bytes": (
        "spec.envoy.listener.per-connection-buffer-limit-bytes"
    ),
    "listener.socket-options": "spec.envoy.listener.socketOptions",
    "metrics.contour.address": "spec.metrics.address",
    "metrics.contour.ca-certificate-path": "spec.metrics.tls.caFile",
    "metrics.contour.port": "spec.metrics.port",
    "metrics.contour.server-certificate-path": "spec.metrics.tls.certFile",
    "metrics.contour.server-key-path": "spec.metrics.tls.keyFile",
    "metrics.envoy.address": "spec.envoy.metrics.address",
    "metrics.envoy.ca-certificate-path": "spec.envoy.metrics.tls.caFile",
    "metrics.envoy.port": "spec.envoy.metrics.port",
    "metrics.envoy.server-certificate-path": "spec.envoy.metrics.tls.certFile",
    "metrics.envoy.server-key-path": "spec.envoy.metrics.tls.keyFile",
    "network.admin-port": "spec.envoy.network.adminPort",
    "network.num-trusted-hops": "spec.envoy.network.numTrustedHops",
    "network.strip-trailing-host-dot": "spec.envoy.network.stripTrailingHostDot",
    "omEnforcedHealthListener": "spec.envoy.omEnforcedHealth",
    "policy": "spec.policy",
    "rateLimitService": "spec.rateLimitService",
    "runtime-settings": "spec.envoy.runtimeSettings",
    "server": _NOWHERE,
    "serverHeaderTransformation": "spec.envoy.listener.serverHeaderTransformation",
    "timeouts.connect-timeout": "spec.envoy.timeouts.connectTimeout",
    "timeouts.connection-idle-timeout": "spec.envoy.timeouts.connectionIdleTimeout",
    "timeouts.connection-shutdown-grace-period": (
        "spec.envoy.timeouts.connectionShutdownGracePeriod"
    ),
    "timeouts.delayed-close-timeout": "spec.envoy.timeouts.delayedCloseTimeout",
    "timeouts.max-connection-duration": "spec.envoy.timeouts.maxConnectionDuration",
    "timeouts.request-timeout": "spec.envoy.timeouts.requestTimeout",
    "timeouts.stream-idle-timeout": "spec.envoy.timeouts.streamIdleTimeout",
    "tls.cipher-suites": "spec.envoy.listener.tls.cipherSuites",
    "tls.ecdh-curves": "spec.envoy.listener.tls.ecdhCurves",
    "tls.envoy-client-certificate": "spec.envoy.clientCertificate",
    "tls.fallback-certificate": "spec.httpproxy.fallbackCertificate",
    "tls.fingerprint": "spec.envoy.listener.tls.fingerprint",
    "tls.maximum-protocol-version": "spec.envoy.listener.tls.maximumProtocolVersion",
    "tls.minimum-protocol-version": "spec.envoy.listener.tls.minimumProtocolVersion",
    "tracing": "spec.tracing",
}
"""The same for the configuration file."""


def of_deployment(document: Raw) -> Iterator[tuple[tuple[str, ...], str]]:
    """The settings of a ContourDeployment: the path of each, and our field."""
    spec = document.get("spec")
    for path, where in settings(spec if is_mapping(spec) else {}, DEPLOYMENT_SETTINGS):
        yield ("spec", *path), _told(where)


def of_config_map(document: Raw) -> Iterator[tuple[tuple[str, ...], str]]:
    """The settings of the configuration file in a ConfigMap, likewise; none if there is no such
    file."""
    data = document.get("data")
    text = data.get(FILE) if is_mapping(data) else None
    if not isinstance(text, str):
        return
    try:
        found = parse.value(text.encode())
    except (parse.MalformedError, UnicodeEncodeError):
        return  # `crds.screening` tells of half a surrogate pair
    for path, where in settings(found if is_mapping(found) else {}, FILE_SETTINGS):
        yield ("data", FILE), f"{'.'.join(path)}: {_told(where)}"


def _told(where: str) -> str:
    if not where:
        return "has no counterpart here"
    of = " of a ContourConfiguration" if where.startswith("spec") and " of " not in where else ""
    return f"is not read; {where}{of} does the same"


def unknown(
    found: Raw, known: Mapping[str, str], above: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """The paths that are no settings of upstream."""
    for name, value in found.items():
        path = (*above, str(name))
        dotted = ".".join(path)
        if dotted in known:
            continue
        if not any(it.startswith(f"{dotted}.") for it in known):
            yield path
        elif is_mapping(value):
            yield from unknown(value, known, path)
        elif value is not None:
            yield path


def settings(
    found: Raw, known: Mapping[str, str], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each setting with its counterpart, or an empty one, as deep as the table goes."""
    for name, value in found.items():
        path = (*above, str(name))
        dotted = ".".join(path)
        if dotted in known:
            yield path, known[dotted]
        elif is_mapping(value) and any(it.startswith(f"{dotted}.") for it in known):
            yield from settings(value, known, path)
