"""What a connecting Envoy is sent, and which of the requested resources it already has.

It asks for thousands of resources at once, and has either none of them or the newest version of
nearly all. These common cases are handled for all resources together; the others one by one.
"""

from collections.abc import Iterable, Mapping, Sequence

from contour.xds import state
from contour.xds.gates import Gates
from contour.xds.resources import CLUSTER, Resource
from contour.xds.store import Store
from contour.xds.subscription import Subscription
from contour.xds.warming import Warming

_NONE = "none"  # no version


class InitialResources:
    """Introduces resources to one Envoy."""

    def __init__(self, store: Store, gates: Gates, warming: Warming) -> None:
        self._store = store
        self._gates = gates
        self._warming = warming

    def newest(
        self, by: Subscription, names: Sequence[str], had: Mapping[str, str]
    ) -> Sequence[str]:
        """The resources that the Envoy already has in the version that it should have."""
        if not had:
            return []
        versions = self._store.versions(by.type_url, names)
        other = {it for it in (by.varied | by.overrides.keys()) if it in had and by.differs(it)}
        if had != versions:
            pairs = zip(had, had.values(), map(versions.get, had), strict=True)
            other |= {it for it, version, newest in pairs if version != (newest or _NONE)}
        if not other and all(map(had.__contains__, names)):
            return names
        return [it for it in names if it in had and it not in other]

    def keep(self, to: Subscription, names: Sequence[str], now: float) -> None:
        """Notes resources that the Envoy already has in the right version."""
        if to.type_url == CLUSTER:
            self._warming.known(names, now)
        self._warming.has(to, names, now)

    def offer_all(self, to: Subscription, names: Sequence[str]) -> Sequence[str]:
        """Sends resources that the Envoy does not have and that need not wait; returns which these
        are. That a resource does not exist is also sent."""
        free = [
            it
            for it in self._gates.free(to.type_url, names)
            if it not in to.dirty and it not in to.removing and it not in to.overrides
        ]
        if free:
            if to.type_url == CLUSTER:
                self.close(to, free)
            to.mark_absent(free)
        return free

    def close(self, to: Subscription, clusters: Iterable[str]) -> None:
        """Routes wait for these clusters."""
        known = to.published
        self._gates.close([known[it].name for it in clusters if it in known])

    def bring(self, to: Subscription, resource: Resource, version: str | None, now: float) -> bool:
        """Brings a stream to the newest state of a resource. Returns whether it is known which
        parts it has."""
        name = resource.name.name
        if version == resource.version(to.overridden_parts(name)):
            self.keep(to, (name,), now)
            return True
        if resource.name.type_url == CLUSTER:
            self.close(to, (name,))
        before = state.had(resource, version)
        self._gates.offer(to, resource, before, now)
        return not before.is_whole and not before.is_unknown


def without(names: Sequence[str], some: Sequence[str]) -> Sequence[str]:
    """The names that are not among others; optimised for all or none."""
    if len(some) == len(names):
        return ()
    left_out = set(some)
    return [it for it in names if it not in left_out] if some else names
