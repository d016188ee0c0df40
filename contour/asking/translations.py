"""The rows of clusters and Secrets that extensions have answered for.

A finished answer about all clusters and Secrets of a fleet becomes a row for each of them, so that
what uses one depends on its row alone. Only rows that differ are written.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from contour.envoy.hooks import passed, questions
from contour.envoy.hooks.lists import EMPTY, Lists
from contour.envoy.hooks.passed import Item, Passed, PassedSecret
from contour.envoy.hooks.questions import Translated
from dag.engine.incremental import Engine
from dag.engine.view import Table

_V = TypeVar("_V")
_AS_IT_IS = Passed(None)


class _Written(NamedTuple):
    """The rows of a fleet, by the names of the clusters and Secrets."""

    clusters: Mapping[str, Passed] = {}
    added_clusters: Mapping[str, bytes] = {}
    secrets: Mapping[str, PassedSecret] = {}
    added_secrets: Mapping[str, PassedSecret] = {}
    wanted: Lists = EMPTY
    """What the objects wanted."""
    made_of: Translated | None = None
    """The finished state that they were made of."""

    def is_of(self, found: Translated) -> bool:
        """Whether another state comes to the same rows; most edits change no cluster."""
        before = self.made_of
        return (
            before is not None
            and found.is_finished
            and found.wanted is before.wanted
            and found.clusters == before.clusters
            and found.secrets == before.secrets
        )


class Translations:
    """The rows of all fleets."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._written: dict[str, _Written] = {}

    def keep(self, fleet: str, found: Translated | None) -> bool:
        """Writes what a new state comes to, and whether that is anything; of one that is not
        finished, what may pass."""
        self._engine.write(questions.PROGRESS, fleet, found.silent if found is not None else None)
        if found is None:
            self._write(fleet, _Written())
            return False
        if not (found.is_finished or found.passes):
            return False
        last = self._written.get(fleet)
        if last is None or not last.is_of(found):
            self._write(fleet, _next(last or _Written(), found))
        return True

    def begin(self, fleet: str, found: Translated) -> None:
        """All clusters and Secrets have been served as they are, and extensions are asked about
        them from now on."""
        if fleet not in self._written:
            self._write(fleet, _next(_Written(), found))

    def _write(self, fleet: str, new: _Written) -> None:
        old = self._written.pop(fleet, _Written())
        self._replace(fleet, passed.CLUSTERS, old.clusters, new.clusters)
        self._replace(fleet, passed.ADDED_CLUSTERS, old.added_clusters, new.added_clusters)
        self._replace(fleet, passed.SECRETS, old.secrets, new.secrets)
        self._replace(fleet, passed.ADDED_SECRETS, old.added_secrets, new.added_secrets)
        if new != _Written():
            self._written[fleet] = new

    def _replace(
        self, fleet: str, table: Table[Item, _V], old: Mapping[str, _V], new: Mapping[str, _V]
    ) -> None:
        for name in old.keys() | new.keys():
            if old.get(name) != (it := new.get(name)):
                self._engine.write(table, Item(fleet, name), it)


def _next(last: _Written, found: Translated) -> _Written:
    """The rows of a new state. What extensions have answered once stays until they answer again."""
    ours = found.wanted
    clusters = dict.fromkeys(ours.clusters, _AS_IT_IS)
    clusters |= {name: Passed(it) for name, it in found.clusters.items() if name in clusters}
    added = {name: it for name, it in found.clusters.items() if name not in clusters}
    served = {**ours.secrets, **found.secrets}
    secrets = {name: PassedSecret(it) for name, it in served.items() if name in ours.secrets}
    more = {name: PassedSecret(it) for name, it in served.items() if name not in ours.secrets}
    if found.is_finished:
        return _Written(clusters, added, secrets, more, ours, found)
    clusters |= {name: it for name, it in last.clusters.items() if name in clusters}
    secrets |= {
        name: it
        for name, it in last.secrets.items()
        if name in secrets and ours.secrets[name] == last.wanted.secrets.get(name)
    }
    added = {**added, **last.added_clusters}
    return _Written(clusters, added, secrets, {**more, **last.added_secrets}, ours)
