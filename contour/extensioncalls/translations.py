"""The rows of the clusters and Secrets about which extensions have answered.

A finished answer about all clusters and Secrets of a fleet becomes a row for each of them, so that
a user of one depends on its row alone. Only rows that differ are written.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from contour.envoy.hooks import passed, questions
from contour.envoy.hooks import secrets as private
from contour.envoy.hooks.lists import EMPTY, Lists
from contour.envoy.hooks.passed import Item, KeptSecret, Passed, PassedSecret
from contour.envoy.hooks.questions import Translated
from contour.extensioncalls.lasting import Lasting
from contour.xds import resources
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
        self.lasting = Lasting()
        """Where the rows are kept for the next process."""
        self._written: dict[str, _Written] = {}

    def keep(self, fleet: str, found: Translated | None) -> bool:
        """Writes what a new state comes to, and whether that is anything; of one that is not
        finished, what may pass."""
        self._engine.write(questions.PROGRESS, fleet, found.silent if found is not None else None)
        if found is None:
            self._write(fleet, _Written())
            return False
        if not found.is_finished:
            self._recall(fleet, found.wanted)
            if not found.passes:
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
        self._outlast(fleet, old, new)
        if new != _Written():
            self._written[fleet] = new

    def _recall(self, fleet: str, ours: Lists) -> None:
        """Takes the rows that an earlier process has left, as far as the same is wanted still."""
        if self.lasting.has_left:
            last = self._written.get(fleet, _Written())
            self._write(fleet, _recalled(self.lasting, fleet, ours, last))

    def _outlast(self, fleet: str, old: _Written, new: _Written) -> None:
        """Keeps the rows for the next process, as far as they have changed."""
        self._keep(fleet, passed.CLUSTERS, old.clusters, new.clusters)
        self._keep(fleet, passed.ADDED_CLUSTERS, old.added_clusters, new.added_clusters)
        self._keep(fleet, passed.KEPT_SECRETS, _kept(old), _kept(new))
        self._keep(fleet, passed.KEPT_ADDED_SECRETS, _kept_added(old), _kept_added(new))

    def _keep(
        self, fleet: str, table: Table[Item, _V], old: Mapping[str, _V], new: Mapping[str, _V]
    ) -> None:
        for name in old.keys() | new.keys():
            if old.get(name) != (it := new.get(name)):
                self.lasting.keep(table, Item(fleet, name), it)

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


def _kept(found: _Written) -> Mapping[str, KeptSecret]:
    """The Secrets of the objects as they are kept: without private parts."""
    asked = found.wanted.secrets
    return {
        name: KeptSecret(_digest(asked[name]), it.body and private.without_private_parts(it.body))
        for name, it in found.secrets.items()
        if name in asked
    }


def _kept_added(found: _Written) -> Mapping[str, bytes]:
    bodies = ((name, it.body) for name, it in found.added_secrets.items())
    return {name: private.without_private_parts(it) for name, it in bodies if it is not None}


def _digest(secret: bytes) -> bytes:
    return resources.digest(private.without_private_parts(secret))


def _recalled(lasting: Lasting, fleet: str, ours: Lists, last: _Written) -> _Written:
    """These rows, and those that an earlier process has left of what is wanted. A cluster is the
    same one if its name is, and a Secret if all of it is that is not private."""
    clusters, secrets = dict(last.clusters), dict(last.secrets)
    for name in ours.clusters.keys() - clusters.keys():
        if (row := lasting.recall(passed.CLUSTERS, Item(fleet, name))) is not None:
            clusters[name] = row
    for name in ours.secrets.keys() - secrets.keys():
        kept = lasting.recall(passed.KEPT_SECRETS, Item(fleet, name))
        if kept is not None and kept.asked == _digest(ours.secrets[name]):
            body = kept.body and private.put_back(kept.body, ours.secrets[name])
            secrets[name] = PassedSecret(body)
    added, more = dict(last.added_clusters), dict(last.added_secrets)
    for at in (it for it in lasting.left(passed.ADDED_CLUSTERS) if it.fleet == fleet):
        if (cluster := lasting.recall(passed.ADDED_CLUSTERS, at)) is not None:
            added[at.name] = cluster
    for at in (it for it in lasting.left(passed.KEPT_ADDED_SECRETS) if it.fleet == fleet):
        if (secret := lasting.recall(passed.KEPT_ADDED_SECRETS, at)) is not None:
            more[at.name] = PassedSecret(private.put_back(secret, None))
    same = {name: body for name, body in ours.secrets.items() if name in secrets}
    wanted = Lists({**last.wanted.clusters, **ours.clusters}, {**same, **last.wanted.secrets})
    return _Written(clusters, added, secrets, more, wanted)
