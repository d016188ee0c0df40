"""Testimony on the wire between replicas: JSON, in messages of bounded size.

The greeting says who speaks and of which fleets; every later message brings news of one fleet, an
empty one says only that the speaker is alive. A leader answers each with its word of itself. Both
ends are ours and of one release, except while one is rolled out: what a reader does not know it
leaves alone. Versions of contents are equal only between equal builds, so those of another build
are taken out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import orjson

from contour.verdicts.testimony import Listening, News, Place, Refusal
from contour.xds.resources import Name
from crds.meta import ObjectRef

SERVICE = "contour.replicas.v1.Verdicts"
METHOD = "Report"
ALIVE = b"{}"

MOST_WORDS = 2048  # of one refusal; a condition cannot tell more of many of them
MOST_ORIGINS = 64
MOST_PEERS = 64
MOST_RELEASES = 64
_RELEASE = re.compile(r"([0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9})?")
_ROWS_IN_A_MESSAGE = 500


class Garbled(Exception):  # noqa: N818
    """A message that is none of ours."""


class Greeting(NamedTuple):
    """Who speaks."""

    replica: str
    build: str
    fleets: tuple[str, ...]
    address: str = ""
    """Where it can be reported to if it comes to lead: `host:port`."""


class Word(NamedTuple):
    """What a leader answers to each sign of life."""

    build: str
    is_current: bool
    """It leads, and its API server answers."""
    events: Mapping[str, int]
    """The resourceVersion of the newest event that it has had, by collection."""
    peers: tuple[str, ...]
    """The addresses of all who report to it: one of them leads next."""


def greeting(it: Greeting) -> bytes:
    """The first message of a replica."""
    return orjson.dumps(it._asdict())


def greeted(message: bytes) -> Greeting:
    """Reads the first message. Raises `Garbled`."""
    found = _object(message)
    try:
        address = str(found.get("address") or "")
        return Greeting(str(found["replica"]), str(found["build"]), tuple(found["fleets"]), address)
    except (KeyError, TypeError) as error:
        raise Garbled(f"no greeting: {message[:100]!r}") from error


def word(it: Word) -> bytes:
    """What a leader says of itself."""
    return orjson.dumps(it._asdict())


def heard(message: bytes) -> Word | None:
    """Reads what a leader says; None if it says nothing of itself. Raises `Garbled`."""
    found = _object(message)
    if "is_current" not in found:
        return None
    try:
        return Word(
            str(found["build"]),
            bool(found["is_current"]),
            {str(name): int(event) for name, event in found["events"].items()},
            tuple(str(it) for it in found["peers"][:MOST_PEERS]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Garbled(f"no word of a leader: {message[:100]!r}") from error


def messages(fleet: str, news: News) -> Iterator[bytes]:
    """The messages that bring news of a fleet."""
    refusals = iter(news.refusals.items())
    first: dict[str, Any] = {
        "fleet": fleet,
        "whole": news.is_whole,
        "envoys": news.envoys,
        "releases": news.releases,
        "listeners": {name: it and [*it] for name, it in news.listeners.items()},
        "refusals": _some(refusals),
    }
    yield orjson.dumps(first)
    while rows := _some(refusals):
        yield orjson.dumps({"fleet": fleet, "refusals": rows})


def news(message: bytes, *, is_comparable: bool) -> tuple[str, News] | None:
    """The fleet, and the news of it; None if there are none. Raises `Garbled`."""
    found = _object(message)
    if "fleet" not in found:
        return None
    try:
        return str(found["fleet"]), News(
            envoys=None if (envoys := found.get("envoys")) is None else int(envoys),
            listeners={
                name: it and Listening(it[0] if is_comparable else "", bool(it[1]))
                for name, it in found.get("listeners", {}).items()
            },
            refusals=dict(_refusal(it, is_comparable) for it in found.get("refusals", ())),
            releases=_counted(found.get("releases", {}).items()),
            is_whole=bool(found.get("whole")),
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise Garbled(f"no news: {message[:100]!r}") from error


def _some(refusals: Iterable[tuple[Place, Refusal | None]]) -> list[Any]:
    return [_row(*it) for it in islice(refusals, _ROWS_IN_A_MESSAGE)]


def _row(place: Place, found: Refusal | None) -> list[Any]:
    (type_url, name), part = place
    if found is None:
        return [type_url, name, part, None]
    origins = [[*it] for it in found.origins[:MOST_ORIGINS]]
    said = [origins, found.words[:MOST_WORDS], found.digest, found.by[:MOST_RELEASES]]
    return [type_url, name, part, said]


def _refusal(row: list[Any], is_comparable: bool) -> tuple[Place, Refusal | None]:
    type_url, name, part, said = row
    place = Name(type_url, name), part
    if said is None:
        return place, None
    origins, words, digest, *more = said  # a replica of an older build says no more
    by = tuple(sorted(_counted(more[0]).items())) if more else ()
    found = tuple(ObjectRef(*it) for it in origins)
    return place, Refusal(found, words, digest if is_comparable else "", by)


def _counted(found: Iterable[tuple[str, int]]) -> dict[str, int]:
    counted = {name: int(count) for name, count in islice(found, MOST_RELEASES)}
    return {name: count for name, count in counted.items() if _RELEASE.fullmatch(name)}


def _object(message: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(message)
    except orjson.JSONDecodeError as error:
        raise Garbled(f"not JSON: {message[:100]!r}") from error
    if not isinstance(found, dict):
        raise Garbled(f"no message: {message[:100]!r}")
    return found
