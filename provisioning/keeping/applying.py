"""Applies one object of ours as a whole; never changes an object of others.

Server-side apply restores our fields; the parts that are ours as a whole (`drift`) are then
replaced if others have added to them. Nobody can put an object of their own in place between the
read and the write: an existing object is applied to by its uid, and a missing one is made without
force, so that an object that somebody else has just made is a conflict.

An object with a changed immutable field is created again, except for the class of a load balancer:
a new Service might have another address, so that is left to users, and reported.

What an admission webhook or a controller adds again at once is not fought over: the same difference
is repaired at most three times in ten minutes, and reported as long as it exists. An object that
was applied before and not changed since costs no request.
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

_ATTEMPTS = 4
_STATES = 8
_MOST = 1_000  # objects that are remembered without a look at which are still applied
_KEPT = 3600.0  # seconds: what there should be is applied again every ten minutes


class Applied(NamedTuple):
    """The result of applying an object."""

    made: Document | None = None
    """The object in the cluster; None if no request was needed, or it failed."""
    problem: Problem | None = None
    """Why the object is not as it should be; None if it is."""


class _Known(NamedTuple):
    """An object as it was applied last."""

    wanted: str
    """A digest of what was applied."""
    states: tuple[str, ...]
    """Digests of the results, the newest last: a watch may still see one before the last."""
    note: str
    """The differences that remain; empty if none do."""
    at: float
    """When it was applied."""
    used: float
    """When it was last to be applied."""


class Applier:
    """Applies the objects of one maker, one at a time."""

    def __init__(self, client: Client, field_manager: str) -> None:
        self._client = client
        self._field_manager = field_manager
        self._known: dict[str, _Known] = {}
        self._most = _MOST
        self._contests: dict[str, tuple[tuple[str, ...], list[float]]] = {}
        """By path: the last difference that was repaired, and the times of repairs, in seconds."""

    async def apply(self, document: Document, ownership: Ownership, seen: str = "") -> Applied:
        """Applies an object; `seen` is its digest as a watch has reported it (`children`)."""
        path, wanted, now = objects.path(document), digest(document), _now()
        known = self._known.get(path)
        if known is None or known.wanted != wanted:
            known = _Known(wanted, (), "", now, now)
        if seen in known.states and (not known.note or now - known.at < CONTEST):
            self._known[path] = known._replace(used=now)
            return _applied(None, known.note)
        try:
            made, note = await self._apply(document, ownership)
        except problems.FAILURES as error:
            return Applied(problem=problems.problem(described(document), error))
        states = (*known.states[1 - _STATES :], digest(made))
        self._known[path] = _Known(wanted, states, note, now, now)
        self._forget_old(now)
        return _applied(made, note)

    def _forget_old(self, now: float) -> None:
        """Forgets objects that went otherwise, as with their namespace or their owner."""
        if len(self._known) > self._most:
            kept = {path: it for path, it in self._known.items() if now - it.used < _KEPT}
            contests = {path: it for path, it in self._contests.items() if path in kept}
            self._known, self._contests = kept, contests
            self._most = max(_MOST, 2 * len(kept))

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
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._applied(document, ownership)
            except errors.Refused as error:
                if error.code != 409:
                    raise  # else somebody has written since we have read it
        return await self._applied(document, ownership)

    async def _applied(self, document: Document, ownership: Ownership) -> tuple[Document, str]:
        """Applies the object; returns it with the differences that remain."""
        present = await objects.read(self._client, document)
        if present is None:
            body, made = document, await self._write(document, force=False)
        elif not ownership.owns(present):
            raise NotOwned(document)
        elif present["metadata"].get("deletionTimestamp"):
            raise Terminating(_removal(described(document), present))
        else:
            body, made = await self._changed(_scaled_by_others(document, present), present)
        made, added = await self._made_whole(body, made)
        return made, "; ".join(_notes(document, body, added))

    async def _changed(self, body: Document, present: Document) -> tuple[Document, Document]:
        """Changes an existing object; returns what was applied, and the resulting object."""
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
        # Together with what others have added, the wanted fields are not valid.
        return body, await self._write_to(body, await self._replace(body, present))

    async def _write_to(self, body: Document, present: Document) -> Document:
        """Applies to exactly this object, by its uid."""
        # With replicas also in exactly this version: an autoscaler must not write in between.
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
        """Whether this was repaired so often lately that something must keep changing it."""
        before, times = self._contests.get(path, (added, []))
        lately = [it for it in times if before == added and _now() - it < CONTEST]
        self._contests[path] = (added, lately)
        return len(lately) >= REPAIRS


def _applied(made: Document | None, note: str) -> Applied:
    return Applied(made, Problem("", note, is_settled=True) if note else None)


def _notes(document: Raw, body: Raw, added: tuple[str, ...]) -> Iterator[str]:
    """The differences between a document and what was applied of it, for people."""
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
    """The document without the number of replicas if an autoscaler sets that."""
    entries = map(raw.mapping, raw.items(present["metadata"].get("managedFields")))
    is_scaled = any(
        it.get("subresource") == "scale" and it.get("manager") == _AUTOSCALER for it in entries
    )
    if not is_scaled or "replicas" not in document.get("spec", {}):
        return document
    return document | {"spec": {k: v for k, v in document["spec"].items() if k != "replicas"}}


_AUTOSCALER = "kube-controller-manager"


def _removal(named: str, present: Raw) -> str:
    """That an object is being removed, and who holds that up."""
    holders = ", ".join(map(str, raw.items(raw.at(present, "metadata", "finalizers"))))
    held = f"; it waits for its finalizers: {holders}" if holders else ""
    return f"{named} is being removed{held}"


def _is_immutable(error: errors.Refused) -> bool:
    """Whether an immutable field was to be changed, so that the object must be created again."""
    said = [error.message, *(it.message for it in error.causes)]
    return error.code == 422 and any(words in it for it in said for words in _IMMUTABLE)


_IMMUTABLE = (
    "field is immutable",
    "cannot change roleRef",
    "Value is immutable",  # the Gateway API's, of `spec.controllerName` of a GatewayClass
)


def _is_of_class(error: errors.Refused) -> bool:
    """Whether a Service has another load balancer class, which is immutable."""
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
