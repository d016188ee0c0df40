"""The wire format of reports between replicas: JSON, in messages of bounded size.

The greeting names the replica and its fleets; every later message is the delta of one fleet, or
empty as a sign of life. The leader answers each message with its own status. Both ends are of one
release, except during a rollout: a reader ignores fields that it does not know. Content hashes are
equal only between equal builds, so those of another build are dropped.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

import orjson

from contour.envoyreports.report import ListenerState, Refusal, ReportDelta
from contour.xds.resources import Name, PartKey
from crds import raw
from crds.meta import ObjectRef
from crds.raw import Raw

SERVICE = "contour.replicas.v1.Verdicts"  # replicas of other releases know it by this name
METHOD = "Report"
ALIVE = b"{}"

MOST_ORIGINS = 64
MOST_PEERS = 64
MOST_RELEASES = 64
_RELEASE = re.compile(r"([0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9})?")
_ROWS_IN_A_MESSAGE = 500


class Malformed(Exception):  # noqa: N818
    """A message that is not in this format."""


class Greeting(NamedTuple):
    """The replica that reports."""

    replica: str
    build: str
    fleets: tuple[str, ...]
    address: str = ""
    """Where followers can reach it once it leads: `host:port`."""


class LeaderStatus(NamedTuple):
    """What a leader answers to each message."""

    build: str
    is_current: bool
    """True if it leads and its API server answers."""
    events: Mapping[str, int]
    """The resourceVersion of the newest event that it has received, by collection."""
    peers: tuple[str, ...]
    """The addresses of its followers, one of which leads next."""


def greeting(it: Greeting) -> bytes:
    """The first message of a replica."""
    return orjson.dumps(it._asdict())


def read_greeting(message: bytes) -> Greeting:
    """Reads the first message. Raises `Malformed`."""
    found = _object(message)
    try:
        address = str(found.get("address") or "")
        fleets = tuple(str(it) for it in _list(found["fleets"]))
        return Greeting(str(found["replica"]), str(found["build"]), fleets, address)
    except (KeyError, TypeError) as error:
        raise Malformed(f"not a greeting: {message[:100]!r}") from error


def leader_status(it: LeaderStatus) -> bytes:
    """The answer of a leader."""
    return orjson.dumps(it._asdict())


def read_leader_status(message: bytes) -> LeaderStatus | None:
    """Reads the answer of a leader; None if it has no status. Raises `Malformed`."""
    found = _object(message)
    if "is_current" not in found:
        return None
    try:
        return LeaderStatus(
            str(found["build"]),
            bool(found["is_current"]),
            {name: _number(event) for name, event in _mapping(found["events"]).items()},
            tuple(str(it) for it in _list(found["peers"])[:MOST_PEERS]),
        )
    except (KeyError, TypeError) as error:
        raise Malformed(f"not a leader's status: {message[:100]!r}") from error


def messages(fleet: str, delta: ReportDelta) -> Iterator[bytes]:
    """The messages that carry the delta of a fleet."""
    refusals = iter(delta.refusals.items())
    first: Raw = {
        "fleet": fleet,
        "whole": delta.is_whole,
        "envoys": delta.envoys,
        "releases": delta.releases,
        "listeners": {name: it and [*it] for name, it in delta.listeners.items()},
        "refusals": _some(refusals),
    }
    yield orjson.dumps(first)
    while rows := _some(refusals):
        yield orjson.dumps({"fleet": fleet, "refusals": rows})


def read_delta(message: bytes, *, is_comparable: bool) -> tuple[str, ReportDelta] | None:
    """The fleet and its delta; None for a sign of life. Raises `Malformed`."""
    found = _object(message)
    if "fleet" not in found:
        return None
    try:
        return str(found["fleet"]), ReportDelta(
            envoys=None if (envoys := found.get("envoys")) is None else _number(envoys),
            listeners={
                name: _listener(it, is_comparable)
                for name, it in _mapping(found.get("listeners", {})).items()
            },
            refusals=dict(_refusal(it, is_comparable) for it in _list(found.get("refusals", []))),
            releases=_counted(_mapping(found.get("releases", {})).items()),
            is_whole=bool(found.get("whole")),
        )
    except (TypeError, ValueError) as error:
        raise Malformed(f"not a delta: {message[:100]!r}") from error


def _some(refusals: Iterable[tuple[PartKey, Refusal | None]]) -> list[object]:
    return [_row(*it) for it in islice(refusals, _ROWS_IN_A_MESSAGE)]


def _row(place: PartKey, found: Refusal | None) -> list[object]:
    (type_url, name), part = place
    if found is None:
        return [type_url, name, part, None]
    origins = [[*it] for it in found.origins[:MOST_ORIGINS]]
    said = [origins, found.words, found.digest, found.by[:MOST_RELEASES]]
    return [type_url, name, part, said]


def _listener(said: object, is_comparable: bool) -> ListenerState | None:
    if said is None:
        return None
    version, is_pending, *_ = _list(said)  # newer builds may send more
    return ListenerState(str(version) if is_comparable else "", bool(is_pending))


def _refusal(row: object, is_comparable: bool) -> tuple[PartKey, Refusal | None]:
    type_url, name, part, said = _list(row)
    place = Name(str(type_url), str(name)), str(part)
    if said is None:
        return place, None
    origins, words, digest, *more = _list(said)  # older builds send no more
    by = tuple(sorted(_counted(map(_list, _list(more[0]))).items())) if more else ()
    found = tuple(ObjectRef(*map(str, _list(it))) for it in _list(origins))
    return place, Refusal(found, str(words), str(digest) if is_comparable else "", by)


def _counted(found: Iterable[Iterable[object]]) -> dict[str, int]:
    counted = {str(name): _number(count) for name, count in islice(found, MOST_RELEASES)}
    return {name: count for name, count in counted.items() if _RELEASE.fullmatch(name)}


def _object(message: bytes) -> Raw:
    try:
        return _mapping(orjson.loads(message))
    except orjson.JSONDecodeError as error:
        raise Malformed(f"not JSON: {message[:100]!r}") from error
    except TypeError as error:
        raise Malformed(f"not a message: {message[:100]!r}") from error


def _mapping(value: object) -> Raw:
    """Raises TypeError, as those below do."""
    if raw.is_mapping(value):
        return value
    raise TypeError(f"not an object: {value!r}")


def _list(value: object) -> list[object]:
    if raw.is_list(value):
        return value
    raise TypeError(f"not a list: {value!r}")


def _number(value: object) -> int:
    if isinstance(value, int):
        return value
    raise TypeError(f"not a number: {value!r}")
