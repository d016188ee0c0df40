"""Reading a value of the configuration: what it makes, or what is wrong with it.

For the modules that read a ContourConfiguration. Errors are yielded with their places, and a
default stands in for what makes no sense.
"""

from collections.abc import Iterable
from typing import cast

from dag.nodes import TlsVersion
from dag.problems import configuration as problems
from dag.problems.places import Findings, Place


def one_of(place: Place, known: tuple[str, ...], given: str | None) -> Findings[str | None]:
    """The value, if it is a known one."""
    if given and given not in known:
        yield problems.invalid_value(place, f"{given[:60]!r} is none of {', '.join(known)}")
        return None
    return given or None


def all_of(place: Place, known: tuple[str, ...], given: Iterable[str]) -> Findings[tuple[str, ...]]:
    """The values that are known ones, each once."""
    found = []
    for index, it in enumerate(given):
        found.append((yield from one_of(place.item(index), known, it)))
    return tuple(dict.fromkeys(it for it in found if it))


def tls_versions(
    place: Place, minimum: str | None, maximum: str | None
) -> Findings[tuple[TlsVersion, TlsVersion]]:
    """The oldest and the newest version that may be spoken."""
    known = ("1.2", "1.3")
    least = yield from one_of(place.at("minimumProtocolVersion"), known, minimum)
    most = yield from one_of(place.at("maximumProtocolVersion"), known, maximum)
    if (least or "1.2") > (most or "1.3"):
        yield problems.invalid_value(place, "the minimum protocol version is above the maximum")
        return "1.2", "1.3"
    return cast(TlsVersion, least or "1.2"), cast(TlsVersion, most or "1.3")
