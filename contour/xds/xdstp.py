"""Names of xDS resources, old-style and `xdstp:` URIs, each with one canonical form.

xRFC TP1: `xdstp://authority/type/id?key=value&…`. Where TP1 leaves a choice, this is what gRPC
(C-core) writes on the wire, so that a canonical name equals the name that clients ask for: bytes
outside RFC 3986's `pchar` are percent-encoded with upper-case digits, context parameters are
sorted, the last one of equal keys counts, an empty authority is left out with its slashes, and
there is no fragment. A name that does not start with `xdstp:` is an opaque text.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

SCHEME = "xdstp:"
LONGEST = 2048
"""Bytes of a name; longer ones are malformed."""

_UNRESERVED = "-._~"
_DELIMITERS = "!$&'()*+,;="
_PCHAR = _UNRESERVED + _DELIMITERS + ":@"
_IN_PATH = _PCHAR + "/"
_IN_AUTHORITY = _PCHAR + "[]"
_IN_CONTEXT = "".join(sorted({*_IN_PATH, "?"} - {"&", "="}))
_ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_MAY_STAND = frozenset(_ALNUM + _IN_AUTHORITY + "/?%")


class Malformed(ValueError):  # noqa: N818
    """A text that is not a valid name; the message says why."""


@dataclass(frozen=True, slots=True)
class ResourceName:
    """An `xdstp:` name, without percent-encoding. Bytes that are not UTF-8 are kept as surrogate
    escapes."""

    authority: str
    type: str
    """The message, such as `envoy.config.listener.v3.Listener`."""
    id: str
    """May contain slashes."""
    context: tuple[tuple[str, str], ...] = ()
    """Parameters by key, sorted, each key once."""

    def __str__(self) -> str:
        authority = f"//{_encoded(self.authority, _IN_AUTHORITY)}" if self.authority else ""
        path = _encoded(f"{self.type}/{self.id}", _IN_PATH)
        pairs = (
            f"{_encoded(key, _IN_CONTEXT)}={_encoded(value, _IN_CONTEXT)}"
            for key, value in self.context
        )
        context = "&".join(pairs)
        return f"{SCHEME}{authority}/{path}" + (f"?{context}" if context else "")


def named(authority: str, type_url: str, id_: str) -> str:
    """The canonical name of a resource of a type; the type may begin with
    `type.googleapis.com/`."""
    return str(ResourceName(authority, type_url.rpartition("/")[2], id_))


def parse(text: str) -> ResourceName:
    """Reads an `xdstp:` name. Raises `Malformed`."""
    require_short(text)
    if not text.startswith(SCHEME):
        raise Malformed(f"it does not start with {SCHEME!r}")
    rest, _, _ = text.removeprefix(SCHEME).partition("#")
    if strange := sorted(set(rest) - _MAY_STAND):
        raise Malformed(f"{strange[0]!r} must be percent-encoded")
    path, _, context = rest.partition("?")
    authority = ""
    if path.startswith("//"):
        authority, _, path = path[2:].partition("/")
    # An encoded slash separates like any other: in the canonical form it is one.
    type_, is_whole, id_ = _decoded(path).removeprefix("/").partition("/")
    if not type_ or not is_whole:
        raise Malformed("it has no type, or no id after it")
    return ResourceName(_decoded(authority), type_, id_, _context(context.split("&")))


def canonical(text: str) -> str:
    """The canonical form of a name; an old-style name stays unchanged. Raises `Malformed`."""
    require_short(text)
    return str(parse(text)) if text.startswith(SCHEME) else text


def require_short(text: str) -> None:
    """Raises `Malformed` if a name is too long."""
    if len(text) > LONGEST:
        raise Malformed(f"it is longer than {LONGEST} characters")


def _context(written: Iterable[str]) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for it in written:
        key, _, value = it.partition("=")
        if key:
            found[_decoded(key)] = _decoded(value)
    return tuple(sorted(found.items(), key=lambda it: _bytes(it[0])))


def _encoded(text: str, safe: str) -> str:
    return quote(_bytes(text), safe=safe)


def _decoded(text: str) -> str:
    return unquote_to_bytes(text).decode(errors="surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
