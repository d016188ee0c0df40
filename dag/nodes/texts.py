"""Texts in Envoy's configuration: header values with operators, and string matches.

Used by all other nodes. A value is literal unless it is a `Format`, whose operators come from an
allow-list of the rules; the translation doubles every `%` of the literal pieces. So no tenant can
write an operator that the rules did not read. Elsewhere: which operators there are
(`dag.values.headers`).
"""

from typing import Literal, NamedTuple

from crds.records import dataclass


class Operator(NamedTuple):
    """What Envoy puts in: `Operator("REQ", "x-foo")` is written `%REQ(x-foo)%`."""

    name: str
    """Capital letters, digits and `_`."""
    argument: str = ""
    """Without parentheses; `%` only in the format of a time. None, if empty."""
    length: int = 0
    """The most characters that are put in; 0 is without limit."""


class Format(NamedTuple):
    """A text with operators in it."""

    pieces: tuple[str | Operator, ...]


Value = str | Format
"""The value of a header: literal text, or text with operators."""


Operation = Literal["exact", "prefix", "suffix", "contains", "regex", "present"]


@dataclass(frozen=True, slots=True)
class ValueMatch:
    """What the value of a header, cookie or query parameter must be."""

    operator: Operation
    value: str = ""
    ignore_case: bool = False
    """Not for a regex, which has `(?i)` for that."""


@dataclass(frozen=True, slots=True)
class HeaderMatch:
    """A condition on one header; the name is lower case."""

    name: str
    value: ValueMatch
    inverted: bool = False
    missing_as_empty: bool = False


@dataclass(frozen=True, slots=True)
class HeaderPolicy:
    """Headers changed on the way."""

    set: tuple[tuple[str, Value], ...] = ()
    add: tuple[tuple[str, Value], ...] = ()
    remove: tuple[str, ...] = ()
