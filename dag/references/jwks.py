"""The keys that tokens are signed with: JSON Web Key Sets (RFC 7517, 7518).

Envoy refuses a provider for one key of its set that it cannot read, so each is read here first. A
set in a Secret or ConfigMap has to be readable as a whole. Of a set that a server publishes, the
readable keys are used: the others are of kinds that are not for tokens, or not known yet. The
reader is stricter than Envoy, never laxer (`tests/agreement/test_keysets.py`).
"""

import json
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import re2

from crds.meta import ObjectRef
from crds.raw import is_list, is_mapping
from dag import hints, nodes, tables
from dag.engine.view import View, query
from dag.problems import Problem, referents

MAX_SIZE = 256 * 1024
"""Bytes."""
MAX_KEYS = 100
MAX_DEPTH = 64
"""The deepest nesting of lists and objects; Envoy takes 100."""

Key = Mapping[str, object]


ENTRIES = ("jwks", "jwks.json")
"""The entries that may hold the key set of an object; the first one that exists counts."""


class Entry(NamedTuple):
    """An entry of a Secret or ConfigMap."""

    ref: ObjectRef
    key: str


@query
def local(view: View, entry: Entry) -> nodes.LocalJwks | Problem:
    """The key set, as it was written."""
    found = _entries(view, entry.ref)
    if found is None:
        hint = hints.hint(view, entry.ref)
        return referents.content_not_valid(entry.ref, f"not found{hint}")
    content = found.get(entry.key)
    if content is None:
        return referents.content_not_valid(entry.ref, f"has no {entry.key[:60]}")
    if why := refusal(content):
        return referents.content_not_valid(entry.ref, why)
    return nodes.LocalJwks(content.decode())


@query
def stored(view: View, source: nodes.StoredJwks) -> nodes.LocalJwks | Problem:
    """The key set of an object, in one of `ENTRIES`."""
    found = _entries(view, source.ref) or {}
    name = next((it for it in ENTRIES if it in found), ENTRIES[0])
    return view.ask(local, Entry(source.ref, name))


@query
def fault(view: View, source: nodes.StoredJwks) -> str:
    """Why there are no keys; empty if there are. It stays equal when the keys are renewed."""
    found = view.ask(stored, source)
    return found.message if isinstance(found, Problem) else ""


def _entries(view: View, ref: ObjectRef) -> Mapping[str, bytes] | None:
    if ref.kind == "ConfigMap":
        texts = view.read(tables.CONFIG_MAPS, ref.key)
        if texts is None:
            return None
        return {name: it.encode() for name, it in texts.data.items()} | texts.binary_data
    found = view.read(tables.SECRETS, ref.key)
    return found.data if found is not None else None


class UnusableError(ValueError):
    """A key set that cannot be used; the message is the end of a sentence that begins with it."""


def readable(content: bytes) -> str:
    """The keys of a set that can be read, as a set. Raises UnusableError if there is none."""
    keys = [it for it in _keys(content) if _is_readable(it)]
    if not keys:
        raise UnusableError("has no key that can be read")
    return json.dumps({"keys": keys}, separators=(",", ":"))


def refusal(content: bytes) -> str | None:
    """Why a set that was written down cannot be used, as the end of a sentence; None if it can."""
    try:
        keys = _keys(content)
    except UnusableError as error:
        return str(error)
    bad = next((index for index, it in enumerate(keys) if not _is_readable(it)), None)
    return None if bad is None else f"has a key that cannot be read: keys[{bad}]"


def is_public(text: str) -> bool:
    """Whether a text is a key set, perhaps an empty one, by which nobody can sign (RFC 7518)."""
    try:
        found = decoded(text.encode(errors="replace"))
    except UnusableError:
        return False
    keys = found.get("keys") if is_mapping(found) else None
    return is_list(keys) and all(is_mapping(it) and not it.keys() & _PRIVATE for it in keys)


_PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})


def decoded(content: bytes) -> object:
    """Parses JSON of a server or an object. Raises UnusableError.

    Numbers that no double can hold, and unpaired surrogates, are refused.
    """
    if len(content) > MAX_SIZE:
        raise UnusableError(f"is larger than {MAX_SIZE} bytes")
    try:
        found: object = json.loads(content.decode(), parse_int=float, object_pairs_hook=_members)
        json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
    except UnusableError:
        raise
    except (ValueError, RecursionError):
        raise UnusableError("is not JSON") from None
    if not _is_within(found, MAX_DEPTH):
        raise UnusableError(f"has more than {MAX_DEPTH} lists and objects inside one another")
    return found


def _members(pairs: Sequence[tuple[str, object]]) -> Mapping[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UnusableError("has an object with two members of one name")
    return found


def _is_within(value: object, depth: int) -> bool:
    if is_mapping(value):
        return depth > 0 and all(_is_within(it, depth - 1) for it in value.values())
    if is_list(value):
        return depth > 0 and all(_is_within(it, depth - 1) for it in value)
    return True


def _keys(content: bytes) -> Sequence[object]:
    found = decoded(content)
    keys = found.get("keys") if is_mapping(found) else None
    if not is_list(keys) or not all(map(is_mapping, keys)):
        raise UnusableError("is no key set: it needs a list of keys")
    if not 0 < len(keys) <= MAX_KEYS:
        raise UnusableError(f"has {len(keys)} keys; from 1 to {MAX_KEYS} are read")
    return keys


def _is_readable(key: object) -> bool:
    if not is_mapping(key):
        return False
    kind = _KINDS.get(str(key.get("kty")))
    if kind is None or ("alg" in key and key["alg"] not in kind.algorithms):
        return False
    if not isinstance(key.get("kid", ""), str):
        return False
    try:
        kind.check(key)
    except Exception:  # of many types, depending on what is broken
        return False
    return True


class _Kind(NamedTuple):
    check: Callable[[Key], object]
    algorithms: tuple[str, ...]


def _check_rsa(key: Key) -> None:
    from cryptography.hazmat.primitives.asymmetric import rsa

    modulus, exponent = _number(key["n"]), _number(key["e"])
    if modulus % 2 == 0 or modulus.bit_length() not in _RSA_BITS or exponent not in _RSA_EXPONENTS:
        raise ValueError("no modulus or exponent that Envoy takes")
    rsa.RSAPublicNumbers(exponent, modulus).public_key()


_RSA_BITS = range(512, 16384 + 1)
_RSA_EXPONENTS = (3, 65537)


def _check_ec(key: Key) -> None:
    from cryptography.hazmat.primitives.asymmetric import ec

    curves: Mapping[str, tuple[ec.EllipticCurve, str]] = {
        "P-256": (ec.SECP256R1(), "ES256"),
        "P-384": (ec.SECP384R1(), "ES384"),
        "P-521": (ec.SECP521R1(), "ES512"),
    }
    curve, algorithm = curves[str(key["crv"])]
    if key.get("alg", algorithm) != algorithm:
        raise ValueError("an algorithm of another curve")
    numbers = ec.EllipticCurvePublicNumbers(_number(key["x"]), _number(key["y"]), curve)
    if numbers.public_key().public_numbers() != numbers:
        raise ValueError("a coordinate beyond the field of the curve")


def _check_okp(key: Key) -> None:
    if key["crv"] != "Ed25519":
        raise ValueError("another curve")
    from cryptography.hazmat.primitives.asymmetric import ed25519

    ed25519.Ed25519PublicKey.from_public_bytes(_bytes(key["x"]))


def _check_oct(key: Key) -> None:
    if not _bytes(key["k"]):
        raise ValueError("an empty key")


_KINDS = {
    "RSA": _Kind(_check_rsa, ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")),
    "EC": _Kind(_check_ec, ("ES256", "ES384", "ES512")),
    "OKP": _Kind(_check_okp, ("EdDSA",)),
    "oct": _Kind(_check_oct, ("HS256", "HS384", "HS512")),
}


def _number(text: object) -> int:
    return int.from_bytes(_bytes(text), "big")


def _bytes(text: object) -> bytes:
    """Base64 in the URL's alphabet, without padding (RFC 7515, section 2)."""
    if not isinstance(text, str) or not _BASE64.fullmatch(text):
        raise ValueError("no text, or not in the alphabet")
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


_BASE64 = re2.compile(r"[A-Za-z0-9_-]+")
