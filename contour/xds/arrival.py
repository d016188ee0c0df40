"""When an Envoy that starts may serve: when it has accepted everything that it asked for.

For Envoy a refused first response counts as fetched: it would become ready, and answer 404 for
every host until we have found the part to blame. But Envoy also waits for the ECDS configuration of
its filters, which no refusal ends. So ECDS is withheld from an Envoy that starts until its
listeners, routes and secrets are accepted, or their refused parts are found and left out.

When a response makes Envoy request further resources, it does so before it acknowledges that
response (the stream keeps the order). So when no request is unanswered, no more will follow.
"""

from collections.abc import Iterable

from contour.xds.resources import EXTENSION, LISTENER, ROUTE, SCOPE, SECRET
from contour.xds.subscription import Subscription

_AWAITED = frozenset({LISTENER, SCOPE, ROUTE, SECRET})


class Arrival:
    """What one Envoy has yet to accept before it may serve."""

    def __init__(self, subscriptions: dict[str, list[Subscription]]) -> None:
        self._subscriptions = subscriptions
        self._expected: set[tuple[Subscription, str]] = set()
        self._is_over = False

    def expect(self, by: Subscription, names: Iterable[str]) -> None:
        """A stream asks for resources for the first time."""
        if not self._is_over and by.type_url in _AWAITED:
            self._expected.update((by, it) for it in names)

    def met(self, by: Subscription, names: Iterable[str]) -> None:
        """Resources were acknowledged, or nothing of them is to be acknowledged any more."""
        for name in names if self._expected else ():
            if (by, name) in self._expected and not _is_in_question(by, name):
                self._expected.discard((by, name))

    def closed(self, by: Subscription) -> None:
        """A stream has ended, so it acknowledges nothing more."""
        self._expected = {it for it in self._expected if it[0] is not by}

    def has(self, by: Subscription) -> None:
        """A stream already has something. If that is of EXTENSION, this Envoy has started
        before."""
        self._is_over |= by.type_url == EXTENSION

    def holds(self, to: Subscription) -> bool:
        """Whether a type is withheld for now."""
        if to.type_url != EXTENSION or self._is_over:
            return False
        takes_listeners = any(it.is_wildcard for it in self._subscriptions.get(LISTENER, ()))
        self._is_over = not takes_listeners or not self._expected
        if self._is_over:
            self._expected = set()
        return not self._is_over


def _is_in_question(by: Subscription, name: str) -> bool:
    """Whether parts of a resource are on trial, or wait for what they need."""
    on_trial = by.search is not None and name in by.search.wholes
    return on_trial or any(it.is_suspect or it.awaits for it in by.overrides_of(name).values())
