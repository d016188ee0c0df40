"""One Envoy of a fleet that is served whole editions.

An edition is a named state of everything that a fleet is served. There is no search for the part to
blame, no quarantine and no stand-in: a refused edition is reported to the observer, and no more of
it is sent to the Envoy that refuses it, except for endpoints and secrets that change later: they
follow other objects, and that Envoy goes on using them. The publisher decides what is served
instead. A barrier ensures the order: listeners and routes are sent when the clusters, endpoints and
secrets before them are acknowledged, or a while after the edition was published. Removals of the
other types are sent last, as in any fleet (`removals`).
"""

from collections import deque
from collections.abc import Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from contour.xds.alarms import Alarms
from contour.xds.outcomes import Outcome, RefusedEdition, TakenEdition
from contour.xds.resources import CLUSTER, ENDPOINTS, GATED, LISTENER, SECRET, Part, digest
from contour.xds.state import InFlightResponse
from contour.xds.subscription import Subscription

_FIRST = (CLUSTER, ENDPOINTS, SECRET)
_LIVE = (ENDPOINTS, SECRET)
"""Types that change within an edition."""
_ASKED_BY_ITSELF = (CLUSTER, LISTENER)
"""Types that every Envoy requests; it requests other types before it answers the resources that
refer to them."""
_REMEMBERED = 8
"""The number of editions whose refusal may still arrive."""


@dataclass(slots=True)
class Edition:
    """The edition that a fleet is served now. The fleet sets it, its Envoys read it."""

    name: str = ""
    _taken: set[str] = field(default_factory=set)

    def begin(self, name: str) -> None:
        """Another edition is served, or the same one goes on."""
        if name != self.name:
            self.name, self._taken = name, set()

    def take(self, types: AbstractSet[str], served: Mapping[str, Sized]) -> bool:
        """An Envoy has accepted everything that it has requested, which is of these types. Returns
        whether that is the whole edition: an Envoy that starts must have requested listeners, and
        if each type has a stream of its own, all of these together must have accepted it."""
        self._taken |= types
        return all(it in self._taken for it in _ASKED_BY_ITSELF if served.get(it))


def part(body: bytes, edition: str) -> Part:
    """A part of an edition: the same bytes have another version in another edition.

    So an Envoy is sent a whole edition again if another one was served in between, of which it may
    have applied some even if it refused it.
    """
    return Part(body, digest(edition.encode() + b"\0" + body))


class Whole:
    """Decides what one Envoy may be sent of the editions of its fleet. Times are in seconds."""

    def __init__(
        self,
        edition: Edition,
        subscriptions: Mapping[str, Sequence[Subscription]],
        alarms: Alarms,
        patience: float,
        now: float,
    ) -> None:
        self._edition = edition
        self._subscriptions = subscriptions
        self._alarms = alarms
        self._patience = patience
        # Each edition with the number of the first response that could contain some of it.
        self._begun = deque([(0, edition.name)], _REMEMBERED)
        self._is_refused = False
        self._going_on: frozenset[Subscription] = frozenset()
        """What is still sent of a refused edition: changes of what had been sent before."""
        self._until = 0.0
        self._is_waiting = False
        self._wait(now)

    def published(self, number: int, now: float) -> None:
        """Something was published; `number` is that of the last response to this Envoy."""
        if self._edition.name != self._begun[-1][1]:
            self._begun.append((number + 1, self._edition.name))
            self._is_refused = False
            self._wait(now)

    def holds(self, to: Subscription) -> bool:
        """Whether no resource of a type may be sent for now."""
        if self._is_refused:
            return to not in self._going_on
        return to.type_url in GATED and self._is_waiting and not self._is_settled(_FIRST)

    def refused(
        self, by: Subscription, response: InFlightResponse, words: str
    ) -> list[tuple[Subscription, Outcome]]:
        """A response was refused, and with it its edition."""
        begun = reversed(self._begun)
        name = next((name for first, name in begun if first <= response.number), "")
        if name == self._edition.name and not self._is_refused:
            self._is_refused = True
            live = (it for type_url in _LIVE for it in self._subscriptions.get(type_url, ()))
            self._going_on = frozenset(it for it in live if not it.dirty)
        by.settle(response.before)
        return [(by, RefusedEdition(name, tuple(sorted(response.before)), words))]

    def acknowledged(self, by: Subscription) -> list[tuple[Subscription, Outcome]]:
        """A response was accepted, perhaps the last one of the newest edition."""
        if self._is_refused or not self._is_settled(self._subscriptions):
            return []
        asked = frozenset(it for it, streams in self._subscriptions.items() if streams)
        return [(by, TakenEdition(asked))]

    def _is_settled(self, types: Mapping[str, object] | Sequence[str]) -> bool:
        every = (it for type_url in types for it in self._subscriptions.get(type_url, ()))
        return not any(it.dirty or it.in_flight or it.is_owed for it in every)

    def _wait(self, now: float) -> None:
        self._is_waiting, self._until = True, now + self._patience
        self._alarms.set(self._until, self._give_up)

    def _give_up(self, now: float) -> None:
        if self._until <= now:
            self._is_waiting = False
