"""One Envoy of a fleet that is served whole editions: all of one edition, or nothing more of it.

An edition is one state of everything that a fleet is served; it has a name. There is no search for
the part to blame, no quarantine and no stand-in: the witness is told which edition is refused, and
nothing more of that edition is sent to the Envoy that refuses it. Whoever publishes decides what
comes instead. Order is a barrier: listeners and routes go out once the clusters, endpoints and
secrets that were sent before them are acknowledged, or a while after the edition was published.
Removals of the other types go last, as in any fleet (`removals`).
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
_ASKED_BY_ITSELF = (CLUSTER, LISTENER)
"""Types that every Envoy asks for; it asks for others before it answers what refers to them."""
_REMEMBERED = 8
"""Editions of which a refusal may still come in."""


@dataclass(slots=True)
class Edition:
    """The edition that a fleet is served now. The fleet writes it, its Envoys read it."""

    name: str = ""
    _taken: set[str] = field(default_factory=set)

    def begin(self, name: str) -> None:
        """Another edition is served, or the same one goes on."""
        if name != self.name:
            self.name, self._taken = name, set()

    def take(self, types: AbstractSet[str], served: Mapping[str, Sized]) -> bool:
        """An Envoy has accepted all that it asked for, which is of these types. Returns whether
        that is all of the edition: not before an Envoy that starts has asked for listeners, and,
        where each type has a stream of its own, when the streams have it together."""
        self._taken |= types
        return all(it in self._taken for it in _ASKED_BY_ITSELF if served.get(it))


def part(body: bytes, edition: str) -> Part:
    """A part of an edition: the same bytes are another version in another edition.

    So an Envoy is sent a whole edition again when another one was served in between: what it made
    of that one is not known, for it may have applied some of what it refused.
    """
    return Part(body, digest(edition.encode() + b"\0" + body))


class Whole:
    """What one Envoy may be sent of the editions of its fleet. Times are in seconds."""

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
        # Each edition with the number of the first response that could bring some of it.
        self._begun = deque([(0, edition.name)], _REMEMBERED)
        self._is_refused = False
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
        """Whether nothing of a type may go out for now."""
        if self._is_refused:
            return True
        return to.type_url in GATED and self._is_waiting and not self._is_settled(_FIRST)

    def refused(
        self, by: Subscription, response: InFlightResponse, words: str
    ) -> list[tuple[Subscription, Outcome]]:
        """A response was refused, and with it the edition that it brought."""
        begun = reversed(self._begun)
        name = next((name for first, name in begun if first <= response.number), "")
        self._is_refused |= name == self._edition.name
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
