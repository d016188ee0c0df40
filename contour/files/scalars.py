"""What a plain scalar of a manifest means: the same value that kubectl would send.

kubectl reads YAML 1.1 as sigs.k8s.io/yaml does (goyaml.v2, resolve.go): `yes`, `on` and `y` are
booleans, `0644` is octal, dates stay text, and base 60 does not exist. JSON must be able to hold
the value, so NaN and the infinities are refused.
"""

import math
import re
from collections.abc import Mapping
from functools import lru_cache

Scalar = str | int | float | bool | None


class RefusedError(ValueError):
    """Well-formed YAML that no manifest may contain."""


_NULLS = ("", "~", "null", "Null", "NULL")
_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_WORDS: Mapping[str, Scalar] = {
    **dict.fromkeys(_NULLS), **dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)
}  # fmt: skip
_NOT_FINITE = frozenset(
    sign + word
    for word in (".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN")
    for sign in ("", "+", "-")
    if not (sign and word.lower() == ".nan")
)
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_LONGEST_NUMBER = 400


@lru_cache(maxsize=4096)
def plain(text: str) -> Scalar:
    """The value of an unquoted scalar without a tag; RefusedError if JSON cannot hold it.

    Remembered, because most scalars of manifests are the names of the same few fields.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "0123456789+-.":
        return _number(text)
    return text


def _number(text: str) -> Scalar:
    if text in _NOT_FINITE:
        raise RefusedError(f"{text} is not a value that JSON can hold")
    digits = text.replace("_", "")
    if len(digits) > _LONGEST_NUMBER:
        return text
    if _INTEGER.fullmatch(digits):
        return _integer(digits)
    return finite(digits) if _FLOAT.fullmatch(digits) else text


def _integer(digits: str) -> int:
    unsigned = digits.lstrip("+-")
    is_octal = len(unsigned) > 1 and unsigned[0] == "0" and unsigned[1].isdecimal()
    return int(digits, 8 if is_octal else 0)


def finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise RefusedError("the number is too large; write text in quotes")
    return value
