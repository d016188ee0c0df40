"""Between the graph and the fleets of node IDs: what they are served, and what Envoys make of it.

What an EnvoyConfig comes to is written beside it, as a row; its revisions are an answer that is
written down as a row, too, so that what Envoys have refused once stays refused. Rows of what is
heard come from a `Witness`, one for each fleet.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Protocol

from contour.rawconfig import snapshot
from contour.rawconfig.reading import Reader
from contour.rawconfig.snapshot import Snapshot
from contour.xds.fleet import Fleet
from contour.xds.observer import AckObserver, RefusedWhole
from contour.xds.resources import Change as PartChange
from crds.envoyconfig import EnvoyConfig
from crds.meta import NamespacedName
from dag.engine.incremental import Engine
from dag.engine.view import Change
from dag.rawconfig import content, revisions
from dag.rawconfig.claims import NodeKey
from dag.rawconfig.revisions import EditionKey, Heard


class PublishNode(Protocol):
    """Takes what the Envoys of a node ID are served, and which parts of that have changed."""

    def __call__(
        self, key: NodeKey, found: Snapshot | None, changes: Iterable[PartChange]
    ) -> None: ...


class EnvoyConfigs:
    """The EnvoyConfigs of a controller."""

    def __init__(self, engine: Engine, publish: PublishNode) -> None:
        self._engine = engine
        self._publish = publish
        self._reader = Reader()
        self._turned: list[tuple[NodeKey, Snapshot | None, Snapshot | None]] = []

    def take(self, key: NamespacedName, found: object) -> None:
        """Writes what an EnvoyConfig comes to, or that it is gone."""
        if isinstance(found, EnvoyConfig):
            self._engine.write(content.READINGS, key, self._reader.reading(found))
        else:
            self._reader.forget(key)
            self._engine.write(content.READINGS, key, None)

    def note(self, change: Change) -> bool:
        """Takes an answer that has changed; whether rows were written, so that there is more."""
        if change.query is snapshot.snapshot:
            self._turned.append((change.key, change.old, change.new))
        if change.query is not revisions.history:
            return False
        self._engine.write(revisions.HISTORY, change.key, change.new or None)
        return True

    def publish(self) -> None:
        """Publishes what has changed since the last call."""
        turned, self._turned = self._turned, []
        for key, old, new in turned:
            self._publish(key, new, _changes(old, new))


def _changes(old: Snapshot | None, new: Snapshot | None) -> Iterable[PartChange]:
    before, now = old.parts if old else (), new.parts if new else ()
    kept = {(it.name, it.part) for it in now}
    for it in before:
        if (it.name, it.part) not in kept:
            yield it._replace(value=None)
    yield from now


_REMEMBERED = 16
"""Versions of one fleet of which refusals are remembered here; taints are remembered as rows."""


class Witness(AckObserver):
    """Hears what the Envoys of a node ID make of what they are served, and writes it as rows."""

    def __init__(
        self, key: NodeKey, fleet: Fleet, engine: Engine, settle_soon: Callable[[], None]
    ) -> None:
        self._key = key
        self._fleet = fleet
        self._engine = engine
        self._settle_soon = settle_soon
        self._refusers: OrderedDict[str, dict[object, str]] = OrderedDict()
        self._taken: set[str] = set()

    def edition_refused(self, refused: RefusedWhole) -> None:
        """An Envoy refuses an edition."""
        version = _version(refused.edition)
        self._refusers.setdefault(version, {})[refused.envoy] = refused.words
        self._refusers.move_to_end(version)
        self._write(version)

    def edition_taken(self, edition: str) -> None:
        """An Envoy has accepted all that it asked for of the newest edition."""
        version = _version(edition)
        if version not in self._taken:
            self._taken.add(version)
            self._refusers.setdefault(version, {})
            self._write(version)

    def forget(self) -> None:
        """The fleet is gone, and with it what was heard of it."""
        for version in self._refusers:
            self._engine.write(revisions.HEARD, EditionKey(*self._key, version), None)

    def _write(self, version: str) -> None:
        words = self._refusers[version]
        heard = Heard(
            tuple(sorted(set(words.values()))),
            len(words.keys() & self._fleet.envoys),
            len(self._fleet.envoys),
            version in self._taken,
        )
        self._engine.write(revisions.HEARD, EditionKey(*self._key, version), heard)
        while len(self._refusers) > _REMEMBERED:
            oldest, _ = self._refusers.popitem(last=False)
            self._taken.discard(oldest)
            self._engine.write(revisions.HEARD, EditionKey(*self._key, oldest), None)
        self._settle_soon()


def _version(edition: str) -> str:
    return edition.partition("-")[0]
