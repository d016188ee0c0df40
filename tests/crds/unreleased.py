"""What is in Contour's development branch since its latest release, v1.33.8 (as of August 2026).

Ours follows the branch, and Go modules have releases only. With these tables the CRDs of the
release are compared as those of the branch would be; where the branch is at hand, a test holds the
tables to it.
"""

from collections.abc import Mapping
from typing import Any

from tests.crds import openapi

_HTTP_ONLY = {"rule": "!has(self.httpSettings) || self.serviceType == 'http'"}
_ONE_KEY_SET = {
    "rule": "(has(self.remoteJWKS) && !has(self.localJWKS))"
    " || (!has(self.remoteJWKS) && has(self.localJWKS))"
}
_NOT_EMPTY = {"minLength": 1}
_HEADER_OF_LIMIT = "descriptors[].entries[].requestHeaderValueMatch.headers[].name"

CHANGED: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "HTTPProxy": {
        ".spec.includes[].conditions[].header.name": _NOT_EMPTY,
        ".spec.includes[].name": _NOT_EMPTY,
        ".spec.routes[].conditions[].header.name": _NOT_EMPTY,
        f".spec.routes[].rateLimitPolicy.global.{_HEADER_OF_LIMIT}": _NOT_EMPTY,
        ".spec.virtualhost.authorization": {"x-kubernetes-validations": [_HTTP_ONLY]},
        ".spec.virtualhost.fqdn": _NOT_EMPTY,
        ".spec.virtualhost.jwtProviders[]": {
            "required": ["name"],
            "x-kubernetes-validations": [_ONE_KEY_SET],
        },
        f".spec.virtualhost.rateLimitPolicy.global.{_HEADER_OF_LIMIT}": _NOT_EMPTY,
    },
    "ExtensionService": {".spec.protocol": {"enum": ["http/1.1", "h2", "h2c"]}},
    "ContourConfiguration": {
        ".spec.globalExtAuth": {"x-kubernetes-validations": [_HTTP_ONLY]},
        f".spec.rateLimitService.defaultGlobalRateLimitPolicy.{_HEADER_OF_LIMIT}": _NOT_EMPTY,
    },
}
"""By kind and path: what a schema has instead."""

ADDED: Mapping[str, tuple[str, ...]] = {
    "HTTPProxy": (
        ".spec.virtualhost.authorization.httpSettings",
        ".spec.virtualhost.authorization.serviceType",
        ".spec.virtualhost.jwtProviders[].localJWKS",
    ),
    "ContourConfiguration": (
        ".spec.envoy.cluster.upstreamTLS.ecdhCurves",
        ".spec.envoy.listener.maxConnectionsToAcceptPerSocketEvent",
        ".spec.envoy.listener.tls.ecdhCurves",
        ".spec.envoy.listener.tls.fingerprint",
        ".spec.envoy.runtimeSettings",
        ".spec.globalExtAuth.httpSettings",
        ".spec.globalExtAuth.serviceType",
        ".spec.tracing.clientSampling",
        ".spec.tracing.randomSampling",
    ),
}
"""By kind: the fields that are new, with all that is in them."""


def change(kind: str, schema: openapi.Schema) -> None:
    """Makes the schema of a release that of the branch, but for the fields that are new."""
    for path, node in openapi.parts(schema):
        node.update(CHANGED.get(kind, {}).get(path, {}))
