"""The options of upstream Contour's `serve` that `contour serve` does not have.

Each corresponds to a field of the ContourConfiguration, as in upstream (Contour 1.33, "CLI"). So
users who reuse a Deployment of upstream learn where its settings belong.
"""

from collections.abc import Mapping

_NOWHERE = ""

FIELDS: Mapping[str, str] = {
    "--accesslog-format": "spec.envoy.logging.accessLogFormat",
    "--disable-feature": _NOWHERE,
    "--envoy-http-access-log": "spec.envoy.http.accessLog",
    "--envoy-https-access-log": "spec.envoy.https.accessLog",
    "--envoy-service-http-address": "spec.envoy.http.address",
    "--envoy-service-http-port": "spec.envoy.http.port",
    "--envoy-service-https-address": "spec.envoy.https.address",
    "--envoy-service-https-port": "spec.envoy.https.port",
    "--ingress-class-name": "spec.ingress.classNames",
    "--ingress-status-address": "spec.ingress.statusAddress",
    "--kubernetes-client-burst": _NOWHERE,
    "--kubernetes-client-qps": _NOWHERE,
    "--kubernetes-debug": _NOWHERE,
    "--root-namespaces": "spec.httpproxy.rootNamespaces",
    "--stats-address": "spec.envoy.metrics.address",
    "--stats-port": "spec.envoy.metrics.port",
    "--use-proxy-protocol": "spec.envoy.listener.useProxyProtocol",
}
"""The field for each option; empty if nothing here does the same."""

_OPTIONS = {"--debug": "--log-level debug", "-d": "--log-level debug"}


def replacement(option: str) -> str | None:
    """What to use instead of an option of upstream; None for one that upstream does not have."""
    if option in _OPTIONS:
        return f"{option} is an option of upstream Contour; use {_OPTIONS[option]}"
    if option not in FIELDS:
        return None
    field = FIELDS[option]
    if not field:
        return (
            f"{option} is an option of upstream Contour and has no counterpart here; leave it out"
        )
    return f"{option} is an option of upstream Contour; set {field} of the ContourConfiguration"
