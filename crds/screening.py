"""A first pass over a raw document of any shape: nulls, invalid text, and sheer size.

It comes before validation, because models see only the fields they know, and because a YAML
document of a few lines can expand to millions of values.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple, TypeGuard

from crds.complaints import UNICODE, dotted
from crds.raw import Raw, is_list, is_mapping

LIMIT = 1_000_000
"""The largest number of values of one object; the largest object in etcd has about a quarter."""
DEPTH = 100
"""The largest number of levels of one object; the deepest kind here has about twenty."""


class Screening(NamedTuple):
    """What a raw document needs before it can be validated."""

    has_nulls: bool
    has_bad_text: bool
    is_too_large: bool


def is_plain(text: bytes) -> bool:
    """Whether a document with this JSON surely needs nothing: the text tells in a moment, if
    somebody has it. To write it would not be safe: a document may refer to itself many times."""
    if len(text) > LIMIT or text.count(b"{") + text.count(b"[") > DEPTH:
        return False
    return text.isascii() and b"null" not in text and b"\\u" not in text


PLAIN = Screening(has_nulls=False, has_bad_text=False, is_too_large=False)


def screened(raw: Raw, most_levels: int = DEPTH) -> Screening:
    """Walks over all values, level by level, and stops at the limits, also in cycles."""
    nulls = bad_text = False
    seen, depth = 0, 0
    level: list[list[object] | Raw] = [raw]
    while level:
        depth += 1
        below: list[list[object] | Raw] = []
        for node in level:
            seen += len(node)
            if seen > LIMIT or depth > most_levels:
                return Screening(nulls, bad_text, is_too_large=True)
            for value in _parts(node):
                if type(value) is str:
                    bad_text = bad_text or not _is_good(value)
                elif value is None:
                    nulls = True
                elif _is_container(value):
                    below.append(value)
        level = below
    return Screening(nulls, bad_text, is_too_large=False)


def refusal(raw: Raw, most_levels: int) -> str:
    """Why an object that stands in a text inside another one cannot be taken; empty if it can."""
    seen = screened(raw, most_levels)
    if seen.is_too_large:
        return "is too large or nested too deeply"
    return f"{dotted(next(bad_texts(raw)))} {UNICODE}" if seen.has_bad_text else ""


def _is_container(value: object) -> TypeGuard[list[object] | Raw]:
    return isinstance(value, dict | list)


def _parts(node: list[object] | Raw) -> Iterable[object]:
    """The items of a list, or the names and values of an object."""
    return chain.from_iterable(node.items()) if isinstance(node, dict) else node


def without_nulls(raw: object) -> object:
    """A copy without fields that are null, which the API server prunes too."""
    if is_mapping(raw):
        return {key: without_nulls(value) for key, value in raw.items() if value is not None}
    if is_list(raw):
        return [without_nulls(value) for value in raw]
    return raw


def bad_texts(raw: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of text and field names that no Kubernetes object may hold."""
    if isinstance(raw, str) and not _is_good(raw):
        yield path
    elif is_mapping(raw):
        for key, value in raw.items():
            is_good = _is_good(str(key))
            yield from bad_texts(value, (*path, str(key))) if is_good else (path,)
    elif is_list(raw):
        for index, value in enumerate(raw):
            yield from bad_texts(value, (*path, index))


def _is_good(text: str) -> bool:
    """Whether it has no NUL and can be encoded as UTF-8 (no half of a surrogate pair)."""
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
