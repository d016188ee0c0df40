"""Turns what is seen in the cluster into batches for the graph: decoded, compared, with complaints.

Pure. Everything that arrives before a batch is taken is one batch, with the newest version of each
object. An object that can no longer be decoded stays in its last good version, while it is the same
object (by its uid) and is not being deleted, and there is a complaint; the API server's own
validation makes that rare. Valid objects may still be refused by the rules.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from contour.complaints import Complaint, ManifestSource, Subject
from contour.events import Batch, Event
from contour.kubernetes import excerpts
from contour.kubernetes.entries import NONE
from contour.kubernetes.known import Statuses
from crds import decode, foreign
from crds.complaints import dotted
from crds.kinds import Kind
from crds.meta import NamespacedName, ObjectRef
from crds.raw import Raw, mapping
from kube.versioncache import Delta, Key


class _Seen(NamedTuple):
    """An object as it was last seen."""

    digest: bytes
    uid: str
    is_served: bool  # the graph has an object, in this version or in an earlier one


class Objects:
    """Takes sightings, and yields batches."""

    def __init__(self) -> None:
        self.statuses = Statuses()
        self.wanted: Mapping[Key, frozenset[str]] = {}
        """The keys whose values are kept whatever they contain, by Secret."""
        self._seen: dict[ObjectRef, _Seen] = {}
        self._said: dict[Subject, tuple[Complaint, ...]] = {}
        self._events: dict[ObjectRef, Event] = {}
        self._complaints: dict[Subject, tuple[Complaint, ...]] = {}
        self._fresh: list[Complaint] = []
        self._absent: dict[str, bool] = {}
        self._presences: dict[str, bool] = {}

    def take(self, kind: Kind, sightings: Sequence[Delta]) -> None:
        """Takes objects of a kind that may have changed."""
        for key, raw in sightings:
            ref = ObjectRef(kind.kind, *key)
            if raw is None:
                self._is_gone(kind, ref)
            else:
                self.statuses.note(kind, ref, raw)
                wanted = self.wanted.get(key, NONE) if kind.kind == "Secret" else NONE
                self._is_there(kind, ref, excerpts.excerpt(kind, raw, wanted))

    def forget(self, kind: Kind) -> None:
        """Forgets a kind that is no longer followed."""
        for ref in [it for it in self._seen if it.kind == kind.kind]:
            self._is_gone(kind, ref)
        if self._absent.pop(kind.kind, False):
            self._presences[kind.kind] = False

    def trouble(self, place: ManifestSource, message: str) -> None:
        """Takes what is wrong with a whole collection; empty if nothing is any more."""
        self._complaints[place] = (
            (Complaint(place, 0, place, "", message, "error"),) if message else ()
        )

    def presence(self, kind: Kind, *, is_served: bool) -> None:
        """Takes whether the API server serves a kind."""
        if self._absent.get(kind.kind, False) == is_served:
            self._absent[kind.kind] = self._presences[kind.kind] = not is_served

    def uid(self, ref: ObjectRef) -> str:
        """The uid of an object, as last seen; empty if it does not exist."""
        found = self._seen.get(ref)
        return found.uid if found is not None else ""

    @property
    def is_pending(self) -> bool:
        """Whether there is something for a batch."""
        return bool(self._events or self._complaints or self._presences)

    def batch(self) -> Batch:
        """The changes since the last batch."""
        found = Batch(
            tuple(self._events.values()),
            self._complaints,
            tuple(self._fresh),
            absent=self._presences,
        )
        self._events, self._complaints, self._fresh, self._presences = {}, {}, [], {}
        return found

    def _is_there(self, kind: Kind, ref: ObjectRef, found: Raw) -> None:
        text = excerpts.packed(found)
        digest, before = excerpts.digest(text), self._seen.get(ref)
        if before is not None and before.digest == digest:
            return
        metadata = mapping(found["metadata"])
        uid = str(metadata.get("uid", ""))
        new, told = _decoded(kind, ref, found, text)
        is_leaving = "deletionTimestamp" in metadata
        keeps = before is not None and before.uid == uid and not is_leaving
        is_served = self._serve(kind, ref, new, before, keeps)
        self._seen[ref] = _Seen(digest, uid, is_served)
        self._complain(ref, told)

    def _serve(
        self, kind: Kind, ref: ObjectRef, new: Any | None, before: _Seen | None, keeps: bool
    ) -> bool:
        was_served = before is not None and before.is_served
        if new is not None:
            self._events[ref] = Event(kind, ref.key, new)
        elif was_served and not keeps:
            self._events[ref] = Event(kind, ref.key, None)
            was_served = False
        return new is not None or was_served

    def _is_gone(self, kind: Kind, ref: ObjectRef) -> None:
        self.statuses.forget(ref)
        before = self._seen.pop(ref, None)
        if before is not None and before.is_served:
            self._events[ref] = Event(kind, ref.key, None)
        self._complain(ref, ())

    def _complain(self, subject: Subject, told: tuple[Complaint, ...]) -> None:
        before = self._said.get(subject, ())
        if told == before:
            return
        self._complaints[subject] = told
        self._fresh += [it for it in told if it not in before]
        if told:
            self._said[subject] = told
        else:
            del self._said[subject]


def _decoded(
    kind: Kind, ref: ObjectRef, found: Raw, text: bytes
) -> tuple[Any | None, tuple[Complaint, ...]]:
    is_foreign = foreign.is_foreign(kind)
    result = foreign.decoded(kind, found) if is_foreign else decode.decode(found, text)
    if not isinstance(result, decode.Decoded):
        message = result.message if isinstance(result, decode.NotAnObject) else "is not supported"
        return None, (Complaint("", 0, ref, "", message, "error"),)
    told = [Complaint("", 0, ref, dotted(it.path), it.message, it.severity)
            for it in result.complaints]  # fmt: skip
    if result.object is not None and result.key != NamespacedName(ref.namespace, ref.name):
        return None, (Complaint("", 0, ref, "metadata", "names another object", "error"),)
    return result.object, tuple(told)
