"""Generated HTTPRouteFilters, each on a route of its own: fields at and beyond their limits."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from tests.agreement import worlds

Document = dict[str, Any]

_PATTERNS = (
    ("^/a/([^/]+)/(.*)$", r"/\2/\1"),
    ("/", r"\0\\"),
    ("(?i)ü|%", "/%REQ(x)%"),
    ("^(/.*)$", r"\1"),
    ("a{1,99}|[b-d]+", "x" * 1024),
    ("(a)(b)(c)(d)(e)(f)(g)(h)(i)", r"\9\1"),
    ("^", ""),
    ("(", ""),
    ("a", r"\1"),
)
_HEADERS = (
    "X-Host",
    "x-a_b",
    "cookie",
    "a" * 200,
    "authorization",
    "!#$%&'*+-.^`|~",
    ":path",
    "a b",
)
_TEXTS = ("", "ü%", "%REQ(x)%", '{"a": "%"}', "x" * 4096, "x" * 4097)
_COOKIES = ("a", "A-b", "a" * 256, "!#$%&'*+-.^_`|~")
_VALUES = ("a", '"', "%REQ(x)%", "a=b", "x" * 4096)
_EXPRESSIONS = ("a+", "(?i)[a-z]{1,50}", "a|b", r"\d+\.\w*", "[^;]*")


def hostname(chance: Random) -> Document:
    """`urlRewrite.hostname`."""
    pattern, text = chance.choice(_PATTERNS)
    kinds: tuple[Document, ...] = (
        {"type": "Backend"},
        {"type": "Header", "header": chance.choice(_HEADERS)},
        {"type": "PathRegex", "pathRegex": {"pattern": pattern, "substitution": text}},
    )
    rewrite = {"hostname": chance.choice(kinds)}
    return {"urlRewrite": rewrite | {"appendXForwardedHost": chance.random() < 0.5}}


def path(chance: Random) -> Document:
    """`urlRewrite.path`."""
    pattern, text = chance.choice(_PATTERNS)
    match = {"pattern": pattern, "substitution": text}
    return {"urlRewrite": {"path": {"type": "ReplaceRegexMatch", "replaceRegexMatch": match}}}


def direct_response(chance: Random) -> Document:
    """`directResponse`."""
    made: Document = {"statusCode": chance.choice((200, 204, 304, 403, 500, 599))}
    if chance.random() < 0.5:
        made["contentType"] = chance.choice(("application/json", "text/plain; a=%", "ü"))
    if chance.random() < 0.7:
        made["body"] = {"type": "Inline", "inline": chance.choice(_TEXTS)}
    if chance.random() < 0.5:
        made["header"] = {
            "set": [{"name": "X-a", "value": chance.choice(_TEXTS[1:])}],
            "add": [{"name": "set-cookie", "value": "a=%"}, {"name": "x-b", "value": "b"}],
            "remove": ["server"],
        }
    return {"directResponse": made}


def credential_injection(chance: Random) -> Document:
    """`credentialInjection`."""
    made: Document = {"credential": {"valueRef": {"name": chance.choice(tuple(_CREDENTIALS))}}}
    if chance.random() < 0.5:
        made["header"] = chance.choice(_HEADERS)
    if chance.random() < 0.5:
        made["overwrite"] = chance.random() < 0.5
    return {"credentialInjection": made}


def matches(chance: Random) -> Document:
    """`matches`."""
    return {"matches": [_conditions(chance) for _ in range(chance.choice((1, 2, 8)))]}


def _conditions(chance: Random) -> Document:
    return {"cookies": [_cookie(chance) for _ in range(chance.choice((1, 2, 16)))]}


def _cookie(chance: Random) -> Document:
    name = chance.choice(_COOKIES)
    if chance.random() < 0.5:
        value = chance.choice(_EXPRESSIONS)
        return {"name": name, "type": "RegularExpression", "value": value}
    return {"name": name, "value": chance.choice(_VALUES)}


FIELDS: Mapping[str, Callable[[Random], Document]] = {
    "urlRewrite.hostname": hostname,
    "urlRewrite.path": path,
    "directResponse": direct_response,
    "credentialInjection": credential_injection,
    "matches": matches,
}


def every(chance: Random) -> Document:
    """All that a rule can have at once."""
    rewrite = hostname(chance)["urlRewrite"] | path(chance)["urlRewrite"]
    return {"urlRewrite": rewrite} | credential_injection(chance) | matches(chance)


_CREDENTIALS: Mapping[str, str] = {"bearer": "Bearer a", "odd": "%REQ(x)%", "long": "x" * 8192}


def world(make: Callable[[Random], Document], chance: Random, count: int) -> list[Document]:
    """Routes that have such a filter in each of their rules."""
    found = worlds.ground()
    found += [worlds.secret(name, {"credential": it}) for name, it in _CREDENTIALS.items()]
    for number in range(count):
        name = f"f{number}"
        reference = {"group": worlds.ENVOY_GATEWAY, "kind": "HTTPRouteFilter", "name": name}
        filter_ = {"type": "ExtensionRef", "extensionRef": reference}
        found.append(worlds.route(f"r{number}", filter_))
        found.append(worlds.of_envoy_gateway("HTTPRouteFilter", name, make(chance)))
    return found
