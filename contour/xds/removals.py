"""When a resource may be removed from one Envoy: a while after nothing that it has uses the
resource any more.

Removals that were published together are sent together, behind one barrier: the resources that were
still to be sent to Envoy, or unacknowledged, at that time. Any of them might still have used what
is removed. A refused resource is awaited only if what Envoy keeps instead needs something that is
removed. Requests that were routed before the acknowledgement get the grace period.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from contour.xds.resources import CLUSTER, ENDPOINTS, SECRET, Name, Part, Resource
from contour.xds.state import InFlightResponse
from contour.xds.subscription import Subscription

# It contains the resource itself, because another one of the same name may be added and removed
# again.
PendingRemoval = tuple[Subscription, Resource]
_Key = tuple[Subscription, str]

_ANYTHING = Name("", "")


@dataclass(slots=True)
class RemovalBarrier:
    """What is removed, and what has to be acknowledged first, each from which response on."""

    removals: list[PendingRemoval]
    awaits: dict[_Key, int]


class PendingRemovals:
    """The removals for one Envoy, and the barriers that are not yet passed."""

    def __init__(self) -> None:
        self._barriers: list[RemovalBarrier] = []
        self._needed: Counter[Name] = Counter()  # by resources that are about to be removed

    def begin(self, to: Subscription, resource: Resource) -> None:
        """Begins to remove a resource, which stays on Envoy unchanged for a while."""
        to.removing[resource.name.name] = resource
        self._needed.update(_needs(resource))

    def cancel(self, to: Subscription, name: str) -> Resource | None:
        """Ends the removal of a resource, whether it is completed or cancelled."""
        resource = to.removing.pop(name, None)
        if resource is not None:
            for need in _needs(resource):
                self._needed[need] -= 1
                if self._needed[need] <= 0:
                    del self._needed[need]
        return resource

    def is_needed(self, name: Name) -> bool:
        """Whether a resource that is about to be removed, but still exists on Envoy, may need
        it."""
        may_be_used = name.type_url in {ENDPOINTS, SECRET} and self._needed[_ANYTHING] > 0
        return may_be_used or self._needed[name] > 0

    def add(
        self, removals: list[PendingRemoval], others: list[Subscription], number: int
    ) -> RemovalBarrier:
        """A barrier for these; `number` is that of the next response."""
        barrier = RemovalBarrier(removals, {})
        for it in others:
            for response in it.in_flight:
                barrier.awaits |= {(it, name): response.number for name in response.before}
            overridden = (name for name in it.overrides if _is_awaited(it, name, barrier))
            for name in (*it.dirty, *overridden):
                barrier.awaits[it, name] = number
        self._barriers.append(barrier)
        return barrier

    def acknowledged(self, by: Subscription, response: InFlightResponse) -> None:
        """A response was acknowledged: its resources are no longer awaited."""
        for barrier in self._barriers:
            for name in response.before:
                key = (by, name)
                since = barrier.awaits.get(key)
                if since is None or response.number < since or _uses(*key, barrier):
                    continue
                del barrier.awaits[key]

    def settled(self, by: Subscription, names: Iterable[str]) -> bool:
        """Nothing of these is pending any more; returns whether that was awaited."""
        done = [
            (barrier, key)
            for key in (((by, it) for it in names) if self._barriers else ())
            for barrier in self._barriers
            if key in barrier.awaits and not _uses(*key, barrier)
        ]
        for barrier, key in done:
            del barrier.awaits[key]
        return bool(done)

    def closed(self, by: Subscription) -> None:
        """A stream has ended: it acknowledges nothing any more, and nothing is removed from it."""
        for name in tuple(by.removing):
            self.cancel(by, name)
        for barrier in self._barriers:
            for key in [it for it in barrier.awaits if it[0] is by]:
                del barrier.awaits[key]

    def passed(self) -> list[RemovalBarrier]:
        """Takes out the barriers behind which nothing is awaited."""
        passed = [it for it in self._barriers if not it.awaits]
        if passed:
            self._barriers = [it for it in self._barriers if it.awaits]
        return passed


def needed_of(
    subscriptions: Mapping[str, Sequence[Subscription]], part: Part | None
) -> Iterator[Resource]:
    """The resources that a part needs, directly or not, and that are about to be removed."""
    for need in part.needs if part else ():
        for it in subscriptions.get(need.type_url, ()):
            resource = it.removing.get(need.name)
            if resource is not None and resource.parts:
                yield resource
                yield from needed_of(subscriptions, resource.parts.get(""))


def _is_awaited(by: Subscription, name: str, barrier: RemovalBarrier) -> bool:
    """Whether a removal has to wait for a resource of which something else than the newest is sent.
    A refused value never changes by itself, so it is awaited only if it uses what is removed."""
    return by.is_held_back(name) or _uses(by, name, barrier)


def _uses(by: Subscription, name: str, barrier: RemovalBarrier) -> bool:
    """Whether Envoy may still have something that needs what is removed."""
    if by.is_held_whole(name):
        return True  # It has an unknown version of it.
    removed = {it.name for _, it in barrier.removals}
    return any(not removed.isdisjoint(it.needs) for it in by.held_there(name))


def _needs(resource: Resource) -> list[Name]:
    """What a resource needs; a cluster that is no longer known may need anything."""
    if not resource.parts and resource.name.type_url == CLUSTER:
        return [_ANYTHING]
    return [need for part in resource.parts.values() for need in part.needs]
