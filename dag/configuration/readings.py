"""Reading single values of the configuration: the setting, or what is wrong with the value.

For the modules that read a ContourConfiguration. Errors are yielded with their places, and a
default stands in for what makes no sense.
"""

from collections.abc import Iterable
from typing import TypeVar

from dag.nodes import TLS_VERSIONS, TlsVersion
from dag.problems import configuration as problems
from dag.problems.places import Findings, Place

L = TypeVar("L", bound=str)


def one_of(place: Place, known: tuple[L, ...], given: str | None) -> Findings[L | None]:
    """The value, if it is a known one."""
    if given in known:
        return known[known.index(given)]
    if given:
        yield problems.invalid_value(place, f"{given[:60]!r} is none of {', '.join(known)}")
    return None


def all_of(place: Place, known: tuple[L, ...], given: Iterable[str]) -> Findings[tuple[L, ...]]:
    """The values that are known ones, each once."""
    found: list[L | None] = []
    for index, it in enumerate(given):
        found.append((yield from one_of(place.item(index), known, it)))
    return tuple(dict.fromkeys(it for it in found if it))


def tls_versions(
    place: Place, minimum: str | None, maximum: str | None
) -> Findings[tuple[TlsVersion, TlsVersion]]:
    """The oldest and the newest version that may be spoken."""
    oldest: Findings[TlsVersion | None] = one_of(
        place.at("minimumProtocolVersion"), TLS_VERSIONS, minimum
    )
    newest: Findings[TlsVersion | None] = one_of(
        place.at("maximumProtocolVersion"), TLS_VERSIONS, maximum
    )
    least = (yield from oldest) or "1.2"
    most = (yield from newest) or "1.3"
    if least > most:
        yield problems.invalid_value(place, "the minimum protocol version is above the maximum")
        return "1.2", "1.3"
    return least, most
