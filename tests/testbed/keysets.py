"""JSON Web Key Sets that Envoy only just accepts or refuses."""

import json
from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from tests.testbed import tokens

OCT = {"kty": "oct", "kid": "1", "k": "YWJjZGVm", "alg": "HS256"}


def a_set(*keys: Mapping[str, Any]) -> str:
    return json.dumps({"keys": keys})


def _oct(more: str = "", **members: str) -> str:
    """A symmetric key, with text behind its members."""
    return a_set(OCT | members).replace("}]}", f"{more}}}]}}")


def _rsa(bits: int = 2048, exponent: int = 65537, odd: int = 1, **members: str) -> str:
    """An RSA key whose modulus has this many bits. Nobody looks at its factors."""
    modulus = Random(bits).getrandbits(bits) | 1 << (bits - 1) | 1
    return a_set({"kty": "RSA", "n": _number(modulus - 1 + odd), "e": _number(exponent), **members})


@cache
def _point(curve: ec.EllipticCurve) -> ec.EllipticCurvePublicNumbers:
    return ec.derive_private_key(12345, curve).public_key().public_numbers()


def _ec(curve: ec.EllipticCurve, name: str, beyond: int = 0, **members: str) -> str:
    point = _point(curve)
    made = {"kty": "EC", "crv": name, "x": _number(point.x + beyond), "y": _number(point.y)}
    return a_set(made | members)


def _okp(size: int) -> str:
    return a_set({"kty": "OKP", "crv": "Ed25519", "x": tokens.encoded(b"\xff" * size)})


def _number(value: int) -> str:
    return tokens.encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))


P256, P384, P521 = ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()
_PRIME = 2**256 - 2**224 + 2**192 + 2**96 - 1
"""The prime of the field of P-256."""

TAKEN = {
    "symmetric": _oct(),
    "no whole bytes": _oct(k="YWJjZB"),
    "large number": _oct(', "x": 1.7976931348623157e308'),
    "small number": _oct(', "x": 1e-999'),
    "large integer": _oct(', "x": ' + "9" * 300),
    "surrogate pair": _oct(kid="\U0001f600"),
    "no character": _oct(kid="\0\uffff"),
    "nested 61 deep": _oct(', "x": ' + "[" * 61 + "]" * 61),
    "large": _oct(x="a" * 250_000),
    "many members": _oct("".join(f', "m{it}": {it}' for it in range(10_000))),
    "many keys": a_set(*[OCT] * 100),
    "RSA of 512 bits": _rsa(512),
    "RSA": _rsa(alg="PS512"),
    "RSA of 16384 bits": _rsa(16384),
    "exponent 3": _rsa(exponent=3),
    "P-256": _ec(P256, "P-256"),
    "P-384": _ec(P384, "P-384", alg="ES384"),
    "P-521": _ec(P521, "P-521"),
    "Ed25519": _okp(32),
}
"""Key sets that our reader and Envoy both accept."""

REFUSED = {
    "alphabet of files": _oct(k="+/+/YWJjZGVm"),
    "other characters": _oct(k="YW!JjZGVm"),
    "NUL": _oct(k="YWJj\0"),
    "odd length": _oct(k="YWJjZ"),
    "half padded": _oct(k="YWJjZA="),
    "empty key": _oct(k=""),
    "no number": _oct(', "x": NaN'),
    "infinite": _oct(', "x": -Infinity'),
    "too large a number": _oct(', "x": 1e999'),
    "too large an integer": _oct(', "x": ' + "9" * 400),
    "far too large an integer": _oct(', "x": ' + "9" * 5000),
    "high surrogate": _oct(kid="\ud800"),
    "low surrogate": _oct(kid="\udc00"),
    "swapped surrogates": _oct(kid="\ude00\ud83d"),
    "surrogate as name": _oct(', "\\ud800": 1'),
    "nested 98 deep": _oct(', "x": ' + "[" * 98 + "]" * 98),
    "objects nested 200 deep": _oct(', "x": ' + '{"a": ' * 200 + "1" + "}" * 200),
    "two members of one name": _oct(', "k": "YWJj"'),
    "two members that nobody reads": _oct(', "x": 1, "x": 2'),
    "two lists of keys": _oct().replace("{", '{"keys": [], ', 1),
    "byte order mark": "\ufeff" + _oct(),
    "RSA of 511 bits": _rsa(511),
    "RSA of 16385 bits": _rsa(16385),
    "even modulus": _rsa(odd=0),
    "exponent 17": _rsa(exponent=17),
    "RSA for HMAC": _rsa(alg="HS256"),
    "algorithm of P-384": _ec(P256, "P-256", alg="ES384"),
    "algorithm of P-256": _ec(P384, "P-384", alg="ES256"),
    "beside the curve": _ec(P256, "P-256", 1),
    "beyond the field": _ec(P256, "P-256", _PRIME),
    "short Ed25519": _okp(31),
}
"""Key sets that Envoy refuses."""

STRICTER = {
    "padded": _oct(k="YWJjZA=="),
    "with a line feed": _oct(k="YWJjZGVm\n"),
    "nested 62 deep": _oct(', "x": ' + "[" * 62 + "]" * 62),
}
"""Key sets that our reader refuses although Envoy accepts them."""
