"""What each annotation of ingress-nginx becomes in an HTTPProxy.

`CONVERSIONS` is the table; the rows for redirects, rewrites, canaries and TLS without termination
are in `hosts` and `routes`, since they decide about more than one field. Defaults of nginx that
Envoy does not share are written, too: nginx waits for a minute between two bytes of a backend,
however long the whole response takes, and forwards WebSockets. Source: the user guide of
ingress-nginx, "Annotations".
"""

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from contour.conversion.ingressnginx.given import PREFIX, Given
from contour.conversion.told import Document, Told
from crds.meta import NamespacedName
from dag.foreign.known import foreign
from dag.values import hostnames, regexes


@dataclass(frozen=True, slots=True)
class Piece:
    """The parts of an HTTPProxy that annotations add."""

    host: Document = field(default_factory=dict[str, object])
    """Added to `spec.virtualhost`."""
    tls: Document = field(default_factory=dict[str, object])
    """Added to `spec.virtualhost.tls`."""
    route: Document = field(default_factory=dict[str, object])
    service: Document = field(default_factory=dict[str, object])
    told: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why an annotation is not, or not exactly, converted."""


Conversion = Callable[[Given], Piece]


def _addresses(given: Given) -> Piece:
    allowed, denied = given.value(*_ALLOWED), given.value(_DENIED)
    if allowed and denied:
        return Piece(told={_DENIED: "a route has a list of allowed or of denied addresses"})
    name, found = ("ipAllowPolicy", allowed) if allowed else ("ipDenyPolicy", denied)
    if not found:
        return Piece()
    ranges = list(_listed(found))
    if not ranges or not all(map(_is_range, ranges)):
        written = [it for it in (*_ALLOWED, _DENIED) if given.value(it)]
        return Piece(told=dict.fromkeys(written, f"{found!r} is no list of address ranges"))
    return Piece(route={name: [{"source": "Remote", "cidr": it} for it in ranges]})


_ALLOWED = ("allowlist-source-range", "whitelist-source-range")
_DENIED = "denylist-source-range"


def _is_range(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def _timeouts(given: Given) -> Piece:
    told = {it: _NO_NUMBER for it in _READS if given.value(it) and given.number(it) is None}
    seconds = max(given.number(it) or _MINUTE for it in _READS)
    idle = f"{seconds}s" if seconds <= _DAY else "infinity"
    return Piece(route={"timeoutPolicy": {"response": "infinity", "idle": idle}}, told=told)


_READS = ("proxy-read-timeout", "proxy-send-timeout")
_MINUTE, _DAY = 60, 86_400
_NO_NUMBER = "the value is no number of seconds"


def _body(given: Given) -> Piece:
    written = given.value("proxy-body-size")
    found = re.fullmatch(r"([0-9]{1,9})([kmg]?)", written.lower())
    if not written:
        return Piece()
    if found is None:
        return Piece(told={"proxy-body-size": f"{written!r} is no size"})
    size = int(found[1]) << _SHIFTS[found[2]]
    if size >= 1 << 32:
        return Piece(told={"proxy-body-size": "a limit of 4 GiB and more is not possible"})
    if not size:
        return Piece()
    return Piece(route={"maxRequestBytes": size}, told={"proxy-body-size": _READ_WHOLE})


_READ_WHOLE = "Envoy reads limited requests whole, so these routes pass on no WebSockets or streams"
_SHIFTS = {"": 0, "k": 10, "m": 20, "g": 30}


def _retries(given: Given) -> Piece:
    """Retries. Without a list, nginx retries after errors and timeouts; its number of tries
    includes the first one."""
    names = [it for it in _NEXT if given.value(it)]
    written = given.value("proxy-next-upstream").split() or ["error", "timeout"]
    tries = given.number(_TRIES)
    if not names:
        return Piece()
    if "off" in written or tries == 1:
        return Piece(route={"retryPolicy": {"count": -1}})
    told = {} if "non_idempotent" in written else {names[0]: _EVERY_METHOD}
    if not tries and given.value(_TRIES):
        told[_TRIES] = "only a number from 1 on has a counterpart; 3 tries are made"
    statuses = [int(it.removeprefix("http_")) for it in written if re.fullmatch(r"http_\d{3}", it)]
    policy: dict[str, object] = {"count": (tries or 3) - 1}
    conditions = ["connect-failure", "refused-stream"]
    conditions += ["reset"] if {"error", "timeout"} & set(written) else []
    policy["retryOn"] = conditions + (["retriable-status-codes"] if statuses else [])
    policy |= {"retriableStatusCodes": statuses} if statuses else {}
    return Piece(route={"retryPolicy": policy}, told=told)


_EVERY_METHOD = "Envoy retries requests of all methods, nginx none that may have changed something"
_TRIES = "proxy-next-upstream-tries"
_NEXT = ("proxy-next-upstream", _TRIES)


def _balancing(given: Given) -> Piece:
    if given.value("affinity") == "cookie":
        text = "the cookie has the name and the lifetime that Envoy gives it"
        names = [it for it in given.annotations if it.startswith("session-cookie-")]
        return _balanced({"strategy": "Cookie"}, dict.fromkeys(names, text))
    if written := given.value("upstream-hash-by"):
        hashed = _hashed(written)
        if hashed is None:
            return Piece(told={"upstream-hash-by": f"{written!r} has no counterpart"})
        return _balanced({"strategy": "RequestHash", "requestHashPolicies": [hashed]})
    match given.value("load-balance"):
        case "" | "round_robin":
            return Piece()
        case "ip_hash":
            hashed = {"hashSourceIP": True}
            return _balanced({"strategy": "RequestHash", "requestHashPolicies": [hashed]})
        case "ewma" | "least_conn":
            return _balanced({"strategy": "WeightedLeastRequest"})
        case other:
            return Piece(told={"load-balance": f"{other!r} has no counterpart"})


def _balanced(policy: Document, told: Mapping[str, str] = {}) -> Piece:
    return Piece(route={"loadBalancerPolicy": policy}, told=told)


def _hashed(variable: str) -> Document | None:
    if variable in {"$remote_addr", "$binary_remote_addr"}:
        return {"hashSourceIP": True}
    if found := re.fullmatch(r"\$http_([a-z0-9_]+)", variable):
        return {"headerHashOptions": {"headerName": found[1].replace("_", "-")}}
    if found := re.fullmatch(r"\$arg_([\w\-]+)", variable):
        return {"queryParameterHashOptions": {"parameterName": found[1]}}
    return None


def _request_headers(given: Given) -> Piece:
    names = {"upstream-vhost": "Host", "x-forwarded-prefix": "X-Forwarded-Prefix"}
    told = {it: "the value has variables of nginx" for it in names if "$" in given.value(it)}
    written = [(it, given.value(it)) for it in names if it not in told]
    found = [{"name": names[it], "value": value} for it, value in written if value]
    return Piece(route={"requestHeadersPolicy": {"set": found}} if found else {}, told=told)


def _response_headers(given: Given) -> Piece:
    reference = given.value("custom-headers")
    if not reference:
        return Piece()
    namespace, _, name = reference.rpartition("/")
    key = NamespacedName(namespace or given.namespace, name)
    found = given.others.config_maps.get(key)
    if found is None:
        return Piece(told={"custom-headers": f"ConfigMap {key} is not among the manifests"})
    headers = [{"name": header, "value": value} for header, value in sorted(found.data.items())]
    return Piece(route={"responseHeadersPolicy": {"set": headers}})


def _protocol(given: Given) -> Piece:
    usual = "GRPC" if given.is_on("grpc-backend") else "HTTP"
    usual = "HTTPS" if given.is_on("secure-backends") else usual
    written = given.value("backend-protocol").upper() or usual
    if written in _PROTOCOLS:
        protocol = _PROTOCOLS[written]
        return Piece(service={"protocol": protocol} if protocol else {})
    return Piece(told={"backend-protocol": f"{written} has no counterpart"})


_PROTOCOLS = {"HTTP": "", "AUTO_HTTP": "", "HTTPS": "tls", "GRPC": "h2c", "GRPCS": "h2"}


def _upstream_tls(given: Given) -> Piece:
    """How certificates of backends are verified; without TLS to them, nginx ignores it."""
    secret = given.value("proxy-ssl-secret", "secure-verify-ca-secret")
    is_verified = given.value("proxy-ssl-verify") == "on" or given.value("secure-verify-ca-secret")
    has_tls = _protocol(given).service.get("protocol") in {"tls", "h2"}
    if not secret or not is_verified or not has_tls:
        return Piece()
    name, ca = given.value("proxy-ssl-name"), given.own_name(secret)
    if not name:
        return Piece(told={"proxy-ssl-verify": "without proxy-ssl-name there is no name to verify"})
    if ca is None:
        return Piece(told={"proxy-ssl-secret": _FOREIGN})
    text = "its client certificate is not used; see spec.envoy.clientCertificate"
    validation = {"caSecret": ca, "subjectName": name}
    return Piece(service={"validation": validation}, told={"proxy-ssl-secret": text})


_FOREIGN = "the Secret is in another namespace, which needs a TLSCertificateDelegation"


def _cors(given: Given) -> Piece:
    if not given.is_on("enable-cors"):
        return Piece()
    origins = list(_listed(given.value("cors-allow-origin") or "*"))
    credentials = given.is_on("cors-allow-credentials", usual=True)
    told = {"enable-cors": _ANY_ORIGIN} if credentials and "*" in origins else {}
    age = given.number("cors-max-age")
    policy: dict[str, object] = {
        "allowOrigin": [_origin(it) for it in origins],
        "allowMethods": list(_listed(given.value("cors-allow-methods") or _METHODS)),
        "allowHeaders": list(_listed(given.value("cors-allow-headers") or _HEADERS)),
        "allowCredentials": credentials and "*" not in origins,
        "maxAge": f"{1_728_000 if age is None else age}s",
    }
    exposed = list(_listed(given.value("cors-expose-headers")))
    policy |= {"exposeHeaders": exposed} if exposed else {}
    return Piece(host={"corsPolicy": policy}, told=told)


def _origin(text: str) -> str:
    """An origin; a wildcard in it stands for one label or a part of it, where that of an HTTPProxy
    stands for several."""
    before, wildcard, after = text.partition("*")
    if text == "*" or not wildcard:
        return text
    return f"(?i){re.escape(before)}[a-z0-9-]+{re.escape(after)}"


_ANY_ORIGIN = (
    "every origin is allowed, so credentials are not: Envoy would send them the origin of each"
    " request, and browsers would obey, where nginx sends *"
)
_METHODS = "GET, PUT, POST, DELETE, PATCH, OPTIONS"
_HEADERS = (
    "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range"
    ",Authorization"
)


def _listed(text: str) -> Iterator[str]:
    return (it for it in re.split(r"[,\s]+", text) if it)


def _clients(given: Given) -> Piece:
    """Client certificates. Conditions on the name in a certificate are not converted; an unknown
    way to verify is `on`, as in ingress-nginx."""
    secret, verified = given.value("auth-tls-secret"), given.value("auth-tls-verify-client")
    if not secret or verified == "off":
        return Piece()
    ca = given.own_name(secret)
    if ca is None:
        return Piece(told={"auth-tls-secret": _FOREIGN})
    validation: dict[str, object] = {"caSecret": ca}
    if verified == "optional_no_ca":
        validation = {"skipClientCertValidation": True}
    if verified in {"optional", "optional_no_ca"}:
        validation["optionalClientCertificate"] = True
    told: dict[str, str] = {}
    if given.is_on("auth-tls-pass-certificate-to-upstream"):
        validation["forwardClientCertificate"] = {"cert": True}
        text = "backends get the certificate in X-Forwarded-Client-Cert instead of ssl-client-cert"
        told["auth-tls-pass-certificate-to-upstream"] = text
    return Piece(tls={"clientValidation": validation}, told=told)


def _aliases(given: Given) -> Piece:
    found = list(_listed(given.value("server-alias").lower()))
    refused = {it: f"{it!r} {why}" for it in found if (why := hostnames.refusal(it))}
    plain = [it for it in found if it not in refused]
    told = {"server-alias": "; ".join(refused.values())} if refused else {}
    return Piece(host={"aliases": plain} if plain else {}, told=told)


def _redirects(given: Given) -> Piece:
    """Only the messages about redirects: `routes` converts them."""
    found = {it: given.value(it) for it in ("permanent-redirect", "temporal-redirect")}
    kept = [it for it, url in found.items() if url and not re.search(r"\?|\$request_uri$", url)]
    return Piece(told=dict.fromkeys(kept, "the query of the request is kept; nginx drops it"))


def _canaries(given: Given) -> Piece:
    """Only the message about an expression that Envoy cannot read: `routes` converts canaries."""
    pattern = given.value("canary-by-header-pattern")
    refusal = regexes.refusal(anywhere(pattern))
    return Piece(told={"canary-by-header-pattern": f"{pattern!r} {refusal}"} if refusal else {})


def anywhere(pattern: str) -> str:
    """An expression for whole texts, for one that matches somewhere in them."""
    return f".*(?:{pattern}).*"


CONVERSIONS: Mapping[str, Conversion] = {
    "allowlist-source-range whitelist-source-range denylist-source-range": _addresses,
    "proxy-read-timeout proxy-send-timeout": _timeouts,
    "proxy-body-size": _body,
    "proxy-next-upstream proxy-next-upstream-tries": _retries,
    "affinity session-cookie-name load-balance upstream-hash-by": _balancing,
    "upstream-vhost x-forwarded-prefix": _request_headers,
    "custom-headers": _response_headers,
    "backend-protocol grpc-backend secure-backends": _protocol,
    "proxy-ssl-secret proxy-ssl-verify proxy-ssl-name secure-verify-ca-secret": _upstream_tls,
    "enable-cors cors-allow-credentials cors-allow-headers cors-allow-methods cors-allow-origin"
    " cors-expose-headers cors-max-age": _cors,
    "auth-tls-secret auth-tls-verify-client auth-tls-pass-certificate-to-upstream": _clients,
    "server-alias": _aliases,
    "permanent-redirect temporal-redirect": _redirects,
    "canary-by-header-pattern": _canaries,
}
"""How annotations are converted, by the names of those that are converted together."""

_ELSEWHERE = (
    "ssl-redirect force-ssl-redirect rewrite-target use-regex app-root from-to-www-redirect"
    " permanent-redirect-code temporal-redirect-code"
    " ssl-passthrough canary canary-weight canary-weight-total canary-by-cookie canary-by-header"
    " canary-by-header-value"
)
"""The annotations that `hosts` and `routes` convert."""

CONVERTED = frozenset(it for names in (_ELSEWHERE, *CONVERSIONS) for it in names.split())

RESTRICTING = frozenset({"auth-tls-match-cn"})
"""Annotations that restrict a guard: without them more requests would pass."""


OF_HOSTS = frozenset({"auth-tls-match-cn", "auth-tls-secret", "server-snippet"})
"""The annotations that nginx applies to all paths of a host, of whichever Ingress."""


def piece(given: Given) -> Piece:
    """What all annotations of an Ingress add."""
    made = [conversion(given) for conversion in CONVERSIONS.values()]
    return Piece(
        host=_joined(it.host for it in made),
        tls=_joined(it.tls for it in made),
        route=_joined(it.route for it in made),
        service=_joined(it.service for it in made),
        told={name: text for it in made for name, text in it.told.items()},
    )


def _joined(found: Iterable[Document]) -> Document:
    return {name: value for it in found for name, value in it.items()}


def unconverted(given: Given, found: Piece) -> Iterator[Told]:
    """What is not, or not exactly, converted. An Ingress is left out if a guard of it is not
    converted."""
    for name, value in given.annotations.items():
        known = next(iter(foreign({f"{PREFIX}{name}": value}, frozenset())), None)
        if known is None or known.effect == "harmless":
            continue
        text = found.told.get(name, "")
        if not text and name not in CONVERTED:
            text = f"is not converted; see {known.instead}" if known.instead else _NOTHING
        is_needed = known.effect == "guard" or name in RESTRICTING
        if text:
            yield Told(str(given), f"{PREFIX}{name}", text, is_needed)


_NOTHING = "has no counterpart"
