"""Brings one object of ours to what it should be in a cluster, as a whole; nothing of others.

Server-side apply puts our fields right; the parts that are ours as a whole (`drift`) are then
replaced if others have added to them. Nobody can slip in an object of their own between the look
and the write: what is there is applied to by its uid, what is not there is made without force, so
that whatever somebody else has made in that moment is a conflict.

What the API server lets nobody change is created again, but for the class of a load balancer: a new
Service might have another address, so that is for users to do, and they are told.

What is added again at once, by an admission webhook or a controller, is not fought: the same
difference is put right three times in ten minutes at most, and told as long as it is there. An
object that was applied before and that nobody has touched since costs no request.
"""

import asyncio
import logging
from collections.abc import Iterator
from typing import NamedTuple

from crds import raw
from crds.raw import Raw
from kube import errors
from kube.client import Client
from provisioning.keeping import drift, objects, problems
from provisioning.keeping.children import digest
from provisioning.keeping.objects import NotOwned, Terminating, described
from provisioning.keeping.ownership import Ownership
from provisioning.keeping.problems import Problem
from provisioning.templating import Document

log = logging.getLogger(__name__)

REPAIRS = 3
CONTEST = 600.0  # seconds

_LOOKS = 4
_STATES = 8


class Applied(NamedTuple):
    """The outcome."""

    made: Document | None = None
    """The object as it stands there; None if no request was needed, or it failed."""
    problem: Problem | None = None
    """Why it is not as it should be."""


class _Known(NamedTuple):
    """An object when it was applied last."""

    wanted: str
    """A digest of what was applied."""
    states: tuple[str, ...]
    """Digests of what that made, the newest last: what is seen may be older than the last."""
    note: str
    """What is otherwise all the same; empty if nothing."""
    at: float


class Applier:
    """Applies the objects of one maker, one at a time."""

    def __init__(self, client: Client, field_manager: str) -> None:
        self._client = client
        self._field_manager = field_manager
        self._known: dict[str, _Known] = {}
        self._contests: dict[str, tuple[tuple[str, ...], list[float]]] = {}
        """By path: the last difference that was put right, and when that was, in seconds."""

    async def apply(self, document: Document, ownership: Ownership, seen: str = "") -> Applied:
        """The object is to be so; `seen` is its digest as it was told of last (`children`)."""
        path, wanted, now = objects.path(document), digest(document), _now()
        known = self._known.get(path)
        if known is None or known.wanted != wanted:
            known = _Known(wanted, (), "", now)
        if seen in known.states and (not known.note or now - known.at < CONTEST):
            return _applied(None, known.note)
        try:
            made, note = await self._apply(document, ownership)
        except problems.FAILURES as error:
            return Applied(problem=problems.problem(described(document), error))
        states = (*known.states[1 - _STATES :], digest(made))
        self._known[path] = _Known(wanted, states, note, now)
        return _applied(made, note)

    async def rehearse(self, document: Document, ownership: Ownership) -> Problem | None:
        """What would keep a new object from being made."""
        try:
            await objects.require_ours(self._client, document, ownership)
            path = objects.path(document)
            await self._client.apply(path, document, self._field_manager, is_dry_run=True)
        except problems.FAILURES as error:
            return problems.problem(described(document), error)
        return None

    async def prune(self, present: Document) -> Problem | None:
        """Deletes an object that should not be there."""
        self._known.pop(objects.path(present), None)
        try:
            await objects.delete(self._client, present)
        except problems.FAILURES as error:
            return problems.problem(f"the removal of {described(present)}", error)
        return None

    async def _apply(self, document: Document, ownership: Ownership) -> tuple[Document, str]:
        for _ in range(_LOOKS - 1):
            try:
                return await self._applied(document, ownership)
            except errors.Refused as error:
                if error.code != 409:
                    raise  # else somebody has written since we have looked
        return await self._applied(document, ownership)

    async def _applied(self, document: Document, ownership: Ownership) -> tuple[Document, str]:
        """The object, and what is otherwise in it all the same."""
        present = await objects.read(self._client, document)
        if present is None:
            body, made = document, await self._write(document, force=False)
        elif not ownership.owns(present):
            raise NotOwned(document)
        elif present["metadata"].get("deletionTimestamp"):
            raise Terminating(f"{described(document)} is being removed")
        else:
            body, made = await self._changed(_scaled_by_others(document, present), present)
        made, added = await self._made_whole(body, made)
        return made, "; ".join(_notes(document, body, added))

    async def _changed(self, body: Document, present: Document) -> tuple[Document, Document]:
        """What was applied, and the object as it stands there then."""
        try:
            return body, await self._write_to(body, present)
        except errors.Refused as error:
            as_it_is = _with_class_of(present, body)
            if _is_of_class(error) and as_it_is != body:
                return await self._changed(as_it_is, present)
            if _is_immutable(error):
                await objects.delete(self._client, present | {"kind": body["kind"]})
                raise Terminating(
                    f"{described(body)} must change an immutable field, so it is created again"
                ) from None
            if error.code != 422 or not drift.differences(body, present):
                raise
        # With what others have added beside it, what is wanted makes no sense.
        return body, await self._write_to(body, await self._replace(body, present))

    async def _write_to(self, body: Document, present: Document) -> Document:
        """Applies to this very object."""
        # An autoscaler must not come in between: with replicas, it is to be what was looked at.
        same = ("uid", "resourceVersion") if "replicas" in body.get("spec", {}) else ("uid",)
        looked_at = {it: present["metadata"][it] for it in same}
        return await self._write(body | {"metadata": body["metadata"] | looked_at}, force=True)

    async def _write(self, body: Document, *, force: bool) -> Document:
        path = objects.path(body)
        return await self._client.apply(path, body, self._field_manager, force=force)

    async def _made_whole(self, body: Document, made: Document) -> tuple[Document, tuple[str, ...]]:
        added = drift.differences(body, made)
        if not added or self._is_contested(objects.path(body), added):
            return made, added
        log.info("restoring %s: others changed %s", described(body), ", ".join(added))
        made = await self._replace(body, made)
        self._contests[objects.path(body)][1].append(_now())
        return made, drift.differences(body, made)

    async def _replace(self, body: Document, present: Document) -> Document:
        patch, params = drift.replacement(body, present), {"fieldManager": self._field_manager}
        return await self._client.patch(objects.path(body), patch, "json", params=params)

    def _is_contested(self, path: str, added: tuple[str, ...]) -> bool:
        """Whether this was put right so often of late that somebody must want it otherwise."""
        before, times = self._contests.get(path, (added, []))
        lately = [it for it in times if before == added and _now() - it < CONTEST]
        self._contests[path] = (added, lately)
        return len(lately) >= REPAIRS


def _applied(made: Document | None, note: str) -> Applied:
    return Applied(made, Problem("", note, is_settled=True) if note else None)


def _notes(document: Raw, body: Raw, added: tuple[str, ...]) -> Iterator[str]:
    """What is otherwise than a document says, of which this was applied."""
    what = described(document)
    if _class(body) != _class(document):
        yield (
            f"{what}: spec.loadBalancerClass cannot be changed from {_class(body) or 'none'} to "
            f"{_class(document) or 'none'}; delete the Service, and it is created again"
        )
    if added:
        rest = len(added) - _LISTED
        listed = ", ".join(added[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")
        yield f"{what}: an admission webhook or a controller sets {listed}, which is left so"


_LISTED = 5  # paths in a message


def _scaled_by_others(document: Document, present: Document) -> Document:
    """Without the number of replicas if an autoscaler sees to that."""
    entries = map(raw.mapping, raw.items(present["metadata"].get("managedFields")))
    is_scaled = any(
        it.get("subresource") == "scale" and it.get("manager") == _AUTOSCALER for it in entries
    )
    if not is_scaled or "replicas" not in document.get("spec", {}):
        return document
    return document | {"spec": {k: v for k, v in document["spec"].items() if k != "replicas"}}


_AUTOSCALER = "kube-controller-manager"


def _is_immutable(error: errors.Refused) -> bool:
    """Whether what is wanted cannot be had by a change, only by another object."""
    said = [error.message, *(it.message for it in error.causes)]
    return error.code == 422 and any(
        words in it for it in said for words in ("field is immutable", "cannot change roleRef")
    )


def _is_of_class(error: errors.Refused) -> bool:
    """Whether a Service has another class of load balancers and has to keep it."""
    return error.code == 422 and any(
        it.field == "spec.loadBalancerClass" and "once set" in it.message for it in error.causes
    )


def _with_class_of(present: Raw, body: Document) -> Document:
    spec, found = body.get("spec", {}), _class(present)
    rest = {key: it for key, it in spec.items() if key != "loadBalancerClass"}
    return body | {"spec": rest | ({"loadBalancerClass": found} if found else {})}


def _class(document: Raw) -> object:
    return raw.at(document, "spec", "loadBalancerClass")


def _now() -> float:
    return asyncio.get_running_loop().time()
