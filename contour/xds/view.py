"""What each connected Envoy has, has refused and waits for; `contour config` shows all of it, the
dashboard shows counts.

It is plain data, made on request. It contains no bytes of a resource, and so no key of a secret.
"""

import heapq
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass

from contour.xds import releases
from contour.xds.envoy import Envoy
from contour.xds.fleet import Fleet
from contour.xds.resources import RANK
from contour.xds.state import Override
from contour.xds.subscription import Subscription

_Steps = Generator[None, None, dict[str, object]]
"""Shows something step by step, and returns it."""

_NAMES, _SORTED = 100, 1000
"""How many names of a subscription are shown or sorted in one step: part of a millisecond."""


def _plain(shown: dict[str, object]) -> object:
    return shown


def fleet(of: Fleet) -> dict[str, object]:
    """One fleet: its Envoys, and the parts in quarantine for all of them."""
    return next(it for it in steps(of) if it is not None)


def steps(
    of: Fleet, written: Callable[[dict[str, object]], object] = _plain
) -> Iterator[dict[str, object] | None]:
    """The same, after steps that are None: names are many, and each Envoy has all of them. Each
    Envoy and each name is shown as it is at its moment, and each subscription as `written` makes
    it."""
    found: list[dict[str, object]] = []
    for it in sorted(of.envoys, key=lambda it: it.id):
        if it in of.envoys:
            found.append((yield from _envoy(it, written)))
        yield None
    yield {
        "fleet": of.name,
        "envoys": found,
        "counts": {f"{what} {type_url}": count for (what, type_url), count in of.counts.items()},
        "quarantine": [
            {"type": name.type_url, "name": name.name, "part": part, "refusal": refusal.words}
            for name, part, refusal in of.quarantine
        ],
    }


def _envoy(of: Envoy, written: Callable[[dict[str, object]], object]) -> _Steps:
    types = sorted(of.subscriptions, key=lambda it: (RANK.get(it, len(RANK)), it))
    viewer = of.viewer
    seen_as = {"namespace": viewer.namespace, "zone": viewer.zone} if viewer is not None else {}
    found: list[object] = []
    for it in [it for type_url in types for it in of.subscriptions[type_url]]:
        shown = yield from _subscription(it)
        found.append(written(shown))
    return {"id": of.id, **seen_as, "types": found}


def _subscription(of: Subscription) -> _Steps:
    names = {*of.published, *of.removing} if of.is_wildcard else of.names
    versions: dict[str, str | None] = {}
    for name in _sorted(names):
        if name is None:
            yield
        else:
            versions[name] = _version(of, name)
    return {
        "type": of.asked_as,
        "subscribed": "*" if of.is_wildcard else list(versions),
        "versions": versions,
        "unsent": sorted(of.dirty),
        "unanswered": sorted({name for it in of.in_flight for name in it.before}),
        "waiting": _overridden(of, lambda it: [str(need.name) for need in sorted(it.awaits)]),
        "refused": _refused(of),
        "malformed": dict(sorted(of.malformed.items())),
        "leaving": sorted(of.removing),
    }


def _sorted(names: Iterable[str]) -> Iterator[str | None]:
    """Names in order, with None after each step of sorting or showing."""
    left, runs = list(names), list[list[str]]()
    while left:
        runs.append(sorted(left[-_SORTED:]))
        del left[-_SORTED:]
        yield None
    for number, name in enumerate(heapq.merge(*runs), 1):
        yield name
        if not number % _NAMES:
            yield None


def _refused(of: Subscription) -> dict[str, dict[str, object]]:
    """Refusals by resource and part; a client that is served by name refuses whole resources, part
    `""`."""
    found = _overridden(of, lambda it: it.refusal)
    return {**found, **{name: {"": words} for name, words in sorted(of.declined.items())}}


def _version(of: Subscription, name: str) -> str | None:
    """The version that the Envoy has acknowledged; None unless it is the one it should have."""
    resource = of.served(name)
    if resource is None or not of.is_acknowledged(name):
        return None
    return resource.version(of.overridden_parts(name))


def _overridden(
    of: Subscription, said: Callable[[Override], object]
) -> dict[str, dict[str, object]]:
    """What `said` returns for each override, by resource and part; empty values are left out."""
    found: dict[str, dict[str, object]] = {}
    for name, parts in sorted(of.overrides.items()):
        for part, override in sorted(parts.items()):
            if said(override):
                found.setdefault(name, {})[part] = said(override)
    return found


@dataclass(frozen=True, slots=True)
class TypeCounts:
    """The progress of one Envoy with the resources of one type."""

    type_url: str
    served: int
    unsent: int
    unanswered: int
    waiting: int
    """Resources of which parts are held back until the Envoy has what they need."""
    refusals: tuple[tuple[str, str], ...]
    """Names of resources, and the Envoy's messages."""


@dataclass(frozen=True, slots=True)
class EnvoyCounts:
    """The progress of one Envoy."""

    fleet: str
    id: str
    release: str
    """The release of Envoy, such as 1.40.0; empty if it does not say."""
    types: tuple[TypeCounts, ...]

    @property
    def is_current(self) -> bool:
        """Whether it has everything that it should have."""
        return not any(it.unsent or it.unanswered or it.waiting or it.refusals for it in self.types)


def counts(of: Fleet) -> Iterator[EnvoyCounts]:
    """The progress of each Envoy of a fleet; the cost depends only on what is pending."""
    for envoy in sorted(of.envoys, key=lambda it: it.id):
        types = sorted(envoy.subscriptions, key=lambda it: (RANK.get(it, len(RANK)), it))
        found = (_counted(it) for url in types for it in envoy.subscriptions[url])
        yield EnvoyCounts(of.name, envoy.id, releases.written(envoy.release), tuple(found))


def _counted(of: Subscription) -> TypeCounts:
    refused = _refused(of)
    return TypeCounts(
        of.asked_as,
        served=len(of.published) if of.is_wildcard else len(of.names),
        unsent=len(of.dirty),
        unanswered=len({name for it in of.in_flight for name in it.before}),
        waiting=sum(any(it.awaits for it in parts.values()) for parts in of.overrides.values()),
        refusals=tuple((name, words) for name in refused for words in _words(refused[name])),
    )


def _words(of: dict[str, object]) -> list[str]:
    return list(dict.fromkeys(map(str, of.values())))
