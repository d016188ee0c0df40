"""Connects the graph with the fleets of node IDs: publishes to them, and notes the results.

The content of an EnvoyConfig is written as a row beside it. Its revisions are an answer that is
also written as a row, so that what Envoys have refused once stays refused. In a cluster revisions
are objects, from which the rows come (`contour.discovery`). Rows with the reports of Envoys come
from `NodeReports`, one for each fleet.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Protocol

from contour.rawconfig import snapshot
from contour.rawconfig.counts import Counts
from contour.rawconfig.reading import Reader
from contour.rawconfig.snapshot import Snapshot
from contour.rawconfig.values import Values
from contour.xds.resources import Change as PartChange
from crds.envoyconfig import EnvoyConfig
from crds.meta import NamespacedName
from dag.engine.incremental import Engine
from dag.engine.view import Change
from dag.rawconfig import claims, content, revisions
from dag.rawconfig.claims import NodeKey
from dag.rawconfig.content import Reading, Remark

log = logging.getLogger(__name__)


class PublishNode(Protocol):
    """Takes what the Envoys of a node ID are served, and the changed parts of it."""

    def __call__(
        self, key: NodeKey, found: Snapshot | None, changes: Iterable[PartChange]
    ) -> None: ...


def _nobody(_: NamespacedName) -> None:
    """Does nothing, where there is no consumer."""


class EnvoyConfigs:
    """The EnvoyConfigs of a controller."""

    def __init__(self, engine: Engine, publish: PublishNode) -> None:
        self.are_stored = False
        """Whether revisions are objects, so that their rows are not written here."""
        self.on_change: Callable[[NamespacedName], None] = _nobody
        """Takes an EnvoyConfig whose revisions, or what is served of them, have changed."""
        self.values = Values()
        self.counts = Counts()
        self._engine = engine
        self._publish = publish
        self._reader = Reader()
        self._changed: list[tuple[NodeKey, Snapshot | None, Snapshot | None]] = []

    def take(self, key: NamespacedName, found: object) -> None:
        """Writes the content of an EnvoyConfig, or removes it."""
        if isinstance(found, EnvoyConfig):
            reading = self._reading(found)
            self._engine.write(content.READINGS, key, reading)
            self.values.want(key, content.values(reading.content.items if reading.content else ()))
        else:
            self.values.want(key, frozenset())
            self._reader.forget(key)
            self._engine.write(content.READINGS, key, None)

    def _reading(self, found: EnvoyConfig) -> Reading:
        """What came of reading it: an error of this object, whatever the reader raises."""
        try:
            return self._reader.reading(found)
        except Exception as error:  # one object must not stop the others
            log.exception("cannot read the EnvoyConfig %s", found.metadata.key)
            told = Remark("spec", f"cannot be read: {type(error).__name__}")
            return Reading(found.spec.node_id, "", None, (told,))

    def note(self, change: Change) -> bool:
        """Takes a changed answer of the graph. Returns whether rows were written, so that settling
        goes on."""
        if change.query is snapshot.snapshot:
            self.values.want(change.key, change.new.values if change.new else frozenset())
            self._changed.append((change.key, change.old, change.new))
            owner = self._engine.answer(claims.owner, change.key)
            if owner is not None:
                self._count(owner, change)
                self.on_change(owner)
        if change.query is not revisions.history:
            return False
        self.counts.note_verdicts(change.key.namespace, change.old or (), change.new or ())
        if not self.are_stored:
            self._engine.write(revisions.HISTORY, change.key, change.new or None)
        self.on_change(change.key)
        return not self.are_stored

    def _count(self, owner: NamespacedName, change: Change) -> None:
        choice = self._engine.answer(revisions.choice, owner)
        if choice is not None:
            self.counts.note_published(owner.namespace, change.old, change.new, choice.desired)

    def publish(self) -> None:
        """Publishes what has changed since the last call."""
        changed, self._changed = self._changed, []
        for key, old, new in changed:
            self._publish(key, new, _changes(old, new))


def _changes(old: Snapshot | None, new: Snapshot | None) -> Iterable[PartChange]:
    before, now = old.parts if old else (), new.parts if new else ()
    kept = {(it.name, it.part) for it in now}
    for it in before:
        if (it.name, it.part) not in kept:
            yield it._replace(value=None)
    yield from now
