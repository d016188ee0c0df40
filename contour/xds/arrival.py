"""When an Envoy that starts is let serve: once it has accepted what it asked for, all of it.

Envoy holds a refused first response for as good as a fetched one: it would call itself ready and
answer 404 for every host until we have found the part to blame. But it also waits for what its
filters are told by ECDS, and that no refusal ends. So this is kept from an Envoy that starts until
its listeners, routes and secrets are accepted, or the refused parts of them found and left out.

What a response makes an Envoy ask for, it asks for before it answers that response (the stream
keeps the order). So when nothing asked for is unanswered, there is nothing more to come.
"""

from collections.abc import Iterable

from contour.xds.resources import EXTENSION, LISTENER, ROUTE, SCOPE, SECRET
from contour.xds.subscription import Subscription

_AWAITED = frozenset({LISTENER, SCOPE, ROUTE, SECRET})


class Arrival:
    """What one Envoy has yet to accept before it is let serve."""

    def __init__(self, subscriptions: dict[str, list[Subscription]]) -> None:
        self._subscriptions = subscriptions
        self._expected: set[tuple[Subscription, str]] = set()
        self._is_over = False

    def expect(self, by: Subscription, names: Iterable[str]) -> None:
        """A stream asks for resources for the first time."""
        if not self._is_over and by.type_url in _AWAITED:
            self._expected.update((by, it) for it in names)

    def met(self, by: Subscription, names: Iterable[str]) -> None:
        """Resources were answered, or nothing of them is to be answered any more."""
        for name in names if self._expected else ():
            if (by, name) in self._expected and not _is_in_question(by, name):
                self._expected.discard((by, name))

    def closed(self, by: Subscription) -> None:
        """A stream has ended: it answers nothing."""
        self._expected = {it for it in self._expected if it[0] is not by}

    def has(self, by: Subscription) -> None:
        """A stream says that it has something already: of EXTENSION, then it has started before."""
        self._is_over |= by.type_url == EXTENSION

    def holds(self, to: Subscription) -> bool:
        """Whether what was asked for is kept back for now."""
        if to.type_url != EXTENSION or self._is_over:
            return False
        takes_listeners = any(it.is_wildcard for it in self._subscriptions.get(LISTENER, ()))
        self._is_over = not takes_listeners or not self._expected
        if self._is_over:
            self._expected = set()
        return not self._is_over


def _is_in_question(by: Subscription, name: str) -> bool:
    """Whether parts of it are on trial, or wait for what they need."""
    on_trial = by.search is not None and name in by.search.wholes
    return on_trial or any(it.is_suspect or it.awaits for it in by.overrides_of(name).values())
