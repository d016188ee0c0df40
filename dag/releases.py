"""Releases of Envoy: which release a feature needs, and warnings about older Envoys.

Envoys of several releases are connected while a fleet is replaced, or where users run Envoys of
their own. What an older one cannot load is left out for it alone (`contour.envoy.releases`), and
the object that asks for it says so in its status; the status of the ContourConfiguration says that
there are such Envoys.
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
"""The release that this version is tested with; newer ones are expected to load everything."""

NEWER: Mapping[str, str] = {"error_pages": "errorPages", "compressors": "compressor"}
"""The policies that older releases refuse, with the names that users know: they need the filter
`custom_response` in the configuration of a route, or several filters in one place."""

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
    """A release as it is shown to users."""
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


def problems_of(view: View, subject: ObjectRef) -> Iterator[Problem]:
    """Problems of an object with parts that some Envoys do not get."""
    for fleet, what, since in sorted(view.bucket(NEEDS, subject)):
        if who := older(view.read(CONNECTED, fleet) or (), since):
            yield anywhere.left_out(subject, what, who, written(since))


def behind(view: View) -> Iterator[str]:
    """For each fleet with Envoys older than BUILT_FOR: which."""
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
