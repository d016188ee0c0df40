"""When one Envoy may lose a resource: when nothing it has uses it any more, and a while later.

Removals that were published together leave together, behind one barrier: the resources that Envoy
had yet to be sent, or to acknowledge, at that time. Any of them might still have used what
leaves. Requests that were routed before the acknowledgement get the grace period.
"""

from dataclasses import dataclass

from contour.xds.resources import Resource
from contour.xds.subscription import Flight, Subscription

Leaver = tuple[Subscription, Resource]  # the very one: it may come back, and leave again
_Place = tuple[Subscription, str]


@dataclass(slots=True)
class Barrier:
    """What leaves, and what has to be acknowledged first: from which flight on."""

    leavers: list[Leaver]
    awaits: dict[_Place, int]


class Departures:
    """The barriers of one Envoy that are not yet passed."""

    def __init__(self) -> None:
        self._barriers: list[Barrier] = []

    def add(self, leavers: list[Leaver], others: list[Subscription], number: int) -> Barrier:
        """A barrier for these; `number` is that of the next flight."""
        barrier = Barrier(leavers, {})
        for it in others:
            for flight in it.flights:
                barrier.awaits |= {(it, name): flight.number for name in flight.before}
            for name in (*it.dirty, *it.overrides):
                barrier.awaits[it, name] = number
        self._barriers.append(barrier)
        return barrier

    def landed(self, subscription: Subscription, flight: Flight) -> None:
        """A response was acknowledged: what it brought is awaited no longer."""
        for barrier in self._barriers:
            for name in flight.before:
                key = (subscription, name)
                since = barrier.awaits.get(key)
                if since is None or flight.number < since or _uses(key, barrier):
                    continue
                del barrier.awaits[key]

    def settled(self, subscription: Subscription, name: str) -> bool:
        """Nothing of a name is pending any more; returns whether that was awaited."""
        key = (subscription, name)
        done = [it for it in self._barriers if key in it.awaits and not _uses(key, it)]
        for barrier in done:
            del barrier.awaits[key]
        return bool(done)

    def closed(self, subscription: Subscription) -> None:
        """A stream has ended: it acknowledges nothing any more."""
        for barrier in self._barriers:
            for key in [it for it in barrier.awaits if it[0] is subscription]:
                del barrier.awaits[key]

    def passed(self) -> list[Barrier]:
        """Takes out the barriers behind which nothing is awaited."""
        passed = [it for it in self._barriers if not it.awaits]
        if passed:
            self._barriers = [it for it in self._barriers if it.awaits]
        return passed


def _uses(key: _Place, barrier: Barrier) -> bool:
    """Whether the other side may still have something that needs what leaves."""
    subscription, name = key
    leaving = {it.name for _, it in barrier.leavers}
    return any(not leaving.isdisjoint(it.needs) for it in subscription.held_there(name))
