"""Random ContourConfigurations whose author knows the rules, on ports that nobody has."""

from collections.abc import Sequence
from typing import Any

from tests.agreement import mending
from tests.dag.httpproxy import generated

Document = dict[str, Any]

_SPEC = generated.SPECS["ContourConfiguration"]
_ASKED = {"namespace": "default", "name": "auth"}
_CERTIFICATE = {"namespace": "default", "name": "cert"}

PORTS = 6
"""For HTTP, HTTPS, and the pages of Envoy."""


def usual(ports: Sequence[int]) -> Document:
    """What HTTPProxies need to be served whole."""
    spec = {
        "rateLimitService": {"extensionService": _ASKED},
        "httpproxy": {"fallbackCertificate": _CERTIFICATE},
        "envoy": _bound({}, ports),
    }
    return _configuration(spec)


def with_gateways(ports: Sequence[int]) -> Document:
    """The same for Gateways."""
    controller = {"controllerName": "projectcontour.io/gateway-controller"}
    wanted = {"gateway": controller, "enableExternalNameService": True}
    return _configuration(wanted | {"envoy": _bound({}, ports)})


def document(seed: int, ports: Sequence[int]) -> Document:
    """One of them; listeners take the ports."""
    chance = generated.Sane(seed)
    spec = generated.value(_SPEC, ("spec",), chance)
    for field in ("extensions", "discovery"):  # servers and API servers that are not there
        spec.pop(field, None)
    spec.get("envoy", {}).pop("bootstrap", None)  # Envoy has been started
    mending.mend(spec)
    for field in ("rateLimitService", "tracing"):
        if field in spec:
            spec[field]["extensionService"] = _ASKED
    if "globalExtAuth" in spec:
        version = chance.choice(({}, {"apiVersion": "projectcontour.io/v1alpha1"}))
        spec["globalExtAuth"]["extensionRef"] = _ASKED | version
        if spec["globalExtAuth"].get("serviceType") == "http":
            spec["globalExtAuth"].get("authPolicy", {}).pop("context", None)
    _mend_secrets(spec)
    envoy = spec.setdefault("envoy", {})
    _mend_pages(envoy, ports[2:])
    _mend_listeners(envoy)
    _mend_rest(spec)
    spec["envoy"] = _bound(envoy, ports)
    return _configuration(spec)


def _configuration(spec: Document) -> Document:
    return {
        "apiVersion": "projectcontour.io/v1alpha1",
        "kind": "ContourConfiguration",
        "metadata": {"name": "contour", "namespace": "projectcontour"},
        "spec": spec,
    }


def _bound(envoy: Document, ports: Sequence[int]) -> Document:
    """Its listeners are on these ports, and write nothing."""
    sites = zip(("http", "https"), ports, strict=False)
    bound = {it: {"address": "127.0.0.1", "port": port} for it, port in sites}
    return envoy | {it: site | {"accessLog": "/dev/null"} for it, site in bound.items()}


def _mend_secrets(spec: Document) -> None:
    for holder, field in (("envoy", "clientCertificate"), ("httpproxy", "fallbackCertificate")):
        if field in spec.get(holder, {}):
            spec[holder][field] = _CERTIFICATE


def _mend_pages(envoy: Document, ports: Sequence[int]) -> None:
    for field, port in zip(("health", "metrics", "omEnforcedHealth"), ports, strict=False):
        if field in envoy:
            envoy[field] = {"address": "127.0.0.1", "port": port}
    if "adminPort" in envoy.get("network", {}):
        envoy["network"]["adminPort"] = ports[3]


def _mend_listeners(envoy: Document) -> None:
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
