"""The next write for the revisions of an EnvoyConfig. Pure.

It takes one step at a time towards what there should be, so that the next leader can go on if this
one dies after any step. First the newest revision is created, then the statuses of those that are
not published are written, then that of the published one, and old ones are removed last. Serving a
revision does not wait for these writes (`dag.rawconfig.revisions`).
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from contour.discovery import documents
from contour.discovery.documents import Stored
from crds.envoyconfig import EnvoyConfig, EnvoyConfigSpec
from crds.raw import Raw
from crds.records import replace
from dag.rawconfig.content import Unread
from dag.rawconfig.revisions import Revision


@dataclass(frozen=True, slots=True)
class Wanted:
    """What there should be for an EnvoyConfig."""

    owner: EnvoyConfig
    revisions: tuple[Revision, ...]
    """The newest last."""
    published: str
    """The version that is served; empty if none is."""
    provides: Mapping[str, str]
    """The versions of what is served, by type."""
    mark: Mapping[str, str]
    """The labels of the objects that are ours."""

    def without(self, leaving: AbstractSet[str]) -> "Wanted":
        """The same without versions whose deleted objects still exist: these are made again
        later."""
        kept = tuple(it for it in self.revisions if it.content.version not in leaving)
        return replace(self, revisions=kept) if leaving else self


class Create(NamedTuple):
    """Create a revision."""

    document: Raw


class Renumber(NamedTuple):
    """Make an old revision the newest again."""

    stored: Stored
    sequence: int


class Tell(NamedTuple):
    """Write the status of a revision."""

    stored: Stored
    status: Raw


class Remove(NamedTuple):
    """Remove a revision."""

    stored: Stored


Step = Create | Renumber | Tell | Remove


def following(wanted: Wanted | None, present: Sequence[Stored], now: str) -> Step | None:
    """The next step; None if nothing is left to do. Without `wanted`, all revisions are removed."""
    if wanted is None:
        return next(map(Remove, _living(present)), None)
    uid = wanted.owner.metadata.uid
    ours = [it for it in present if it.owner_uid == uid]
    by_version = {it.version: it for it in ours if _is_sound(it)}
    wanted = wanted.without({it.version for it in ours if it.is_deleted} - by_version.keys())
    return (
        _made(wanted, present, by_version)
        or _renumbered(wanted, by_version)
        or _told(wanted, by_version, now)
        or _removed(wanted, present, by_version)
    )


def _living(present: Iterable[Stored]) -> list[Stored]:
    return [it for it in present if not it.is_deleted]


def _is_sound(it: Stored) -> bool:
    return not it.is_deleted and it.content is not None


def _made(
    wanted: Wanted, present: Sequence[Stored], by_version: Mapping[str, Stored]
) -> Step | None:
    """Makes a revision that is missing. An object with its name has been edited, or is left from
    another EnvoyConfig; it goes first."""
    newest = max((it.sequence for it in by_version.values()), default=0)
    for it in wanted.revisions:
        version = it.content.version
        if version not in by_version:
            spec = _spec(wanted.owner, it)
            name = documents.name(spec.node_id, version)
            if taken := [found for found in _living(present) if found.key.name == name]:
                return Remove(taken[0])
            place = newest + 1 if it is wanted.revisions[-1] else documents.place(it)
            return Create(documents.document(wanted.owner, spec, version, place, wanted.mark))
    return None


def _spec(owner: EnvoyConfig, it: Revision) -> EnvoyConfigSpec:
    return it.content.revision.spec if isinstance(it.content, Unread) else owner.spec


def _renumbered(wanted: Wanted, present: Mapping[str, Stored]) -> Step | None:
    """Makes the revision of what is written the newest; it may be an old one."""
    if not wanted.revisions:
        return None
    newest = present[wanted.revisions[-1].content.version]
    most = max(it.sequence for it in present.values())
    is_last = all(it is newest or it.sequence < newest.sequence for it in present.values())
    return None if is_last else Renumber(newest, most + 1)


def _told(wanted: Wanted, present: Mapping[str, Stored], now: str) -> Step | None:
    in_order = sorted(wanted.revisions, key=lambda it: it.content.version == wanted.published)
    for it in in_order:
        stored = present[it.content.version]
        is_published = it.content.version == wanted.published
        status = documents.status(stored, it, wanted.provides if is_published else None, now)
        if status != stored.status:
            return Tell(stored, status)
    return None


def _removed(
    wanted: Wanted, present: Sequence[Stored], by_version: Mapping[str, Stored]
) -> Step | None:
    kept = [by_version[it.content.version] for it in wanted.revisions]
    return next((Remove(it) for it in _living(present) if it not in kept), None)
