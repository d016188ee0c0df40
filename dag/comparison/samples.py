"""Texts that a regular expression matches, made up.

An expression is read from left to right (RE2, "Syntax"), and texts are made of its pieces on the
way. RE2 itself says what a single character may be; anchors and flags are ignored. So in the end
the texts are matched against the whole expression, and there may be none left.
"""

import re
from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from itertools import chain, product, zip_longest
from typing import TypeVar

import re2

from dag.values import regexes

A = TypeVar("A", bound=Hashable)
B = TypeVar("B", bound=Hashable)
Texts = tuple[str, ...]

MOST = 6
"""The most texts of one expression."""

_MOST_GROUPS = 60
"""The most groups of an expression; those with more are not read."""


@lru_cache(maxsize=16_384)
def samples(expression: str) -> Texts:
    """A few texts that the whole expression matches, the simplest first. None where no texts of
    printable characters are found, which does not mean that there are none."""
    if expression.count("(") > _MOST_GROUPS:
        return ()
    found = _Reader(expression).texts()
    return tuple(it for it in found if regexes.matches(expression, it))


def crossed(one: Sequence[A], other: Sequence[B]) -> list[tuple[A, B]]:
    """Some pairs of both; the first few contain each member of either at least once."""
    if not one or not other:
        return []
    count = max(len(one), len(other))
    first = ((one[n % len(one)], other[n % len(other)]) for n in range(count))
    return list(dict.fromkeys(chain(first, product(one, other))))[:MOST]


_GROUP = re.compile(r"\((?:\?(?:P?<\w+>|[imsU-]*:))?")
_FLAGS = re.compile(r"\(\?[imsU-]+\)")
_TIMES = re.compile(r"(?:([*+?])|\{([0-9]+)(?:(,)([0-9]*))?\})\??")
_PLAIN = re.compile(r"(?:[\w/:;=,@%&~#'\"<>! -](?![*+?{]))+")
_CHARACTER = re.compile(
    r"\\(?:[pP](?:\{\^?\w+\}|\w)|x(?:\{[0-9a-fA-F]+\}|[0-9a-fA-F]{2})|.)"
    r"|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]"
    r"|.",
    re.DOTALL,
)
_ANCHORS = frozenset({"^", "$", "\\A", "\\z", "\\b", "\\B"})


class _Reader:
    """Reads an expression from left to right, and makes up texts."""

    def __init__(self, expression: str) -> None:
        self._rest = expression

    def texts(self) -> Texts:
        """Texts for the rest of the group: the first ones of each alternative come first."""
        branches = [self._sequence()]
        while self._taken("|"):
            branches.append(self._sequence())
        return _few(chain.from_iterable(zip_longest(*branches)))

    def _sequence(self) -> Texts:
        found: Texts = ("",)
        while self._rest and self._rest[0] not in "|)":
            found = _few("".join(it) for it in crossed(found, self._repeated()))
        return found

    def _repeated(self) -> Texts:
        found = self._piece()
        while times := self._matched(_TIMES):
            sign, least, comma, most = times.groups()
            low = {"*": 0, "+": 1, "?": 0}[sign] if sign else int(least)
            is_fixed = not sign and (most == least or not comma)
            found = _few((*_times(found, low), *(() if is_fixed else _times(found, low + 1))))
        return found

    def _piece(self) -> Texts:
        if self._matched(_FLAGS):
            return ("",)
        if self._matched(_GROUP):
            found = self.texts()
            self._taken(")")
            return found
        if plain := self._matched(_PLAIN):
            return (plain[0],)
        character = self._matched(_CHARACTER)
        assert character is not None
        return _characters(character[0])

    def _taken(self, text: str) -> bool:
        is_next = self._rest.startswith(text)
        self._rest = self._rest.removeprefix(text)
        return is_next

    def _matched(self, wanted: re.Pattern[str]) -> re.Match[str] | None:
        found = wanted.match(self._rest)
        self._rest = self._rest[found.end() :] if found else self._rest
        return found


def _times(texts: Texts, count: int) -> Texts:
    """Each text as often. What RE2 takes literally (`\\Q…\\E`) may ask for any number."""
    most = min(count, regexes.MAX_LENGTH + 1)  # more is too long even for one character
    return tuple(it * most for it in texts) if count else ("",)


def _few(texts: Iterable[str | None]) -> Texts:
    """Without doubles, and without those that are too long for a request."""
    made = dict.fromkeys(it for it in texts if it is not None and len(it) <= regexes.MAX_LENGTH)
    return tuple(made)[:MOST]


_PRINTABLE = "a1bz0AZ-_. " + "".join(map(chr, range(33, 127)))


@lru_cache(maxsize=4096)
def _characters(piece: str) -> Texts:
    """Some that one piece stands for."""
    if piece in _ANCHORS:
        return ("",)
    if regexes.refusal(piece) is not None:
        return ()
    found = filter(None, re2.compile(piece).findall(_PRINTABLE + piece[-1]))
    return tuple(dict.fromkeys(found))[:3]
