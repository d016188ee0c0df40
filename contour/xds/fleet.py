"""The configuration of one fleet of Envoys and who listens to it.

A publication costs what it changes times who asked for that: no resource, stream or subscription
is looked at that has nothing to do with it. A fleet is served from its first publication on,
which has to be complete. What each Envoy may have when is in `envoy`.
"""

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import count

from contour.xds.acceptance import Acceptance, Nobody, Witness
from contour.xds.envoy import Envoy, Patience
from contour.xds.gates import Waits
from contour.xds.pacing import Pacing
from contour.xds.quarantine import Quarantine, Refusal
from contour.xds.releases import Release, written
from contour.xds.resources import LISTENER, Change, Name, Part, is_same
from contour.xds.retirement import Retirement
from contour.xds.store import Edit, Store
from contour.xds.subscription import Before, Subscription

log = logging.getLogger(__name__)

Clock = Callable[[], float]

Later = Callable[[float, Callable[[], None]], None]
"""Does something after so many seconds."""

StandIn = Callable[[Name, str], Part | None]
"""What is served of a part that is refused, where none was ever accepted; perhaps nothing."""


def _nothing(_: Name, __: str) -> Part | None:
    return None


def _at_once(_: float, action: Callable[[], None]) -> None:
    action()


class Fleet:
    """All that one fleet is served, and the Envoys connected to it."""

    def __init__(
        self,
        name: str,
        patience: Patience | None = None,
        clock: Clock = time.monotonic,
        later: Later = _at_once,
    ) -> None:
        self.name = name
        self.patience = patience or Patience()
        self.clock = clock
        self._later = later
        self.store = Store()
        self.quarantine = Quarantine()
        self.witness: Witness = Nobody()
        self.stand_in: StandIn = _nothing
        self.built_for: Release | None = None  # what is older is served, and told
        self.acceptance = Acceptance(self, self.quarantine)
        self._retirement = Retirement(self)
        self.pacing = Pacing(self)
        self.counts: Counter[tuple[str, str]] = Counter()  # (what happened, type) to how often
        self.waits = Waits()
        self.identities = frozenset({name})  # certificates of these names may see it
        self._noted: list[tuple[Name, str, Part | None]] = []
        self.is_open = False
        self.envoys: set[Envoy] = set()
        self._by_id: dict[str, Envoy] = {}  # of those with one stream per type
        self._named: defaultdict[Name, set[Subscription]] = defaultdict(set)
        self._wildcards: defaultdict[str, set[Subscription]] = defaultdict(set)
        self._nonces = count(1)
        self._shared: dict[str, dict[object, tuple[bytes, str]]] = {}

    def publish(self, changes: Iterable[Change]) -> None:
        """Serves the newest state to those who asked for what differs."""
        self.is_open = True
        settled = self.pacing.put_off(self._retirement.put_off(changes))
        self._spread(self.store.apply(self.quarantine.admitted(settled)))
        self._release()
        # What is served as it was, or not at all, has nothing left to prove.
        self._recover(
            [name for name, _ in self.quarantine.released()],
            lambda name, part: part not in self.store.unproven.get(name, ()),
        )

    def note(self, name: Name, part: str) -> None:
        """An Envoy has accepted the part as it is now; proven with the next news."""
        resource = self.store.resource(name)
        self._noted.append((name, part, resource.parts.get(part) if resource else None))

    def prove(self, by: Subscription, before: dict[str, Before]) -> None:
        """An Envoy has accepted what a response brought."""
        self._prove_noted()
        names = [Name(by.type_url, it) for it in before]
        for name in names:
            had = before[name.name]
            for part in list(self.store.unproven.get(name, ())):
                if (had.is_unknown or had.tells(part)) and by.is_current(name.name, part):
                    self.store.prove(name, part)
        self._recover(names, lambda name, part: by.is_current(name.name, part))
        self._spread(self.store.settled())

    def _prove_noted(self) -> None:
        noted, self._noted = self._noted, []
        for name, part, accepted in noted:
            resource = self.store.resource(name)
            newest = resource.parts.get(part) if resource else None
            if part in self.store.unproven.get(name, ()) and is_same(newest, accepted):
                self.store.prove(name, part)

    def refuse(self, by: Subscription, name: str, part: str, words: str) -> None:
        """An Envoy refuses a part. What others have accepted, they keep."""
        key = Name(by.type_url, name)
        resource = self.store.resource(key)
        refused = resource.parts.get(part) if resource else None
        log.warning(
            "Envoy %s of fleet %s rejects part %r of %s: %s",
            by.envoy.id,
            self.name,
            key,
            part,
            words,
        )
        is_whole = by.is_held_whole(name)
        is_proven = part not in self.store.unproven.get(key, ())
        is_partial = is_whole or is_proven or self._is_only_for_older(by, key)
        stand_in = None if is_whole else self.stand_in(key, part)
        self.quarantine.add(key, part, Refusal(refused, words, is_partial, is_whole, stand_in))
        self.counts["quarantined", by.type_url] += 1
        self._tell_refusal(key, part)
        self.witness.changed(key)
        if refused is not None and not is_partial:
            kept = by.overrides[name][part].value
            for resource in by.envoy.left(kept):
                self.store.bring_back(resource)
            if not self.store.has_all(kept):
                kept = None  # only the refuser has what it needs, so it keeps it alone
            self._spread(self.store.withdraw(key, part, kept))

    def _is_only_for_older(self, by: Subscription, key: Name) -> bool:
        """Whether newer Envoys are there, which may well accept what this one refuses."""
        mine = by.envoy.release
        found = (it.envoy.release for it in self.interested(key))
        return mine is not None and any(it is not None and it > mine for it in found)

    def excuse(self, by: Subscription) -> None:
        """An Envoy that refused what others accept is gone."""
        for name, parts in by.overrides.items():
            key = Name(by.type_url, name)
            for part in parts:
                refusal = self.quarantine.refusal(key, part)
                if refusal is None or not refusal.is_partial:
                    continue
                if self._refusers(key, part, without=by):
                    self._tell_refusal(key, part)
                    continue
                self.quarantine.remove(key, part)
                self.witness.recovered(key, part)

    def _tell_refusal(self, key: Name, part: str) -> None:
        refusal = self.quarantine.refusal(key, part)
        if refusal is not None:
            by = self._refusers(key, part) if refusal.is_partial else Counter()
            self.witness.refused(key, part, self.store.origins(key, part), refusal.words, by)

    def _refusers(self, key: Name, part: str, without: Subscription | None = None) -> Counter[str]:
        """The releases of the Envoys that refuse a part."""
        found = (it for it in self.interested(key) if it is not without)
        return Counter(written(it.envoy.release) for it in found if it.refuses(key.name, part))

    def _release(self) -> None:
        """What was kept in place of a refused part goes, if the part is published no more."""
        for name, part in self.quarantine.released():
            resource = self.store.resource(name)
            if resource is None or part in resource.parts:
                continue
            for it in list(self.interested(name)):
                for refused in {part, ""}:
                    if it.refuses(name.name, refused):
                        it.envoy.gates.release(it, name.name, refused, self.clock())

    def _recover(self, names: list[Name], is_good: Callable[[Name, str], bool]) -> None:
        for name, part in self.quarantine.recovered(names, is_good):
            self.witness.recovered(name, part)

    def envoy(
        self,
        id: str,  # noqa: A002
        *,
        is_aggregated: bool,
        release: Release | None = None,
    ) -> Envoy:
        """The Envoy of a new stream: its own if that carries all types, else that of its node."""
        if not self.envoys and self.pacing.waiting:
            self.publish(())
        known = None if is_aggregated else self._by_id.get(id)
        envoy = known or Envoy(self, id, release)
        self.envoys.add(envoy)
        self.pacing.joined(envoy)
        if release is not None and self.built_for is not None and release < self.built_for:
            told = (id, self.name, release, self.built_for)
            log.warning(
                "Envoy %s of fleet %s is of release %s, older than %s; what it cannot load is "
                "left out",
                *told,
            )
        if not is_aggregated:
            self._by_id[id] = envoy
        return envoy

    def leave(self, envoy: Envoy) -> None:
        """The last stream of an Envoy has ended."""
        self.envoys.discard(envoy)
        self._tell_of_loss()
        if self._by_id.get(envoy.id) is envoy:
            del self._by_id[envoy.id]

    def listen(self, to: str, by: Subscription) -> None:
        """Tells a subscription of everything that is published under this name."""
        by.names.add(to)
        self._named[Name(by.type_url, to)].add(by)

    def ignore(self, to: str, by: Subscription) -> None:
        by.names.discard(to)
        name = Name(by.type_url, to)
        self._named[name].discard(by)
        if not self._named[name]:
            del self._named[name]

    def listen_to_all(self, by: Subscription) -> None:
        by.is_wildcard = True
        self._wildcards[by.type_url].add(by)
        if by.type_url == LISTENER:
            self._tell()

    def ignore_all(self, by: Subscription) -> None:
        by.is_wildcard = False
        self._wildcards[by.type_url].discard(by)
        if by.type_url == LISTENER:
            self._tell_of_loss()

    def _tell_of_loss(self) -> None:
        """There may be fewer Envoys; one that only looks for us again is not missed meanwhile."""
        self._later(self.patience.comeback, self._tell)

    def _tell(self) -> None:
        takers = self._takers()
        found = Counter(written(it.release) for it in takers)
        self.witness.connected(len(takers), found)

    def _takers(self) -> set[Envoy]:
        """The Envoys that take listeners: before that, one that has just come serves nothing."""
        return {it.envoy for it in self._wildcards[LISTENER]}

    def nonce(self) -> str:
        return f"{next(self._nonces):x}"

    def shared(self, type_url: str, key: object, made: Callable[[str], bytes]) -> tuple[bytes, str]:
        """A response that all streams get that ask for the same before the type changes again."""
        known = self._shared.setdefault(type_url, {})
        if key not in known:
            nonce = self.nonce()
            known[key] = (made(nonce), nonce)
        return known[key]

    def _spread(self, edits: list[Edit]) -> None:
        now = self.clock()
        news: defaultdict[Envoy, list[tuple[Subscription, Edit]]] = defaultdict(list)
        for edit in edits:
            self._shared.pop(edit.name.type_url, None)
            for it in self.interested(edit.name):
                news[it.envoy].append((it, edit))
        for envoy, heard in news.items():
            envoy.take(heard, now)
        for edit in edits:
            self.witness.changed(edit.name)

    def interested(self, name: Name) -> Iterator[Subscription]:
        """The subscriptions that are told of a resource."""
        wildcards = self._wildcards.get(name.type_url, ())
        yield from wildcards
        yield from (it for it in self._named.get(name, ()) if not it.is_wildcard)
