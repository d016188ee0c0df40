"""Updates the status of one object.

A write is a JSON merge patch of our fields with the resourceVersion of the status into which they
were merged. If the object has changed meanwhile, the API server refuses the patch, and the fields
are merged again, into the new status. (Server-side apply does not work: it treats `parents` as one
value, which two controllers would take from one another. PUT would need the whole object.) An
answer that is older than the object is not written, because the provider will soon report the newer
version.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from contour.status import envoydependent, merging, stored
from contour.status.answers import Answer
from contour.status.tally import Tally
from crds.meta import NamespacedName, ObjectRef
from crds.raw import Raw
from dag import statuses
from kube import errors, leading
from kube.client import Client
from kube.resources import Resource

Outcome = Literal[
    "written", "restored", "pruned", "unchanged", "outdated", "gone", "deposed", "held"
]
"""`restored`: another client had changed it, and it was written with the same content as before.
`pruned`: it was written, but a part is missing. The API server drops fields that a CRD does not
have, such as those of a release whose CRDs are just being applied."""

WRITTEN: frozenset[Outcome] = frozenset({"written", "restored", "pruned"})

FIELD_MANAGER = "contour"

MOST_CONFLICTS = 5  # in a row, before the object waits for a while


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of information when the status of an object is written."""

    answer: Callable[[ObjectRef, int], Answer | None]
    """Our part of the status of an object whose newest generation is given; None: nothing."""
    known: Callable[[ObjectRef], stored.Known | None]
    """The object as the provider has seen it; None: it does not exist."""
    controller_name: Callable[[], str]
    """Our controller name in the Gateway API; empty if that is not served."""
    is_assembled: Callable[[], bool] = lambda: True
    """Whether all replicas have reported about their Envoys, or the wait for them is over."""
    untold: Callable[[ObjectRef, tuple[NamespacedName, ...]], None] = lambda _, __: None
    """Takes the Gateways for which an object's status has no room."""
    is_change_underway: Callable[[], bool] = lambda: False
    """Whether a change has been seen and not yet been sent to all Envoys."""
    resource: Callable[[str], Resource | None] = stored.resource
    """The API resource of a kind; None while the API server does not serve it."""


class Updates:
    """Updates statuses, and remembers its own writes until the provider has seen them."""

    def __init__(self, client: Client, sources: Sources) -> None:
        self._client = client
        self._sources = sources
        self._ahead = stored.Ahead(sources.known)
        self._contents = _Contents()

    def is_known(self, subject: ObjectRef) -> bool:
        """Whether the provider has seen such an object."""
        return self._sources.known(subject) is not None

    def is_echo(self, subject: ObjectRef) -> bool:
        """Whether the provider has now seen an object exactly as we wrote it."""
        return self._ahead.is_echo(subject)

    async def update(self, subject: ObjectRef, tally: Tally) -> Outcome:
        """Writes the status of an object, if it differs."""
        known, resource = self._ahead.known(subject), self._sources.resource(subject.kind)
        if known is None or resource is None:
            self._sources.untold(subject, ())
            return "gone"
        path = resource.path(subject.namespace, subject.name)
        for _ in range(MOST_CONFLICTS):
            change = self._change(subject, known)
            if not isinstance(change, _Change):
                return change
            try:
                is_whole = await self._write(subject, path, change.patch)
            except leading.NotLeading:
                return "deposed"
            except errors.Refused as error:
                if error.code != 409:
                    raise
                tally.conflict += 1
            else:
                is_restored = self._contents.is_repeated(subject, change.content)
                return ("restored" if is_restored else "written") if is_whole else "pruned"
            before, known = (
                known,
                stored.seen(await self._client.get(path, timeout=leading.WRITE_TIMEOUT)),
            )
            if known.uid != before.uid:
                return "outdated"
        raise errors.Refused(409, "Conflict", f"other clients keep changing {subject}")

    def _change(self, subject: ObjectRef, known: stored.Known) -> "_Change | Outcome":
        """What to send, or why nothing is sent."""
        answer = self._sources.answer(subject, known.generation)
        if answer is None:
            self._sources.untold(subject, ())
            return "gone"
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        name = self._sources.controller_name()
        author = merging.Author(name, now, statuses.most_ancestors(subject.kind))
        newest = max(known.generation, merging.newest_generation(known.status, author))
        if newest > answer.generation:
            return "outdated"
        left_out = merging.left_out(known.status, answer.status, author)
        self._sources.untold(subject, _gateways(subject, left_out))
        wanted = merging.merged(known.status, answer.status, author)
        change = merging.difference(known.status, wanted)
        if not change:
            return "unchanged"
        if not self._sources.is_assembled() and envoydependent.depends_on_envoys(
            subject, known.status, answer.generation, author
        ):
            return "held"
        metadata = {"resourceVersion": known.resource_version}
        patch: Raw = {"metadata": metadata, "status": change}
        return _Change(patch, hash((known.uid, repr(answer.status))))

    async def _write(self, subject: ObjectRef, path: str, patch: Raw) -> bool:
        """Sends a patch. Returns whether the API server has kept all of it."""
        params = {"fieldManager": FIELD_MANAGER}
        found = await self._client.patch(f"{path}/status", patch, params=params)
        known = stored.seen(found)
        self._ahead.wrote(subject, known)
        return merging.is_kept(patch["status"], known.status)


class _Change(NamedTuple):
    """A write that is to be made."""

    patch: Raw
    content: int
    """A hash of our part of the status, and of the identity of the object."""


class _Contents:
    """What was written last of each object, for as many as fit."""

    def __init__(self) -> None:
        self._hashes: dict[ObjectRef, int] = {}

    def is_repeated(self, subject: ObjectRef, content: int) -> bool:
        """Notes a write. Returns whether the one before had the same content."""
        before = self._hashes.pop(subject, None)
        self._hashes[subject] = content
        if len(self._hashes) > _MOST_CONTENTS:
            del self._hashes[next(iter(self._hashes))]
        return before == content


_MOST_CONTENTS = 20_000


def _gateways(subject: ObjectRef, references: Iterable[Raw]) -> tuple[NamespacedName, ...]:
    """The Gateways among these references."""
    found = {
        NamespacedName(str(it.get("namespace") or subject.namespace), str(it["name"]))
        for it in references
        if it.get("kind", "Gateway") == "Gateway"
    }
    return tuple(sorted(found))
