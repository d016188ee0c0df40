"""Random ContourConfigurations whose author knows the rules, on ports that nobody has."""

from collections.abc import Sequence
from typing import Any

from tests.agreement import live, mending
from tests.dag.httpproxy import generated

Document = dict[str, Any]

_SPEC = generated.SPECS["ContourConfiguration"]
_ASKED = {"namespace": "default", "name": "auth"}


def document(seed: int, ports: Sequence[int]) -> Document:
    """One of them; health, metrics and the like take the ports."""
    chance = generated.Sane(seed)
    spec = generated.value(_SPEC, ("spec",), chance)
    mending.mend(spec)
    for field in ("rateLimitService", "tracing"):
        if field in spec:
            spec[field]["extensionService"] = _ASKED
    if "globalExtAuth" in spec:
        spec["globalExtAuth"]["extensionRef"] = _ASKED
        if spec["globalExtAuth"].get("serviceType") == "http":
            spec["globalExtAuth"].get("authPolicy", {}).pop("context", None)
    _mend_secrets(spec)
    _mend_envoy(spec.get("envoy", {}), ports)
    _mend_rest(spec)
    return live.configuration(spec)


def _mend_secrets(spec: Document) -> None:
    certificate = {"namespace": "default", "name": "cert"}
    for holder, field in (("envoy", "clientCertificate"), ("httpproxy", "fallbackCertificate")):
        if field in spec.get(holder, {}):
            spec[holder][field] = certificate


def _mend_envoy(envoy: Document, ports: Sequence[int]) -> None:
    for field, port in zip(("health", "metrics", "omEnforcedHealth"), ports, strict=False):
        if field in envoy:
            envoy[field] = {"port": port}
    if "adminPort" in envoy.get("network", {}):
        envoy["network"]["adminPort"] = ports[3]
    for field in ("http", "https"):
        if field in envoy:
            envoy[field] = {"accessLog": "/dev/null"} if "accessLog" in envoy[field] else {}
    listener = envoy.get("listener", {})
    tls = listener.get("tls", {})
    for found in (tls, envoy.get("cluster", {}).get("upstreamTLS", {})):
        if found.get("minimumProtocolVersion") == "1.3":
            found.pop("maximumProtocolVersion", None)
    # Fixed from the first publication on.
    listener.pop("routing", None)


def _mend_rest(spec: Document) -> None:
    """Who is served must not change, or there would be nobody to serve."""
    spec.get("ingress", {}).pop("classNames", None)
    spec.get("httpproxy", {}).pop("rootNamespaces", None)
    for tag in spec.get("tracing", {}).get("customTags", ()):
        tag.update(tagName="tag")
        tag.pop("requestHeaderName" if "literal" in tag else "literal", None)
        tag.setdefault("requestHeaderName" if "literal" not in tag else "literal", "X-A")
