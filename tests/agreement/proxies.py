"""HTTPProxies of chosen features, with random values: their author knows what goes together.

Mostly served, for an object that is refused would not ask Envoy anything. What is put right here
is what the schema cannot say.
"""

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from tests.agreement import features, mending
from tests.dag.httpproxy import generated

Document = dict[str, Any]

_NAMED = {"caSecret": "ca", "subjectName": "a.com"}
_VALIDATIONS = (_NAMED, _NAMED | {"subjectNames": ["a.com", "b.com"]})
_MOST = 14
"""Features on a route: more would hide one another."""


def chosen(chance: Random, firsts: Iterable[Iterable[str]]) -> list[frozenset[str]]:
    """Features for a root and its routes, as far as they can meet; the firsts are tried first."""
    host: set[str] = set()
    routes: list[set[str]] = []
    for first in firsts:
        routes.append(set())
        others = chance.sample(features.FEATURES, chance.randrange(3, _MOST))
        for feature in (*first, *others):
            for wanted in filter(None, (features.NEEDED.get(feature), feature)):
                _add(wanted, host, routes)
    return [frozenset(host | it) for it in routes]


def _add(feature: str, host: set[str], routes: list[set[str]]) -> None:
    """Puts a feature where it belongs, unless it cannot meet what is there."""
    is_of_host = feature.startswith(("host ", "tls "))
    others = host.union(*routes) if is_of_host else host | routes[-1]
    needed = features.NEEDED.get(feature)
    is_lacking = needed is not None and needed not in others
    if not is_lacking and all(features.is_possible(feature, it) for it in others - {feature}):
        (host if is_of_host else routes[-1]).add(feature)


def documents(number: int, wanted: Iterable[frozenset[str]], chance: Random) -> list[Document]:
    """A root with a route of each set of features, and perhaps a child or a stream."""
    sets = list(wanted)
    own = {it for one in sets for it in one if it.startswith(("host ", "tls "))}
    host = _host(number, own, chance)
    routes = [_route(index, it, host, chance) for index, it in enumerate(sets)]
    spec: Document = {"virtualhost": host, "routes": routes}
    made = [_proxy(f"p{number}", spec)]
    if chance.random() < 0.2:
        more = [{it for it in one if it.startswith(("host ", "tls "))} for one in sets]
        child = [_route(index, it, host, chance) for index, it in enumerate(chosen(chance, more))]
        made.append(_proxy(f"p{number}-child", {"routes": child}))
        conditions = [{"prefix": "/child"}, *_conditions(chance)]
        include = {"name": f"p{number}-child", "conditions": conditions}
        spec["includes"] = [include | chance.choice(({}, {"namespace": "default"}))]
    return made


def stream(number: int, chance: Random) -> list[Document]:
    """A root for bytes: decrypted or not, of its own or of a child."""
    proxy = _some("tcpproxy", generated.SPECS["HTTPProxy"]["properties"]["tcpproxy"], chance)
    for field in ("include", "includes", "services"):
        proxy.pop(field, None)
    fields = set(chance.sample(sorted(features.SERVICE.keys() - {"name", "port"}), 2))
    services = [_service(it, fields, chance) for it in ("s1", "s2")]
    if "mirror" in fields:
        services.append({"name": "s1", "port": 80, "mirror": True})
    children = []
    if chance.random() < 0.4:
        proxy = {chance.choice(("include", "includes")): _stream_of(number, chance)}
        tail = {"tcpproxy": {"services": services}}
        children.append(_proxy(f"p{number}-stream", tail))
    else:
        proxy["services"] = services
    strategy = proxy.get("loadBalancerPolicy", {})
    if strategy.get("strategy") in {"Cookie", "RequestHash"}:
        strategy["strategy"] = "Random"
    tls = chance.choice(({"passthrough": True}, {"secretName": "cert"}))
    host: Document = {"fqdn": f"h{number}.com", "tls": tls}
    _guard_stream(host, chance)
    return [_proxy(f"p{number}", {"virtualhost": host, "tcpproxy": proxy}), *children]


def _guard_stream(host: Document, chance: Random) -> None:
    """Guards that need no request."""
    addresses = chance.choice(("ipAllowPolicy", "ipDenyPolicy"))
    guards = (addresses, "rateLimitPolicy.local", "rateLimitPolicy.global")
    for field in chance.sample(guards, chance.randrange(3)):
        _write(host, features.HOST, ("virtualhost",), field, chance)
    for descriptor in host.get("rateLimitPolicy", {}).get("global", {}).get("descriptors", ()):
        descriptor["entries"] = [
            chance.choice(({"remoteAddress": {}}, {"genericKey": {"value": "%"}}))
        ]


def _stream_of(number: int, chance: Random) -> Document:
    made = {"name": f"p{number}-stream"}
    return made | chance.choice(({}, {"namespace": "default"}))


def _proxy(name: str, spec: Document) -> Document:
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "projectcontour.io/v1",
        "kind": "HTTPProxy",
        "metadata": metadata,
        "spec": spec,
    }


def _host(number: int, wanted: Iterable[str], chance: Random) -> Document:
    host: Document = {"fqdn": f"h{number}.com"}
    for kind, field in _parted(wanted, "host"):
        if field == "aliases":
            host[field] = [f"alias{number}.com", f"*.w{number}.com"]
        else:
            _write(host, features.HOST, ("virtualhost",), field, chance)
        del kind
    fields = [field for _, field in _parted(wanted, "tls")]
    if fields:
        host["tls"] = _tls(fields, chance)
    _mend_guards(host, chance)
    return host


def _parted(wanted: Iterable[str], kind: str) -> Iterator[tuple[str, str]]:
    for it in sorted(wanted):
        found, _, field = it.partition(" ")
        if found == kind:
            yield found, field


def _tls(fields: Iterable[str], chance: Random) -> Document:
    made: Document = {"secretName": chance.choice(("cert", "other/cert"))}
    for field in fields:
        if field == "enableFallbackCertificate":
            made[field] = True
        elif field == "clientValidation":
            _write(made, features.TLS, ("virtualhost", "tls"), field, chance)
            made[field].update(caSecret="ca")
            if "crlSecret" in made[field]:
                made[field]["crlSecret"] = "crl"
        elif field.endswith("ProtocolVersion"):
            made[field] = chance.choice(("1.2", "1.3"))
    if made.get("minimumProtocolVersion", "1.2") > made.get("maximumProtocolVersion", "1.3"):
        made["minimumProtocolVersion"] = "1.2"
    return made


def _route(index: int, wanted: frozenset[str], host: Document, chance: Random) -> Document:
    route: Document = {"conditions": [{"prefix": f"/r{index}"}]}
    for _, field in _parted(wanted, "route"):
        _write(route, features.ROUTE, ("routes",), field, chance)
    for _, strategy in _parted(wanted, "balancing"):
        route["loadBalancerPolicy"] = _balancing(strategy, chance)
    if "route conditions" in wanted:
        path = {chance.choice(("prefix", "exact", "regex")): f"/r{index}"}
        route["conditions"] = [path, *_conditions(chance)]
    if not {"requestRedirectPolicy", "directResponsePolicy"} & route.keys():
        fields = {field for _, field in _parted(wanted, "service")}
        names = chance.sample(("s1", "s2"), chance.choice((1, 2)))
        route["services"] = [_service(it, fields, chance) for it in names]
        if "mirror" in fields:
            route["services"] = [*route["services"], {"name": "s1", "port": 80, "mirror": True}]
    _mend_route(route, host)
    return route


def _balancing(strategy: str, chance: Random) -> Document:
    made: Document = {"strategy": strategy}
    if strategy == "RequestHash":
        of_route = features.ROUTE["loadBalancerPolicy"]["properties"]["requestHashPolicies"]
        made["requestHashPolicies"] = _some("requestHashPolicies", of_route, chance)
    return made


def _conditions(chance: Random) -> list[Document]:
    """Conditions on anything but the path."""
    found = _some("conditions", features.ROUTE["conditions"], chance)
    paths = {"prefix", "exact", "regex"}
    return [it for it in found if not paths & it.keys()][:2]


def _service(name: str, fields: set[str], chance: Random) -> Document:
    service: Document = {"name": name, "port": 80}
    for field in sorted(fields - {"mirror", "validation"}):
        _write(service, features.SERVICE, ("routes", "services"), field, chance)
    if "validation" in fields:
        service.update(
            protocol=chance.choice(("tls", "h2")), validation=chance.choice(_VALIDATIONS)
        )
    return service


def _write(
    target: Document, fields: Document, path: tuple[str, ...], field: str, chance: Random
) -> None:
    name, _, part = field.partition(".")
    if part:
        found = _some(part, fields[name]["properties"][part], chance, (*path, name))
        target.setdefault(name, {})[part] = found
    else:
        target[name] = _some(name, fields[name], chance, path)


def _some(name: str, schema: Document, chance: Random, path: tuple[str, ...] = ()) -> Any:
    """A value that says something."""
    while True:
        made = {name: generated.value(schema, ("spec", *path, name), chance)}
        mending.mend(made)
        if made[name]:
            return made[name]


def _mend_guards(host: Document, chance: Random) -> None:
    if "authorization" in host:
        version = chance.choice(({}, {"apiVersion": "projectcontour.io/v1alpha1"}))
        named = {"name": "auth", "namespace": "default"}
        host["authorization"]["extensionRef"] = named | version
        _mend_context(host["authorization"], host["authorization"])
    providers = {it["name"]: it for it in host.get("jwtProviders", ())}
    for index, provider in enumerate(providers.values()):
        provider["default"] = index == 0 and chance.random() < 0.5
        if "localJWKS" in provider:
            provider["localJWKS"] = {"secretName": "keys", "key": "jwks"}
        else:
            provider["remoteJWKS"].update(
                uri="https://keys.com/jwks", validation=chance.choice(_VALIDATIONS)
            )
    if providers:
        host["jwtProviders"] = list(providers.values())


def _mend_context(authorization: Document, holder: Document) -> None:
    """A service that speaks HTTP is told no context."""
    if authorization.get("serviceType") == "http" and "authPolicy" in holder:
        holder["authPolicy"].pop("context", None)


def _mend_route(route: Document, host: Document) -> None:
    _mend_context(host.get("authorization", {}), route)
    if "authorization" not in host:
        route.pop("authPolicy", None)
    if "jwtVerificationPolicy" in route:
        names = [it["name"] for it in host.get("jwtProviders", ())]
        wanted = {"require": names[0]} if names else {}
        is_off = route["jwtVerificationPolicy"].get("disabled")
        route["jwtVerificationPolicy"] = {"disabled": True} if is_off else wanted
    redirect = route.get("requestRedirectPolicy", {})
    if "path" in redirect or not any("prefix" in it for it in route["conditions"]):
        redirect.pop("prefix", None)
    if any("regex" in it for it in route["conditions"] if set(it) == {"regex"}):
        route.pop("pathRewritePolicy", None)
