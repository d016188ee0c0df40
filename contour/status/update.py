"""One object's status, brought up to what is to be said of it now.

A write is a JSON merge patch of our fields with the resourceVersion of the status that it was
merged into: if somebody has written meanwhile, the API server refuses, and it is merged again, into
what stands there then. (Server-side apply would not do: `parents` is one value to it, which two
controllers would take from one another. PUT would need the whole object.) An answer that is older
than the object is not written; the provider is about to bring the newer version.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from contour.status import doubts, merging, stored
from contour.status.answers import Answer
from contour.status.tally import Tally
from crds.meta import NamespacedName, ObjectRef
from crds.raw import Raw
from dag import statuses
from kube import errors, leading
from kube.client import Client
from kube.resources import Resource

Outcome = Literal["written", "pruned", "unchanged", "outdated", "gone", "deposed", "held"]
"""`pruned`: it was written, but not all of it is there. The API server drops the fields that a CRD
does not have, such as those of a release whose CRDs are just being applied."""

WRITTEN: frozenset[Outcome] = frozenset({"written", "pruned"})

FIELD_MANAGER = "contour"

MOST_CONFLICTS = 5  # in a row, before the object waits for a while


@dataclass(frozen=True, slots=True)
class Sources:
    """What is asked when the status of an object is written."""

    answer: Callable[[ObjectRef, int], Answer | None]
    """What is to be said of an object whose newest version is this; None: nothing."""
    known: Callable[[ObjectRef], stored.Known | None]
    """What the provider has seen of it; None: there is no such object."""
    controller_name: Callable[[], str]
    """Of the Gateway API; empty if it is not served."""
    is_assembled: Callable[[], bool] = lambda: True
    """Whether the Envoys of all replicas have been heard, as far as they will be."""
    untold: Callable[[ObjectRef, tuple[NamespacedName, ...]], None] = lambda _, __: None
    """Takes the Gateways in whose names nothing can be said of an object: its status is full."""
    is_change_underway: Callable[[], bool] = lambda: False
    """Whether a change has been seen and not yet been sent to all Envoys."""
    resource: Callable[[str], Resource | None] = stored.resource
    """By kind; None while the API server does not serve it."""


class Updates:
    """Knows what it has written itself, until the provider does."""

    def __init__(self, client: Client, sources: Sources) -> None:
        self._client = client
        self._sources = sources
        self._ahead = stored.Ahead(sources.known)

    def is_known(self, subject: ObjectRef) -> bool:
        """Whether there is such an object, as far as the provider has seen."""
        return self._sources.known(subject) is not None

    def is_echo(self, subject: ObjectRef) -> bool:
        """The provider has seen an object again: whether exactly as we wrote it."""
        return self._ahead.is_echo(subject)

    async def update(self, subject: ObjectRef, tally: Tally) -> Outcome:
        """Writes the status of an object, if it differs."""
        known, resource = self._ahead.known(subject), self._sources.resource(subject.kind)
        if known is None or resource is None:
            self._sources.untold(subject, ())
            return "gone"
        path = resource.path(subject.namespace, subject.name)
        for _ in range(MOST_CONFLICTS):
            patch = self._patch(subject, known)
            if not isinstance(patch, dict):
                return patch
            try:
                is_whole = await self._write(subject, path, patch)
            except leading.NotLeading:
                return "deposed"
            except errors.Refused as error:
                if error.code != 409:
                    raise
                tally.conflict += 1
            else:
                return "written" if is_whole else "pruned"
            before, known = (
                known,
                stored.seen(await self._client.get(path, timeout=leading.WRITE_TIMEOUT)),
            )
            if known.uid != before.uid:
                return "outdated"
        raise errors.Refused(409, "Conflict", f"other clients keep changing {subject}")

    def _patch(self, subject: ObjectRef, known: stored.Known) -> Raw | Outcome:
        """What is to be sent, or why nothing is."""
        answer = self._sources.answer(subject, known.generation)
        if answer is None:
            self._sources.untold(subject, ())
            return "gone"
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        name = self._sources.controller_name()
        voice = merging.Voice(name, now, statuses.most_ancestors(subject.kind))
        newest = max(known.generation, merging.newest_generation(known.status, voice))
        if newest > answer.generation:
            return "outdated"
        left_out = merging.left_out(known.status, answer.status, voice)
        self._sources.untold(subject, _gateways(subject, left_out))
        wanted = merging.merged(known.status, answer.status, voice)
        change = merging.difference(known.status, wanted)
        if not change:
            return "unchanged"
        if not self._sources.is_assembled() and doubts.depends_on_envoys(
            subject, known.status, answer.generation, voice
        ):
            return "held"
        return {"metadata": {"resourceVersion": known.resource_version}, "status": change}

    async def _write(self, subject: ObjectRef, path: str, patch: Raw) -> bool:
        """Whether the API server has kept all of it."""
        params = {"fieldManager": FIELD_MANAGER}
        found = await self._client.patch(f"{path}/status", patch, params=params)
        known = stored.seen(found)
        self._ahead.wrote(subject, known)
        return merging.is_kept(patch["status"], known.status)


def _gateways(subject: ObjectRef, references: Iterable[Raw]) -> tuple[NamespacedName, ...]:
    """The Gateways among these references."""
    found = {
        NamespacedName(str(it.get("namespace") or subject.namespace), str(it["name"]))
        for it in references
        if it.get("kind", "Gateway") == "Gateway"
    }
    return tuple(sorted(found))
