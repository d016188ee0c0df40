"""Between the graph and the fleets of node IDs: what they are served, and what Envoys make of it.

What an EnvoyConfig comes to is written beside it, as a row; its revisions are an answer that is
written down as a row, too, so that what Envoys have refused once stays refused. In a cluster they
are objects, and the rows come from these (`contour.discovery`). Rows of what is heard come from a
`Witness`, one for each fleet.
"""

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


class PublishNode(Protocol):
    """Takes what the Envoys of a node ID are served, and which parts of that have changed."""

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
        self._turned: list[tuple[NodeKey, Snapshot | None, Snapshot | None]] = []

    def take(self, key: NamespacedName, found: object) -> None:
        """Writes what an EnvoyConfig comes to, or that it is gone."""
        if isinstance(found, EnvoyConfig):
            reading = self._reader.reading(found)
            self._engine.write(content.READINGS, key, reading)
            self.values.want(key, content.values(reading.content.items if reading.content else ()))
        else:
            self.values.want(key, frozenset())
            self._reader.forget(key)
            self._engine.write(content.READINGS, key, None)

    def note(self, change: Change) -> bool:
        """Takes an answer that has changed; whether rows were written, so that there is more."""
        if change.query is snapshot.snapshot:
            self.values.want(change.key, change.new.values if change.new else frozenset())
            self._turned.append((change.key, change.old, change.new))
            owner = self._engine.answer(claims.owner, change.key)
            if owner is not None:
                self._count(owner, change)
                self.on_change(owner)
        if change.query is not revisions.history:
            return False
        self.counts.judged(change.key.namespace, change.old or (), change.new or ())
        if not self.are_stored:
            self._engine.write(revisions.HISTORY, change.key, change.new or None)
        self.on_change(change.key)
        return not self.are_stored

    def _count(self, owner: NamespacedName, change: Change) -> None:
        choice = self._engine.answer(revisions.choice, owner)
        if choice is not None:
            self.counts.turned(owner.namespace, change.old, change.new, choice.desired)

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
