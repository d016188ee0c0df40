"""Requests over the values of the worlds, as clients send them and as the evaluator reads them."""

from dataclasses import dataclass
from random import Random

from dag.evaluation.requests import Request
from tests.agreement.evaluation import pools
from tests.testbed import tokens


@dataclass(frozen=True, slots=True)
class Wire:
    """A request of HTTP/1.1; it has no body."""

    request: Request

    def encoded(self) -> bytes:
        """Its bytes."""
        it = self.request
        lines = [f"{it.method} {it.path} HTTP/1.1", f"host: {it.host}"]
        lines += [f"{name}: {value}" for name, value in it.headers]
        if it.method in {"POST", "PUT"}:
            lines.append("content-length: 0")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


def made(chance: Random) -> Request:
    """A request that objects of a world may serve."""
    is_secure = chance.random() < 0.35
    host = chance.choice(pools.HOSTS if chance.random() < 0.93 else pools.OTHERS)
    asked = host if chance.random() < 0.8 else chance.choice((*pools.HOSTS, *pools.OTHERS, ""))
    method = "GET"
    if chance.random() < 0.4:
        method = chance.choice((*pools.METHODS, "TRACE"))
    if chance.random() < 0.02:
        method = chance.choice(("BREW", "QUERY"))
    return Request(
        _spelt(host, chance),
        _path(chance),
        method,
        tuple(_headers(chance, is_secure)),
        443 if is_secure else 80,
        is_secure,
        asked if is_secure else None,
    )


def preflight(chance: Random) -> Request:
    """What a browser asks before a request of another origin."""
    headers = (
        ("origin", chance.choice(pools.ORIGINS)),
        ("access-control-request-method", chance.choice(pools.METHODS)),
    )
    return Request(chance.choice(pools.HOSTS), chance.choice(pools.PATHS), "OPTIONS", headers)


def _spelt(host: str, chance: Random) -> str:
    """The same name in another form, now and then."""
    match chance.randrange(40):
        case 0:
            return host.upper()
        case 1:
            return f"{host}:8080"
        case 2:
            return f"{host}."
        case 3:
            return f"{host}:"
        case _:
            return host


def _path(chance: Random) -> str:
    path = chance.choice(pools.PATHS)
    match chance.randrange(30):
        case 0:
            path = path.replace("/a", "/./x/../a")
        case 1:
            path = path.replace("/a", "//a")
        case 2:
            path = path.replace("/b", "/%2fb")
        case 3:
            path = path.replace("a", "%61")
        case 4:
            path = path.replace("/a", "/x/..;y=z/a")
        case 5:
            path = path.replace("/c", '/"<c')
    if chance.random() < 0.6:
        pairs = (f"{it}={chance.choice(pools.VALUES)}" for it in pools.PARAMETERS)
        path += "?" + "&".join(pairs)
    return path


_WEBSOCKET = (
    ("connection", "upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),  # the example of RFC 6455, section 1.3
)


def _headers(chance: Random, is_secure: bool) -> list[tuple[str, str]]:
    found = [(it, chance.choice(pools.VALUES)) for it in pools.NAMES if chance.random() < 0.4]
    if found and chance.random() < 0.15:
        found.append((found[0][0], chance.choice(pools.VALUES)))
    if chance.random() < 0.06:
        found.append((chance.choice(pools.UNDERSCORED), chance.choice(pools.VALUES)))
    if chance.random() < 0.05:
        found += _WEBSOCKET
    elif chance.random() < 0.03:
        connection = chance.choice(("keep-alive, Upgrade", "keep-alive", "Upgrade, HTTP2-Settings"))
        found += (("connection", connection), ("upgrade", chance.choice(("h2c", "other"))))
    if chance.random() < 0.15:
        found.append(("content-type", chance.choice(_TYPES)))
    if chance.random() < 0.4:
        found.append((chance.choice(("origin", "referer")), chance.choice(_PAGES)))
    if chance.random() < 0.15:
        found.append(("x-forwarded-proto", chance.choice(("http", "https", "ftp"))))
    if is_secure and chance.random() < 0.85:
        found.append(("authorization", chance.choice((*_GOOD, *_BAD, _OTHER))))
    if is_secure and chance.random() < 0.7:
        found.append(pools.LET_IN)
    return found


_PAGES = (
    *(*pools.ORIGINS, "https://page.test/x?y", "null", "https://page.test:8443"),
    *(f"http://{it}" for it in pools.HOSTS[:3]),
)
_TYPES = ("application/grpc", "application/grpc", "application/grpc+proto", "application/grpcx")
_GOOD = (f"Bearer {tokens.token()}",) * 3
_BAD = (f"Bearer {tokens.token(iss='another')}", "Bearer token")
_OTHER = "Basic dXNlcjpwYXNzd29yZA=="


def has_bad_token(request: Request) -> bool:
    """Whether there is a token that no issuer of a world has signed."""
    return request.header("authorization") in _BAD


def is_let_in(request: Request) -> bool:
    """Whether the authorization server lets it pass."""
    name, value = pools.LET_IN
    return request.header(name) == value


def has_bad_key(request: Request) -> bool:
    """Whether the first place that has a key has one of no client."""
    header, parameter = pools.NAMES[0], pools.PARAMETERS[0]
    found = [value for name, value in request.headers if name == header]
    found += [value for name, value in request.queries() if name == parameter]
    return found[:1] != [] and found[0] not in pools.KEYS


def has_bad_password(request: Request) -> bool:
    """Whether there is a password: nobody has the right one."""
    return (request.header("authorization") or "").startswith("Basic ")
