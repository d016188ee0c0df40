"""The rows of clusters that extensions have answered for.

A finished answer about all clusters of a fleet becomes a row for each cluster, so that what uses a
cluster depends on its row alone. Only rows that differ are written.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from contour.envoy.hooks import questions
from contour.envoy.hooks.questions import ClusterName, Passed, Progress, Translated
from dag.engine.incremental import Engine
from dag.engine.view import Table

_V = TypeVar("_V")
_AS_IT_IS = Passed(None)


class _Written(NamedTuple):
    """The rows of a fleet, by the names of the clusters."""

    passed: Mapping[str, Passed] = {}
    added: Mapping[str, bytes] = {}
    made_of: Translated | None = None
    """The finished state that they were made of."""

    def is_of(self, found: Translated) -> bool:
        """Whether another state comes to the same rows; most edits change no cluster."""
        before = self.made_of
        return (
            before is not None
            and found.is_finished
            and found.names is before.names
            and found.changed == before.changed
        )


class Translations:
    """The rows of all fleets."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._written: dict[str, _Written] = {}

    def keep(self, fleet: str, found: Translated | None) -> None:
        """Writes what a new state comes to; of one that is not finished, what may pass."""
        if found is None:
            self._write(fleet, _Written())
            self._engine.write(questions.PROGRESS, fleet, None)
            return
        before = self._engine.row(questions.PROGRESS, fleet) or Progress()
        covered = before.covered
        if found.is_finished or found.passes:
            covered = found.covered
            last = self._written.get(fleet)
            if last is None or not last.is_of(found):
                self._write(fleet, self._next(fleet, found))
        self._engine.write(questions.PROGRESS, fleet, Progress(covered, found.silent))

    def _next(self, fleet: str, found: Translated) -> _Written:
        changed = {name: it for name, it in found.changed.items() if name in found.names}
        passed = dict.fromkeys(found.names, _AS_IT_IS)
        passed.update((name, Passed(it)) for name, it in changed.items())
        added = {name: it for name, it in found.changed.items() if name not in found.names}
        if found.is_finished:
            return _Written(passed, added, found)
        # What extensions have answered once stays until they answer again.
        last = self._written.get(fleet, _Written())
        kept = {name: it for name, it in last.passed.items() if name in found.names}
        return _Written({**passed, **kept}, {**added, **last.added})

    def _write(self, fleet: str, new: _Written) -> None:
        old = self._written.pop(fleet, _Written())
        self._replace(fleet, questions.PASSED, old.passed, new.passed)
        self._replace(fleet, questions.ADDED, old.added, new.added)
        if new.passed or new.added:
            self._written[fleet] = new

    def _replace(
        self,
        fleet: str,
        table: Table[ClusterName, _V],
        old: Mapping[str, _V],
        new: Mapping[str, _V],
    ) -> None:
        for name in {name for name, _ in old.items() ^ new.items()}:
            self._engine.write(table, ClusterName(fleet, name), new.get(name))
