"""The configuration of one fleet, and the Envoys that are connected to it.

The cost of a publication depends only on the changed resources and their subscriptions: no others
are looked at. A fleet is served from its first publication on, which has to be complete. `envoy`
decides what each Envoy may get when: the fleet passes `events` to it, and applies the `outcomes` to
what all Envoys share.
"""

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping

from contour.xds import byname
from contour.xds.acceptance import Acceptance
from contour.xds.alarms import Alarms
from contour.xds.declines import Declines
from contour.xds.delayed_removal import DelayedRemovals
from contour.xds.envoy import Envoy, Patience, Served
from contour.xds.events import Event, Published, Quarantined, Released
from contour.xds.gates import Waits
from contour.xds.interest import Interest
from contour.xds.observer import AckObserver, RefusedPart, RefusedWhole
from contour.xds.outcomes import (
    Accepted,
    Declined,
    Dropped,
    Gone,
    OfEdition,
    OfPart,
    Pending,
    Refused,
    RefusedEdition,
    Settled,
    TakenEdition,
    Unchanged,
)
from contour.xds.pacing import Pacing
from contour.xds.quarantine import Quarantine, Refusal
from contour.xds.releases import Release, written
from contour.xds.resources import LISTENER, Change, Name, Part
from contour.xds.responses import Responses
from contour.xds.state import Baseline
from contour.xds.store import Edit, Store
from contour.xds.subscription import Subscription
from contour.xds.whole import Edition

log = logging.getLogger(__name__)

Clock = Callable[[], float]

Later = Callable[[float, Callable[[], None]], None]
"""Does something after so many seconds."""


def _at_once(_: float, action: Callable[[], None]) -> None:
    action()


class Fleet:
    """All resources of one fleet, and the Envoys that are connected to it."""

    def __init__(
        self,
        name: str,
        patience: Patience | None = None,
        clock: Clock = time.monotonic,
        later: Later = _at_once,
        edition: Edition | None = None,
    ) -> None:
        self.name = name
        self.edition = edition
        """The edition that is served as a whole (`whole`); None: independent parts are served."""
        self.patience = patience or Patience()
        self.clock = clock
        self._later = later
        self.store = Store()
        self.quarantine = Quarantine()
        self.interest = Interest()
        self.acceptance = Acceptance(self.store, self.quarantine, self.interest)
        self.observer = AckObserver()
        self.built_for: Release | None = None  # older ones are served, with a warning
        self.responses = Responses()
        self._removals = DelayedRemovals(self.patience.warming + self.patience.grace)
        self.pacing = Pacing(self.store, self.patience.pace)
        self.alarms = Alarms(self._wake)  # of publications that were put off
        self.counts: Counter[tuple[str, str]] = Counter()  # (what happened, type) to how often
        self.waits = Waits()
        self.declines = Declines()
        self.identities = frozenset({name})  # certificates with one of these names may see it
        self.is_by_name = False  # clients see only what is for them, and only by name (`byname`)
        # Clients that name no fleet are served this one if the URI is in their certificate
        # (`authorization`).
        self.uri = ""
        self.counted = LISTENER
        """A client counts as connected if it asks for everything of this type."""
        self.is_open = False
        self.is_shut = False
        self.envoys: set[Envoy] = set()
        self._by_id: dict[str, Envoy] = {}  # of those with one stream per type

    def publish(self, changes: Iterable[Change]) -> None:
        """Publishes changes, and sends them to the Envoys that subscribe to them."""
        self.is_open = True
        now, has_envoys = self.clock(), bool(self.envoys)
        kept, removed_at = self._removals.put_off(changes, now, has_envoys=has_envoys)
        is_paced = has_envoys and not self.is_by_name
        settled, paced_at = self.pacing.put_off(kept, now, has_envoys=is_paced)
        for when in (removed_at, paced_at):
            if when is not None:
                self.alarms.set(when, lambda _: self.publish(()))
        self._serve(self.quarantine.admitted(settled))

    def _serve(self, changes: Iterable[Change]) -> None:
        self._spread(self.store.apply(changes))
        self._release()
        # What is served as before, or not at all, need not be accepted any more.
        self._recover(
            [name for name, _ in self.quarantine.released()],
            lambda name, part: part not in self.store.last_accepted.get(name, ()),
        )

    def retry(self, name: Name) -> None:
        """Serves again, without pacing, what was refused of a resource: the reason was elsewhere,
        and is gone. Nothing happens while newer changes of the resource wait."""
        if self.pacing.is_waiting(name) or self._removals.is_waiting(name):
            return
        changes = self.quarantine.lift(name)
        self._serve(changes)
        self._serve_newest(name, {it.part for it in changes})

    def publish_edition(self, name: str, changes: Iterable[Change]) -> None:
        """Publishes the next edition, for a fleet that is served as a whole."""
        assert self.edition is not None
        self.edition.begin(name)
        self.publish(changes)

    def step(self, envoy: Envoy, event: Event, now: float) -> None:
        """Passes an event to an Envoy, and applies its outcomes."""
        for by, outcome in envoy.step(event, now):
            if isinstance(outcome, RefusedEdition | TakenEdition):
                self._tell_of_edition(envoy, by, outcome)
            else:
                self._apply(envoy, by, outcome, now)

    def _apply(self, envoy: Envoy, by: Subscription, outcome: OfPart, now: float) -> None:
        match outcome:
            case Pending(names):
                self._tell_changed(by.type_url, self.acceptance.expect(by, names))
            case Settled(names):
                self._tell_changed(by.type_url, self.acceptance.settled(by, names))
            case Dropped(name):
                self._tell_changed(by.type_url, self.acceptance.dropped(by, (name,)))
            case Unchanged(name, part):
                self.acceptance.unchanged(Name(by.type_url, name), part)
            case Accepted(before):
                self._accept(by, before)
            case Refused():
                override = envoy.keep(by, outcome)
                if override is not None:
                    undone = self._quarantine(envoy, by, outcome, override.value)
                    self.step(envoy, Quarantined(by, outcome), now)
                    self._spread(self.store.apply(undone))
            case Declined(names):
                self._tell_declined(by, names)
            case Gone():
                self._tell_changed(by.type_url, self.acceptance.closed(by))
                self._drop_refusals_of(by)
                self._tell_declined(by, by.forgive())

    def _accept(self, by: Subscription, before: Mapping[str, Baseline]) -> None:
        self.acceptance.accepted(by, before)
        if self.quarantine.has_released:
            found = [Name(by.type_url, it) for it in before]
            self._recover(found, lambda name, part: by.is_current(name.name, part))
        self._spread(self.store.settled())

    def _tell_declined(self, by: Subscription, names: Iterable[str]) -> None:
        """Reports what clients that are served by name refuse, or no longer refuse."""
        for it in names:
            key = Name(by.type_url, it)
            words = self.declines.update(by, key)
            if words is None:
                self.observer.recovered(key, "")
            else:
                origins = self.store.origins(key, "")
                self.observer.refused(RefusedPart(key, "", origins, words))

    def _tell_of_edition(self, envoy: Envoy, by: Subscription, outcome: OfEdition) -> None:
        if isinstance(outcome, TakenEdition):
            edition = self.edition
            if edition is not None and edition.take(outcome.types, self.store.types):
                self.observer.edition_taken(edition.name)
            return
        log.warning(
            "Envoy %s of fleet %s rejects edition %s: %s",
            *(envoy.id, self.name, outcome.edition, outcome.words),
        )
        self.observer.edition_refused(
            RefusedWhole(outcome.edition, envoy, by.type_url, *outcome[1:])
        )

    def _tell_changed(self, type_url: str, names: Collection[str]) -> None:
        if names:
            self.observer.changed(type_url, names)

    def _quarantine(
        self, envoy: Envoy, by: Subscription, found: Refused, kept: Part | None
    ) -> tuple[Change, ...]:
        """Quarantines a part that an Envoy refuses, and in place of which it has kept `kept`. Other
        Envoys keep what they have accepted. Returns what is to be served instead, if the part
        itself names it."""
        key, part = Name(by.type_url, found.name), found.part
        resource = self.store.resource(key)
        refused = resource.parts.get(part) if resource else None
        log.warning(
            "Envoy %s of fleet %s rejects part %r of %s: %s",
            *(envoy.id, self.name, part, key, found.words),
        )
        is_whole = by.is_held_whole(found.name)
        was_accepted = part not in self.store.last_accepted.get(key, ())
        is_kept = is_whole or was_accepted or refused is None
        is_partial = is_kept or self._is_only_for_older(by, key)
        stand_in = None if is_whole else self.quarantine.stand_in(key, part)
        refusal = Refusal(refused, found.words, is_partial, is_whole, stand_in)
        self.quarantine.add(key, part, refusal)
        self.counts["quarantined", by.type_url] += 1
        self._tell_refusal(key, part)
        self.observer.changed(key.type_url, (key.name,))
        if refused is None or is_partial:
            return ()
        if refused.without is not None:
            return (Change(key, part, refused.without),)
        for it in envoy.removing(kept):
            self.store.bring_back(it)
        # It has nothing but the stand-in, or only it still has what the part needs, so only it
        # keeps the part.
        if refusal.is_met_by(kept) or not self.store.has_all(kept):
            kept = None
        self._spread(self.store.withdraw(key, part, kept, stand_in))
        return ()

    def _is_only_for_older(self, by: Subscription, key: Name) -> bool:
        """Whether newer Envoys are connected, which may accept what this one refuses."""
        mine = by.release
        found = (it.release for it, _ in self.interest.of(key))
        return mine is not None and any(it is not None and it > mine for it in found)

    def _drop_refusals_of(self, by: Subscription) -> None:
        """Drops the refusals of an Envoy that is gone, of parts that others accept."""
        for name, parts in by.overrides.items():
            key = Name(by.type_url, name)
            for part in parts:
                refusal = self.quarantine.refusal(key, part)
                if refusal is None or not refusal.is_partial:
                    continue
                if self._refusers(key, part):
                    self._tell_refusal(key, part)
                    continue
                self.quarantine.remove(key, part)
                self.observer.recovered(key, part)

    def _tell_refusal(self, key: Name, part: str) -> None:
        refusal = self.quarantine.refusal(key, part)
        if refusal is not None:
            by = self._refusers(key, part) if refusal.is_partial else Counter[str]()
            origins = refusal.origins or self.store.origins(key, part)
            self.observer.refused(RefusedPart(key, part, origins, refusal.words, by))

    def _refusers(self, key: Name, part: str) -> Counter[str]:
        """The releases of the Envoys that refuse a part."""
        found = (it for it, _ in self.interest.of(key) if it.refuses(key.name, part))
        return Counter(written(it.release) for it in found)

    def _release(self) -> None:
        """Drops what was kept in place of a refused part, if the part is no longer published."""
        for name, part in self.quarantine.released():
            resource = self.store.resource(name)
            if resource is None or part in resource.parts:
                continue
            self._serve_newest(name, {part, ""})

    def _serve_newest(self, name: Name, parts: Collection[str]) -> None:
        """Nothing stands in for these parts any more on Envoys that refused them."""
        for it, envoy in list(self.interest.of(name)):
            for part in parts:
                if it.refuses(name.name, part):
                    self.step(envoy, Released(it, name.name, part), self.clock())

    def _recover(self, names: list[Name], is_good: Callable[[Name, str], bool]) -> None:
        for name, part in self.quarantine.recovered(names, is_good):
            self.observer.recovered(name, part)

    def envoy(
        self,
        id: str,  # noqa: A002
        *,
        is_aggregated: bool,
        release: Release | None = None,
        viewer: byname.Viewer | None = None,
    ) -> Envoy:
        """The Envoy of a new stream: a new one if the stream is aggregated, else that of its
        node."""
        if not self.envoys and self.pacing.waiting:
            self.publish(())
        # Envoys of a fleet that is served as a whole may have the same id, so their streams do not
        # share an Envoy. Nor do those of clients that are served by name, since clients with the
        # same id may see less.
        is_alone = is_aggregated or self.edition is not None or viewer is not None
        known = None if is_alone else self._by_id.get(id)
        envoy = known or self._new(id, release, viewer)
        self.envoys.add(envoy)
        if release is not None and self.built_for is not None and release < self.built_for:
            told = (id, self.name, release, self.built_for)
            log.warning(
                "Envoy %s of fleet %s is of release %s, older than %s; what it cannot load is "
                "left out",
                *told,
            )
        if not is_alone:
            self._by_id[id] = envoy
        if self.edition is not None:  # it may get only what other control planes refer to
            self._tell()
        return envoy

    def _new(self, id: str, release: Release | None, viewer: byname.Viewer | None) -> Envoy:  # noqa: A002
        shared = (self.store, self.quarantine, self.waits, self.patience, self.edition)
        served = Served(*shared)
        made = Envoy(id, release, served, self.clock())
        made.viewer = viewer
        return made

    def leave(self, envoy: Envoy) -> None:
        """The last stream of an Envoy has ended."""
        self.envoys.discard(envoy)
        self._tell_of_loss()
        if self._by_id.get(envoy.id) is envoy:
            del self._by_id[envoy.id]

    def listen_to_all(self, envoy: Envoy, by: Subscription) -> None:
        """A stream asks for everything of its type."""
        self.interest.add_wildcard(envoy, by)
        envoy.align()
        if by.type_url == self.counted:
            self._tell()

    def ignore_all(self, envoy: Envoy, by: Subscription) -> None:
        self.interest.remove_wildcard(by)
        envoy.align()
        if by.type_url == self.counted:
            self._tell_of_loss()

    def _wake(self) -> None:
        for envoy in self.envoys:
            envoy.wake()

    def _tell_of_loss(self) -> None:
        """Reports that there may be fewer Envoys, after the time in which one that only reconnects
        comes back."""
        self._later(self.patience.comeback, self._tell)

    def shut(self) -> None:
        """The Envoys are about to end: none is admitted, and none counts, until it is reopened."""
        self.is_shut = True
        self._tell()

    def reopen(self) -> None:
        """Those Envoys are gone; others may come."""
        self.is_shut = False

    def _tell(self) -> None:
        """Reports how many Envoys have subscribed to listeners; until then it serves nothing."""
        takers = self.interest.takers(self.counted) if not self.is_shut else set[Envoy]()
        self.observer.connected(len(takers), Counter(written(it.release) for it in takers))

    def _spread(self, edits: list[Edit]) -> None:
        now = self.clock()
        concerned: defaultdict[Envoy, list[tuple[Subscription, Edit]]] = defaultdict(list)
        for edit in edits:
            self.responses.forget(edit.name.type_url)
            for it, envoy in self.interest.of(edit.name):
                as_seen = edit if envoy.viewer is None else byname.seen(edit, envoy.viewer)
                if as_seen is not None:
                    concerned[envoy].append((it, as_seen))
        for envoy, found in concerned.items():
            self.step(envoy, Published(found), now)
        changed: defaultdict[str, list[str]] = defaultdict(list)
        for edit in edits:
            self.observer.replaced(edit.name, edit.resource.parts if edit.is_gone else edit.before)
            for part in self.quarantine.lose(edit.name) if edit.is_gone else ():
                self.observer.recovered(edit.name, part)
            changed[edit.name.type_url].append(edit.name.name)
        for type_url, names in changed.items():
            self._tell_changed(type_url, names)
