"""Random objects of Contour's kinds and of Ingress, grown from their schemas: over the whole model.

Most values are ones that make sense for their field, so that the rules behind the schema are
reached; some are what an attacker or a hasty hand would write. For tests and `hack/fuzz`.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

from crds import schema
from crds.kinds import KINDS, Kind

Document = dict[str, Any]

EVIL = (
    "", " ", "%", "%%", "100%", "%REQ(x)%", "%ENVIRONMENT(HOME)%", "a\r\nb: c", "]]--",
    "]==]",
    '"', "'", "\\1",
    "((", "[a-", "(a+)+$", "x" * 5000, "ä", "../..", "//", "*", "-1", "99999999999",
)  # fmt: skip
TEXTS: dict[str, tuple[str, ...]] = {
    "fqdn": ("a.com", "b.com", "*.c.com", "*", "1.2.3.4"),
    "aliases": ("d.com", "*.d.com", "e.com"),
    "host": ("a.com", "*.c.com", "", "f.com"),
    "hosts": ("a.com", "*.c.com"),
    "hostname": ("b.com",),
    "namespace": ("default", "other", ""),
    "secretName": ("cert", "other/cert", "gone", "keys"),
    "caSecret": ("ca", "other/ca", "gone", "cert"),
    "crlSecret": ("crl", "gone"),
    "key": ("jwks", "gone", "k"),
    "prefix": ("/", "/a", "/a/", "/b//c", "/%41", "a"),
    "exact": ("/a", "/a/b", "x", "/"),
    "regex": ("/a.*", "[a-z]+", "/(a|b)", "(", "/a{1001}"),
    "path": ("/", "/a", "/b/", "/up", "/.*"),
    "replacement": ("/", "/new", "/new/"),
    "subjectName": ("a.com", "*.a.com", "spiffe://a/b", "1.2.3.4"),
    "subjectNames": ("a.com", "b.com"),
    "cidr": ("10.0.0.0/8", "::1", "1.2.3.4", "x", "10.1.1.1/8"),
    "uri": ("https://keys.com/jwks", "http://keys.com:8080/", "http://localhost/", "x"),
    "allowOrigin": ("*", "https://a.com", "https://*.a.com", "https?://.*", "(("),
    "allowMethods": ("GET", "*", "POST"),
    "strategy": ("", "RoundRobin", "Random", "WeightedLeastRequest", "Cookie", "RequestHash"),
    "require": ("one", "two", ""),
    "claim": ("sub", "a.b"),
    "method": ("GET", "POST"),
    "allowHeaders": ("X-A", "*"),
    "exposeHeaders": ("X-B",),
    "issuer": ("me", ""),
    "audiences": ("a", "b"),
    "body": ("", "text", "x" * 4096, "x" * 4097),
    "minimumProtocolVersion": ("1.2", "1.3", "", "1.1"),
    "maximumProtocolVersion": ("1.2", "1.3", ""),
    "value": ("text", "%REQ(X-A)%", "%CONTOUR_SERVICE_NAME%", "100%", "%HOSTNAME%"),
    "aggression": ("1.0", ".5", "0", "1e9"),
    "ingressClassName": ("contour", "other"),
    "pathPrefix": ("/check", "", "check"),
    "cipherSuites": ("AES128-SHA", "RC4"),
    "ecdhCurves": ("X25519", "P-256"),
    "accessLogFormatString": ("%DURATION%\n", "%X%\n", "a"),
    "accessLogJSONFields": ("duration", "a=%REQ(:METHOD)%", "x"),
    "overallSampling": ("100", "0", "x"),
    "clientSampling": ("50.5", "x"),
    "randomSampling": ("0.1", "x"),
    "accessLogFormat": ("envoy", "json", "x"),
    "accessLogLevel": ("info", "error", "critical", "disabled", "x"),
    "dnsLookupFamily": ("auto", "v4", "v6", "all", "x"),
    "connectionBalancer": ("exact", "x"),
    "serverHeaderTransformation": ("overwrite", "append_if_absent", "pass_through", "x"),
    "defaultHTTPVersions": ("HTTP/1.1", "HTTP/2", "x"),
}
NAMES: dict[str, tuple[str, ...]] = {
    "services": ("s1", "s2", "gone", "external"),
    "service": ("s1", "s2", "gone"),
    "extensionRef": ("auth", "gone"),
    "extensionService": ("auth", "gone"),
    "include": ("child", "root", "gone"),
    "includes": ("child", "child2", "root", "gone"),
    "jwtProviders": ("one", "two"),
    "header": ("X-A", ":method", ":authority", "Host", "X B"),
    "queryParameter": ("q", ""),
    "cookie": ("c", "session"),
    "cookieRewritePolicies": ("c", "session"),
    "set": ("X-A", "X-B", "Host", "Connection", ":path"),
}
_HEADER = {"present", "notpresent", "contains", "notcontains", "exact", "notexact", "regex"}
_TEXT = {"exact", "prefix", "suffix", "contains"}
ALTERNATIVES: dict[str, tuple[set[str], ...]] = {
    "routes": ({"services", "requestRedirectPolicy", "directResponsePolicy"},),
    "jwtProviders": ({"remoteJWKS", "localJWKS"},),
    "header": (_HEADER,),
    "headers": (_HEADER,),
    "queryParameter": (_TEXT | {"regex", "present"},),
    "cookie": ({"present", "exact", "contains", "regex"},),
    "conditions": ({"prefix", "exact", "regex", "header", "queryParameter", "cookie", "method"},),
    "requestHashPolicies": ({"headerHashOptions", "queryParameterHashOptions", "hashSourceIP"},),
    "entries": ({"genericKey", "requestHeader", "requestHeaderValueMatch", "remoteAddress"},),
    "allowedAuthorizationHeaders": (_TEXT,),
    "allowedUpstreamHeaders": (_TEXT,),
    "tcpproxy": ({"services", "include", "includes"},),
    "backend": ({"service", "resource"},),
    "defaultBackend": ({"service", "resource"},),
    "port": ({"name", "number"},),
}
"""Fields of which an object has exactly one."""
WRONG = frozenset(
    {
        *(
            "gone",
            "other/cert",
            "other/ca",
            "x",
            "((",
            "(",
            "/a{1001}",
            "1.2.3.4",
            "1.1",
            "a",
            "/%41",
        ),
        *("", "X B", "Host", ":path", "Connection", ":method", "RC4", "0", "1e9", "25h", "other"),
        *(
            "http://localhost/",
            "x" * 4097,
            "%X%\n",
            "a=%REQ(:METHOD)%",
            "spiffe://a/b",
            "*",
            "check",
        ),
        *("child", "child2", "root", "https://*.a.com", "keys", "k", "one", "two"),
    }
)
"""What most fields refuse, or what leads away from the object that is looked at."""


class Sane(Random):
    """Chances of objects that their author would be proud of."""

    def pick(self, values: tuple[str, ...]) -> str:
        """One of the values, a good one if there is any."""
        return self.choice([it for it in values if it not in WRONG] or values)


DURATIONS = ("5s", "0s", "1m", "infinity", "100ms", "24h", "25h", "1.5h")
NUMBERS = (0, 1, 2, 7, 80, 302, 429, 430, 503, 65535, 4294967295, -1)


def document(chance: Random, kind: Kind | None = None) -> Document:
    """One object; now and then one that breaks its schema."""
    made = kind or chance.choice(WEIGHTED)
    name = chance.choice(_OBJECTS[made.kind])
    namespace = "projectcontour" if made.kind == "ContourConfiguration" else "default"
    document = {
        "apiVersion": made.api_version,
        "kind": made.kind,
        "metadata": {"name": name, "namespace": namespace, "annotations": _annotations(chance)},
        "spec": value(SPECS[made.kind], ("spec",), chance),
    }
    if isinstance(chance, Sane) or chance.random() < 0.95:
        _mend(document)
    return document


def _mend(value: Any) -> None:
    """What two fields have to agree on."""
    if isinstance(value, dict):
        if value.get("serviceType") != "http":
            value.pop("httpSettings", None)
        names = value.get("subjectNames")
        if isinstance(names, list) and names and "subjectName" in value:
            value["subjectName"] = names[0]
    for it in value.values() if isinstance(value, dict) else value:
        if isinstance(it, dict | list):
            _mend(it)


_OBJECTS = {
    "HTTPProxy": ("root", "child", "child2"),
    "ExtensionService": ("auth",),
    "ContourConfiguration": ("contour",),
    "TLSCertificateDelegation": ("delegation",),
    "Ingress": ("i1", "i2"),
}
_CHANCES = {"HTTPProxy": 12, "ExtensionService": 1, "ContourConfiguration": 2, "Ingress": 3}
KIND_OF = {it.kind: it for it in KINDS.values() if it.kind in _OBJECTS}
WEIGHTED = [KIND_OF[name] for name, count in _CHANCES.items() for _ in range(count)]
SPECS = {name: schema.structural(it.model)["properties"]["spec"] for name, it in KIND_OF.items()}


def fields(kind: str) -> frozenset[str]:
    """The paths of all fields of a kind."""
    return frozenset(_fields(SPECS[kind], "spec"))


def set_fields(value: Any, path: str = "spec") -> Iterator[str]:
    """The paths of the fields that an object sets."""
    if isinstance(value, dict):
        for name, it in value.items():
            yield f"{path}.{name}"
            yield from set_fields(it, f"{path}.{name}")
    elif isinstance(value, list):
        for it in value:
            yield from set_fields(it, path)


def _fields(found: Document, path: str) -> Iterator[str]:
    for name, it in found.get("properties", {}).items():
        yield f"{path}.{name}"
        yield from _fields(it, f"{path}.{name}")
        yield from _fields(it.get("items", {}), f"{path}.{name}")


_ANNOTATIONS = {
    "projectcontour.io/response-timeout": DURATIONS,
    "projectcontour.io/retry-on": ("5xx", "x", ""),
    "projectcontour.io/num-retries": ("3", "-1", "x"),
    "projectcontour.io/websocket-routes": ("/a", "/,/b"),
    "projectcontour.io/tls-minimum-protocol-version": ("1.3", "x"),
    "projectcontour.io/tls-cert-namespace": ("other", "default"),
    "ingress.kubernetes.io/force-ssl-redirect": ("true",),
}


def _annotations(chance: Random) -> dict[str, str]:
    return {
        name: chance.choice(values)
        for name, values in _ANNOTATIONS.items()
        if chance.random() < 0.1
    }


def value(found: Document, path: tuple[str, ...], chance: Random) -> Any:
    if chance.random() < 0.003 and not isinstance(chance, Sane):
        return chance.choice((None, 7, "text", [], {}, True))
    if "enum" in found:
        return chance.choice(found["enum"])
    match found.get("type"):
        case None:  # any value
            return chance.choice((7, "text", {}, [True]))
        case "object":
            return _object(found, path, chance)
        case "array":
            fewest = int(found.get("minItems", 0))
            count = max(fewest, chance.choice((0, 1, 1, 2, 3)))
            return [value(found["items"], path, chance) for _ in range(count)]
        case "string":
            return _text(found, path, chance)
        case "boolean":
            return chance.random() < 0.4
    least, most = found.get("minimum", 0), found.get("maximum", 65535)
    fitting = [it for it in (*NUMBERS, least) if least <= it <= most]
    return chance.choice(fitting if chance.random() < 0.98 else NUMBERS)


def _object(found: Document, path: tuple[str, ...], chance: Random) -> Document:
    if "additionalProperties" in found:
        return {
            it: value(found["additionalProperties"], path, chance)
            for it in chance.sample(("a", "X-A", "X-B"), chance.randrange(3))
        }
    required, rest = set(found.get("required", ())), found.get("properties", {})
    likely = 0.75 if len(path) <= 2 else chance.choice((0.15, 0.15, 0.4))
    chosen = {it for it in rest if it in required or (len(path) < 9 and chance.random() < likely)}
    for alternatives in ALTERNATIVES.get(path[-1], ()):
        if isinstance(chance, Sane) or chance.random() < 0.95:
            chosen -= alternatives
            chosen.add(chance.choice(sorted(alternatives)))
    return {name: value(it, (*path, name), chance) for name, it in rest.items() if name in chosen}


def _picked(chance: Random, values: tuple[str, ...]) -> str:
    return chance.pick(values) if isinstance(chance, Sane) else chance.choice(values)


def _text(found: Document, path: tuple[str, ...], chance: Random) -> str:
    if chance.random() < 0.01 and not isinstance(chance, Sane):
        return chance.choice(EVIL)
    field = path[-1]
    if field == "name" and len(path) > 1 and path[-2] in NAMES:
        return _picked(chance, NAMES[path[-2]])
    if field == "value" and path[-2] == "domainRewrite":
        return "a.com"
    if field in TEXTS:
        return _picked(chance, TEXTS[field])
    if "timeouts" in path:
        return _picked(chance, DURATIONS)
    if "ms|us" in (pattern := found.get("pattern", "")):
        return chance.choice(DURATIONS if "infinity" in pattern else DURATIONS[:3])
    return chance.choice(("a", "x-a", "X-B", "a.com", "/a", "5s"))
