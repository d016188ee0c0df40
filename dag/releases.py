"""Releases of Envoy: which a thing needs, and who is told that some Envoys are older.

Envoys of several releases are connected while a fleet is replaced, or where somebody runs Envoys of
his own. What one is known not to load is left out for it alone (`contour.envoy.releases`), so the
object that asked for it is told; the ContourConfiguration is told that there are such Envoys.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from crds.meta import ObjectRef
from dag import hosts, nodes
from dag.engine.view import Index, Table, View
from dag.problems import Problem, anywhere

Release = tuple[int, int]
"""Major and minor."""

BUILT_FOR: Release = (1, 40)
"""Everything is tried with this one; newer ones are not older in anything."""

NEWER: Mapping[str, str] = {"error_pages": "errorPages", "compressors": "compressor"}
"""The policies that older ones refuse, by what users call them: the filter `custom_response` in the
configuration of a route, and several filters in one place."""

NEWER_SINCE: Release = (1, 40)

Counted = tuple[tuple[str, int], ...]
"""Releases as Envoys write them (`1.39.3`; empty: unknown), sorted, and how many there are."""

CONNECTED: Table[str, Counted] = Table("releases of Envoys")
"""The Envoys of a fleet that are connected, on all replicas; no row if there is none."""


class Need(NamedTuple):
    """What an object asks for that older Envoys cannot load."""

    fleet: str
    what: str
    since: Release


def written(release: Release) -> str:
    """As users are told."""
    return ".".join(map(str, release))


def those(some: Counted, of: int) -> str:
    """Some of all Envoys, with their releases: `1 of 7 Envoys (1.39.3)`."""
    names = ", ".join(name or "of an unknown release" for name, _ in some)
    return f"{sum(count for _, count in some)} of {of} Envoys ({names})"


def older(found: Counted, than: Release) -> str:
    """Which Envoys are older; empty if none is."""
    behind = tuple((name, count) for name, count in found if name and _parsed(name) < than)
    return those(behind, sum(count for _, count in found)) if behind else ""


def _parsed(release: str) -> Release:
    major, minor, *_ = release.split(".")
    return int(major), int(minor)


def told(view: View, subject: ObjectRef) -> Iterator[Problem]:
    """What of an object is left out on some Envoys."""
    for fleet, what, since in sorted(view.bucket(NEEDS, subject)):
        if who := older(view.read(CONNECTED, fleet) or (), since):
            yield anywhere.left_out(subject, what, who, written(since))


def behind(view: View) -> Iterator[str]:
    """For each fleet with Envoys that are older than what we are built for: which."""
    for fleet in sorted(view.bucket(BEHIND, ())):
        who = older(view.read(CONNECTED, fleet) or (), BUILT_FOR)
        yield f"{who} of fleet {fleet}"


def _needs(key: nodes.HostKey, host: nodes.VirtualHost) -> Iterable[tuple[ObjectRef, Need]]:
    for name, what in NEWER.items():
        found = {route.origin for route in host.routes if _has(route.policies, name)}
        if _has(host.policies, name):
            found.update(host.origins)
        if found:
            need = Need(key.fleet, what, NEWER_SINCE)
            yield from ((it, need) for it in found)


def _has(found: nodes.Policies | None, name: str) -> bool:
    return found is not None and isinstance(getattr(found, name), tuple)


def _behind(fleet: str, found: Counted) -> Iterable[tuple[tuple[()], str]]:
    return [((), fleet)] if older(found, BUILT_FOR) else []


NEEDS: Index[ObjectRef, Need] = Index("needs of a newer Envoy", hosts.virtual_host, _needs)
BEHIND: Index[tuple[()], str] = Index("fleets with older Envoys", CONNECTED, _behind)

INDEXES = (NEEDS, BEHIND)
