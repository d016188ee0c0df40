"""Random HTTPProxies whose author knows what goes together: most of each is served.

For the question whether Envoy takes what the rules accept: an object that is mostly refused would
not ask it. What is mended here is what the schema cannot say.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

from tests.dag.httpproxy import generated
from tests.dag.httpproxy.generated import Document

_SERVICES = [{"name": "s1", "port": 80}]
_VALIDATION = {"caSecret": "ca", "subjectName": "a.com"}
_PATHS = {"prefix", "exact", "regex"}


def proxy(seed: int) -> Document:
    """An HTTPProxy with a host of its own."""
    chance = generated.Sane(seed)
    document = generated.document(chance, generated.KIND_OF["HTTPProxy"])
    document["metadata"] = {"name": f"p{seed}", "namespace": "default"}
    spec = document["spec"]
    for foreign in ("ingressClassName", "includes"):
        spec.pop(foreign, None)
    host = spec.setdefault("virtualhost", {})
    host["fqdn"] = f"h{seed}.com"
    host.pop("aliases", None)
    _mend_anywhere(spec)
    _mend_tls(spec, host, chance)
    _mend_guards(host, chance)
    routes = spec.setdefault("routes", []) or [{"services": _SERVICES}]
    spec["routes"] = list(_mended(routes, host, chance))
    return document


def _mend_anywhere(value: Any) -> None:
    if isinstance(value, dict):
        if {"start", "end"} <= set(value):
            value.update(start=500, end=502)
        for service in value.get("services", ()) if "services" in value else ():
            _mend_service(service)
    for it in value.values() if isinstance(value, dict) else value:
        if isinstance(it, dict | list):
            _mend_anywhere(it)


def _mend_service(service: Document) -> None:
    service.update(name="s2" if service["name"] == "external" else service["name"], port=80)
    service.pop("mirror", None)
    if "validation" in service:
        service.update(protocol="tls", validation=_VALIDATION)


def _mend_tls(spec: Document, host: Document, chance: Random) -> None:
    tls = host.get("tls")
    if tls is not None:
        tls["secretName"] = "cert"
        for field in ("passthrough", "enableFallbackCertificate", "maximumProtocolVersion"):
            tls.pop(field, None)
        if "clientValidation" in tls:
            tls["clientValidation"].update(caSecret="ca", crlSecret="crl")
    if "tcpproxy" in spec and (tls is None or chance.random() < 0.9):
        del spec["tcpproxy"]
    elif "tcpproxy" in spec:
        spec["tcpproxy"] = {"services": _SERVICES}


def _mend_guards(host: Document, chance: Random) -> None:
    if "authorization" in host:
        host["authorization"]["extensionRef"] = {"name": "auth", "namespace": "default"}
    _mend_context(host.get("authorization", {}), host)
    _choose_addresses(host, chance)
    providers = {it["name"]: it for it in host.get("jwtProviders", ())}
    for index, provider in enumerate(providers.values()):
        provider["default"] = index == 0 and chance.random() < 0.5
        if "localJWKS" in provider:
            provider["localJWKS"] = {"secretName": "keys", "key": "jwks"}
        else:
            provider["remoteJWKS"] = {"uri": "https://keys.com/jwks", "validation": _VALIDATION}
    host["jwtProviders"] = list(providers.values())


def _mend_context(authorization: Document, holder: Document) -> None:
    """A service that speaks HTTP is told no context."""
    if authorization.get("serviceType") == "http":
        for policy in (authorization.get("authPolicy"), holder.get("authPolicy")):
            if policy:
                policy.pop("context", None)


def _choose_addresses(holder: Document, chance: Random) -> None:
    if holder.get("ipAllowPolicy") and holder.get("ipDenyPolicy"):
        del holder[chance.choice(["ipAllowPolicy", "ipDenyPolicy"])]


def _mended(routes: list[Document], host: Document, chance: Random) -> Iterator[Document]:
    names = [it["name"] for it in host["jwtProviders"]]
    for index, route in enumerate(routes):
        _choose_addresses(route, chance)
        _mend_conditions(route, index)
        _mend_context(host.get("authorization", {}), route)
        if "authorization" not in host:
            route.pop("authPolicy", None)
        if "jwtVerificationPolicy" in route:
            route["jwtVerificationPolicy"] = {"require": names[0]} if names else {}
        redirect = route.get("requestRedirectPolicy", {})
        if "path" in redirect or not any("prefix" in it for it in route["conditions"]):
            redirect.pop("prefix", None)
        yield route


def _mend_conditions(route: Document, index: int) -> None:
    """One condition on the path at most, and none that another route has."""
    conditions = [it for it in route.get("conditions", ()) if not _PATHS & set(it)]
    if index % 3 == 2:
        conditions.append({"regex": f"/r{index}/[a-z]+"})
        route.pop("pathRewritePolicy", None)
    else:
        conditions.append({"prefix": f"/r{index}"})
    route["conditions"] = conditions
