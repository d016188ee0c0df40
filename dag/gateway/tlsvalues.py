"""TLS settings of Envoy Gateway's objects, as far as they are served.

A value that is not served has no effect and is reported: TLS is never weaker than by default.
"""

from collections.abc import Iterable

from dag import nodes
from dag.problems import shared
from dag.problems.places import Findings, Place


def version(given: str | None, at: Place) -> Findings[nodes.TlsVersion | None]:
    """A version of TLS as it is written; None for the default, and where it is not served."""
    for it in nodes.TLS_VERSIONS:
        if it == given:
            return it
    if given not in {None, "Auto"}:
        yield shared.no_effect(at, f"TLS {given} is not served")
    return None


def known(given: Iterable[str], served: tuple[str, ...], at: Place) -> Findings[tuple[str, ...]]:
    """The values of a list that are served, each once; others are reported as ineffective."""
    found: list[str] = []
    for index, it in enumerate(given):
        if it in served:
            found.append(it)
        else:
            why = f"{it[:60]!r} is none of {', '.join(served)}"
            yield shared.no_effect(at.item(index), why)
    return tuple(dict.fromkeys(found))
