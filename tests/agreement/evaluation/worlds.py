"""Worlds of all three APIs over a few hosts: what authors write, so that routes meet and compete.

A world is a list of documents, a function of chance alone. Services, certificates and the Gateway
are the same in all worlds (`FIXED`), so that one world is changed into the next.
"""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from tests.agreement.evaluation import policies, pools
from tests.testbed import tokens, world

Document = dict[str, Any]

NAMESPACE = "default"
CERTIFICATE = "certificate"
AUTHORIZATION = "authorization"
"""The ExtensionService of the server that says who may pass, and its Service."""
KEYS = "keys"
"""A Secret with the keys of those who issue tokens."""


def made(chance: Random) -> list[Document]:
    """The objects that differ from world to world."""
    found: list[Document] = []
    for number, host in enumerate(pools.CLAIMED):
        if chance.random() < 0.9:
            found += _proxies(number, host, chance)
        if chance.random() < 0.5:
            found.append(_ingress(number, host, chance))
        if chance.random() < 0.5:
            found.append(_http_route(number, host, chance))
            if chance.random() < 0.4:
                found.append(policies.made(number, NAMESPACE, chance))
        if chance.random() < 0.4:
            found.append(_grpc_route(number, host, chance))
    sections = (it for it in ("https", "every") if chance.random() < 0.4)
    found += [policies.of_clients(it, NAMESPACE, chance) for it in sections]
    return found


def configuration(routing: str, chance: Random) -> Document:
    """What is made of requests before routes are looked for: in half of the worlds the default."""
    listener: Document = {"routing": routing}
    network: Document = {}
    proxies: Document = {}
    if chance.random() < 0.7:
        proxies["fallbackCertificate"] = {"name": CERTIFICATE, "namespace": NAMESPACE}
    if chance.random() < 0.5:
        listener["headersWithUnderscores"] = chance.choice(("Reject", "Drop", "Drop", "Allow"))
        listener["escapedSlashes"] = chance.choice(_ESCAPED_SLASHES)
        listener["disableMergeSlashes"] = chance.random() < 0.3
        listener["disablePathNormalization"] = chance.random() < 0.3
        network["stripTrailingHostDot"] = chance.random() < 0.7
        network["numTrustedHops"] = chance.choice((0, 1))
    return world.configuration(
        envoy={"listener": listener, "network": network},
        httpproxy=proxies,
        gateway={"controllerName": "projectcontour.io/gateway-controller"},
    )


_ESCAPED_SLASHES = ("UnescapeAndRedirect", "UnescapeAndForward", "Keep", "Reject")


def _proxies(number: int, host: str, chance: Random) -> Iterator[Document]:
    """A root, and perhaps a child that it includes."""
    virtual_host: Document = {"fqdn": host}
    is_secure = chance.random() < 0.5
    if is_secure:
        virtual_host |= _secured(host, chance)
    if chance.random() < 0.3:
        virtual_host["corsPolicy"] = {
            "allowOrigin": [pools.ORIGINS[0]],
            "allowMethods": ["GET"],
        }
    if chance.random() < 0.15:
        virtual_host |= _addresses(chance)
    if chance.random() < 0.1:
        virtual_host["rateLimitPolicy"] = _limit(chance)
    routes = [_proxied(chance, virtual_host) for _ in range(chance.randrange(2, 7))]
    routes.append({"conditions": [{"prefix": "/"}], **_services(chance)})
    spec: Document = {"virtualhost": virtual_host, "routes": routes}
    if chance.random() < 0.4:
        child = f"child-{number}"
        conditions = [{"prefix": chance.choice(pools.PREFIXES)}, *_headers(chance)]
        spec["includes"] = [{"name": child, "conditions": conditions}]
        included = [_proxied(chance, virtual_host) for _ in range(chance.randrange(1, 3))]
        yield _proxy(child, {"routes": included})
    yield _proxy(f"root-{number}", spec)


def _secured(host: str, chance: Random) -> Document:
    """How TLS is terminated for a host, and who may ask."""
    is_missing = host in pools.NARROW and chance.random() < 0.7
    tls: Document = {"secretName": "nowhere" if is_missing else CERTIFICATE}
    if chance.random() < 0.3:
        tls["minimumProtocolVersion"] = "1.3"
    found: Document = {"tls": tls}
    if chance.random() < 0.3:
        tls["enableFallbackCertificate"] = True
        return found
    if chance.random() < 0.3:
        found["authorization"] = {"extensionRef": {"name": AUTHORIZATION, "namespace": NAMESPACE}}
    if chance.random() < 0.6:
        keys = {"secretName": KEYS, "key": "jwks"}
        provider = {"name": "issuer", "issuer": "issuer", "localJWKS": keys}
        found["jwtProviders"] = [provider | {"default": chance.random() < 0.5}]
    return found


def _proxied(chance: Random, host: Document) -> Document:
    """A route of an HTTPProxy."""
    path = chance.choice(
        (
            {"prefix": chance.choice(pools.PREFIXES)},
            {"exact": chance.choice(pools.PATHS)},
            {"regex": chance.choice(pools.EXPRESSIONS)},
        )
    )
    conditions = [path, *_headers(chance), *_queries(chance)]
    route: Document = {"conditions": conditions}
    route |= chance.choice((_services, _services, _services, _redirect, _response))(chance)
    if "tls" in host and chance.random() < 0.3:
        route["permitInsecure"] = True
    if "jwtProviders" in host and chance.random() < 0.5:
        tokens = chance.choice(({"require": "issuer"}, {"disabled": True}))
        route["jwtVerificationPolicy"] = tokens
    if "authorization" in host and chance.random() < 0.3:
        route["authPolicy"] = {"disabled": True}
    if chance.random() < 0.15:
        route |= _addresses(chance)
    if chance.random() < 0.1:
        route["rateLimitPolicy"] = _limit(chance)
    if chance.random() < 0.3:
        ranges = [{"start": 403, "end": 404}, {"start": 500, "end": 600}]
        page: Document = {"statuses": ranges, "body": "sorry"}
        route["errorPages"] = [page | chance.choice(({}, {"statusCode": 418}))]
    if chance.random() < 0.3:
        route["responseHeadersPolicy"] = {
            "set": [{"name": "x-seen", "value": chance.choice(pools.VALUES)}],
            "remove": ["content-type"] if "services" in route else [],
        }
    return route


def _services(chance: Random) -> Document:
    """Where requests go, and what is changed on the way."""
    number = chance.choice((1, 1, 2))
    services: list[Document] = [
        {"name": it, "port": 80, "weight": chance.choice((0, 1, 3))}
        for it in chance.sample(pools.BACKENDS, number)
    ]
    if chance.random() < 0.1:
        policy = {"set": [{"name": "x-seen", "value": "service"}]}
        services[0]["responseHeadersPolicy"] = policy
    if chance.random() < 0.1:
        services[0]["name"] = chance.choice(("nowhere", pools.EMPTY))
    route: Document = {"services": services}
    if chance.random() < 0.3:
        replacement = chance.choice(pools.REPLACEMENTS)
        route["pathRewritePolicy"] = {"replacePrefix": [{"replacement": replacement}]}
    if chance.random() < 0.3:
        changed = [{"name": "x-added", "value": chance.choice(pools.VALUES)}]
        if chance.random() < 0.5:
            value = chance.choice(("rewritten.test", "%REQ(x-one)%", "%REQ(x-two)%"))
            changed.append({"name": "Host", "value": value})
        route["requestHeadersPolicy"] = {"set": changed, "remove": ["x-two"]}
    if chance.random() < 0.15:
        route["enableWebsockets"] = True
    return route


def _redirect(chance: Random) -> Document:
    policy: Document = {"statusCode": chance.choice((301, 302))}
    some = {"scheme": "https", "hostname": "else.test", "port": 8443, "path": "/there"}
    for name in chance.sample(sorted(some), chance.randrange(1, 4)):
        policy[name] = some[name]
    return {"requestRedirectPolicy": policy}


def _response(chance: Random) -> Document:
    return {"directResponsePolicy": {"statusCode": chance.choice((200, 410)), "body": "said"}}


def _addresses(chance: Random) -> Document:
    field = chance.choice(("ipAllowPolicy", "ipDenyPolicy"))
    cidr = chance.choice(("127.0.0.0/8", "192.0.2.0/24"))
    return {field: [{"source": "Peer", "cidr": cidr}]}


def _limit(chance: Random) -> Document:
    """A limit of each Envoy that is spent soon, or never."""
    headers = [{"name": "x-limited", "value": "yes"}]
    local = {"requests": chance.choice((3, 100000)), "unit": "hour"}
    return {"local": local | {"responseHeadersToAdd": headers}}


def _headers(chance: Random) -> list[Document]:
    """Conditions on headers of an HTTPProxy."""
    if chance.random() < 0.5:
        return []
    names = pools.NAMES if chance.random() < 0.8 else pools.UNDERSCORED
    name, value = chance.choice(names), chance.choice(pools.VALUES)
    if chance.random() < 0.1:
        name, value = "x-forwarded-proto", chance.choice(("http", "https"))
    operators = ("exact", "notexact", "contains", "notcontains", "regex")
    made: Document = {"name": name}
    match chance.randrange(3):
        case 0:
            made["present"] = True
        case 1:
            made["notpresent"] = True
        case _:
            operator = chance.choice(operators)
            made[operator] = value
            if operator not in {"regex"} and chance.random() < 0.5:
                made["ignoreCase"] = True
            if operator.startswith("not") and chance.random() < 0.5:
                made["treatMissingAsEmpty"] = True
    return [{"header": made}]


def _queries(chance: Random) -> list[Document]:
    if chance.random() < 0.3:
        return []
    operator = chance.choice(tuple(_PARTS))
    made: Document = {"name": chance.choice(pools.PARAMETERS)}
    part = chance.choice(_PARTS[operator])
    made |= {"present": True} if chance.random() < 0.15 else {operator: part}
    if operator in made and operator != "regex" and chance.random() < 0.3:
        made["ignoreCase"] = True
    return [{"queryParameter": made}]


_PARTS = {
    "exact": pools.VALUES,
    "prefix": ("1", "b", "B", "blue", "e"),
    "suffix": ("1", "e", "n", "blue"),
    "contains": ("1", "e", "B", "lue"),
    "regex": ("1", "blue", "blue.*", "b"),
}
"""Of the values of parameters, so that each kind of condition can hold, and can fail."""


def _ingress(number: int, host: str, chance: Random) -> Document:
    types = ("Exact", "Prefix", "ImplementationSpecific")
    paths = [
        {
            "path": chance.choice(pools.PREFIXES),
            "pathType": chance.choice(types),
            "backend": {"service": {"name": chance.choice(pools.BACKENDS), "port": {"number": 80}}},
        }
        for _ in range(chance.randrange(1, 4))
    ]
    rule: Document = {"http": {"paths": paths}}
    if chance.random() < 0.9:
        rule["host"] = host
    spec = {"rules": [rule]}
    return _document("networking.k8s.io/v1", "Ingress", f"ingress-{number}", spec)


def _http_route(number: int, host: str, chance: Random) -> Document:
    rules = [_rule(chance) for _ in range(chance.randrange(2, 6))]
    spec: Document = {"parentRefs": [{"name": "gateway"}], "rules": rules}
    if chance.random() < 0.9:
        spec["hostnames"] = [host]
    return _document("gateway.networking.k8s.io/v1", "HTTPRoute", f"route-{number}", spec)


def _rule(chance: Random) -> Document:
    matches = [_match(chance) for _ in range(chance.randrange(1, 3))]
    rule: Document = {"matches": matches}
    filters = list(_filters(chance, matches))
    if not any(it["type"] == "RequestRedirect" for it in filters):
        backends = chance.sample(
            (*pools.BACKENDS, "nowhere", pools.EMPTY), chance.choice((1, 1, 2))
        )
        rule["backendRefs"] = [
            {"name": it, "port": 80, "weight": chance.choice((0, 1, 2))} for it in backends
        ]
    return rule | ({"filters": filters} if filters else {})


def _match(chance: Random) -> Document:
    type_ = chance.choice(("PathPrefix", "PathPrefix", "Exact", "RegularExpression"))
    values = {"PathPrefix": pools.PREFIXES, "Exact": pools.PATHS}
    value = chance.choice(values.get(type_, pools.EXPRESSIONS))
    made: Document = {"path": {"type": type_, "value": value}}
    if chance.random() < 0.2:
        made["method"] = chance.choice((*pools.METHODS, "TRACE"))
    for field, names in (("headers", pools.NAMES), ("queryParams", pools.PARAMETERS)):
        if chance.random() < 0.3:
            how = chance.choice(("Exact", "RegularExpression"))
            name, wanted = chance.choice(names), chance.choice(pools.VALUES)
            made[field] = [{"type": how, "name": name, "value": wanted}]
    return made


def _grpc_route(number: int, host: str, chance: Random) -> Document:
    """Calls of methods whose paths are among those that other requests have."""
    rules: list[Document] = []
    for _ in range(chance.randrange(1, 4)):
        service, method = (
            chance.choice(("a", "b", "(a|b)")),
            chance.choice(("b", "x", "")),
        )
        how = "RegularExpression" if "(" in service else "Exact"
        call = {"type": how, "service": service} | ({"method": method} if method else {})
        match: Document = {"method": call}
        if chance.random() < 0.3:
            wanted = {"name": chance.choice(pools.NAMES), "value": chance.choice(pools.VALUES)}
            match["headers"] = [wanted]
        backend = {"name": chance.choice(pools.BACKENDS), "port": 80}
        rule: Document = {"matches": [match], "backendRefs": [backend]}
        changed = {"set": [{"name": "x-seen", "value": chance.choice(pools.VALUES)}]}
        rule["filters"] = [{"type": "ResponseHeaderModifier", "responseHeaderModifier": changed}]
        rules.append(rule)
    spec = {"parentRefs": [{"name": "gateway"}], "hostnames": [host], "rules": rules}
    return _document("gateway.networking.k8s.io/v1", "GRPCRoute", f"calls-{number}", spec)


def _filters(chance: Random, matches: Sequence[Document]) -> Iterator[Document]:
    is_prefix = len(matches) == 1 and matches[0]["path"]["type"] == "PathPrefix"
    path = {"type": "ReplaceFullPath", "replaceFullPath": chance.choice(pools.REPLACEMENTS)}
    if is_prefix and chance.random() < 0.6:
        replacement = chance.choice(pools.REPLACEMENTS)
        path = {"type": "ReplacePrefixMatch", "replacePrefixMatch": replacement}
    if chance.random() < 0.25:
        changed = {"set": [{"name": "x-added", "value": "1"}], "remove": ["x-two"]}
        yield {"type": "RequestHeaderModifier", "requestHeaderModifier": changed}
    if chance.random() < 0.25:
        changed = {"set": [{"name": "x-seen", "value": "route"}]}
        yield {"type": "ResponseHeaderModifier", "responseHeaderModifier": changed}
    match chance.randrange(5):
        case 0:
            some: Document = {
                "scheme": "https", "hostname": "else.test", "port": 8443, "path": path,
            }  # fmt: skip
            names = chance.sample(sorted(some), chance.randrange(1, 4))
            redirect = {name: some[name] for name in names} | {"statusCode": 302}
            yield {"type": "RequestRedirect", "requestRedirect": redirect}
        case 1:
            rewrite: Document = {"path": path}
            if chance.random() < 0.5:
                rewrite["hostname"] = "rewritten.test"
            yield {"type": "URLRewrite", "urlRewrite": rewrite}


def fixed(ports: Sequence[int], authorization: int) -> list[Document]:
    """What is the same in all worlds; the backends and the server listen on these ports."""
    found = [_gateway_class(), _gateway(), _certificate(), _keys(), _service(pools.EMPTY)]
    found.append(policies.clients())
    server = {"services": [{"name": AUTHORIZATION, "port": 80}], "protocol": "h2c"}
    found.append(_document("projectcontour.io/v1alpha1", "ExtensionService", AUTHORIZATION, server))
    names = (*pools.BACKENDS, AUTHORIZATION)
    for name, port in zip(names, (*ports, authorization), strict=True):
        found.append(_service(name))
        slice_ = _document("discovery.k8s.io/v1", "EndpointSlice", name, {})
        slice_ |= {
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}}],
            "ports": [{"name": "http", "port": port}],
        }
        slice_["metadata"]["labels"] = {"kubernetes.io/service-name": name}
        found.append(slice_)
    return found


def _service(name: str) -> Document:
    return _document("v1", "Service", name, {"ports": [{"name": "http", "port": 80}]})


def _gateway_class() -> Document:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "GatewayClass",
        "metadata": {"name": "contour"},
        "spec": {"controllerName": "projectcontour.io/gateway-controller"},
    }


def _gateway() -> Document:
    tls = {"certificateRefs": [{"name": CERTIFICATE}]}
    bare = {"options": {"projectcontour.io/route-certificate": "Allow"}}
    listeners = [
        {"name": "http", "protocol": "HTTP", "port": 80},
        {"name": "https", "protocol": "HTTPS", "port": 443, "tls": tls, "hostname": "*.wild.test"},
        {"name": "every", "protocol": "HTTPS", "port": 443, "tls": tls},
        {"name": "bare", "protocol": "HTTPS", "port": 443, "tls": bare, "hostname": pools.BARE},
    ]
    spec = {"gatewayClassName": "contour", "listeners": listeners}
    return _document("gateway.networking.k8s.io/v1", "Gateway", "gateway", spec)


def _certificate() -> Document:
    found = world.World(1, 1, certificates=1).secret(0)
    return found | {"metadata": {"name": CERTIFICATE, "namespace": NAMESPACE}}


def _keys() -> Document:
    data = {"jwks": b64encode(tokens.jwks().encode()).decode()}
    return _document("v1", "Secret", KEYS, {}) | {"type": "Opaque", "data": data}


def _proxy(name: str, spec: Document) -> Document:
    return _document("projectcontour.io/v1", "HTTPProxy", name, spec)


def _document(version: str, kind: str, name: str, spec: Document) -> Document:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
