"""Undoes the rollout of Envoys whose first new pod does not get ready.

The pod template that a workload had before is kept beside the new one, in an annotation that is
written by the same request, until a pod of the new one is available. If its first pods fail
(`newpods`), the workload gets that template back, and an annotation says which one failed and why.
So whoever leads next knows as much. A template that failed is not tried again; another one is, and
so is this one once somebody has removed the annotation. What had no pod available before is not
kept: there is nothing to go back to, and the failure is only told.
"""

import base64
import hashlib
import zlib
from collections.abc import Callable
from typing import NamedTuple

import orjson

from contour.infrastructure import newpods
from contour.infrastructure.newpods import MARK
from crds.raw import Raw, at, mapping
from dag.fleets import FleetProblem
from kube import errors
from kube.client import Client
from provisioning.keeping import objects, rollouts
from provisioning.keeping.objects import described

GOOD = "projectcontour.io/last-good-template"
"""An annotation of workloads: the pod template to go back to, as JSON, compressed, in base64."""
UNDONE = "projectcontour.io/undone-template"
"""An annotation of workloads: the mark of the template whose rollout was undone."""
BECAUSE = "projectcontour.io/undone-because"
"""An annotation of workloads: why, for people."""

_LONGEST = 200_000
"""Characters; an object may have annotations of 262,144 in all."""


class Step(NamedTuple):
    """What a workload is to be now."""

    document: Raw
    problem: FleetProblem | None = None


class Rollouts:
    """Watches over those of one fleet's workload."""

    def __init__(self, client: Client, again: Callable[[float], None]) -> None:
        """`again` asks for another look at the fleet, after so many seconds."""
        self._client = client
        self._again = again

    async def step(self, document: Raw, live: Raw | None) -> Step:
        """What to apply of a workload; `live` is how it is now. Raises request errors."""
        mark = _mark(document)
        wanted = _marked(document, mark)
        if live is not None and _mark_of(live) != mark:
            live = await objects.read(self._client, live)  # what was told may be older
        if live is None:
            return Step(wanted)
        notes = mapping(at(live, "metadata", "annotations"))
        good = str(notes.get(GOOD) or "")
        if good and notes.get(UNDONE) == mark:
            return _undone(wanted, good, str(notes.get(BECAUSE) or ""))
        if _mark_of(live) != mark:
            return Step(_noted(wanted, _kept(live) if rollouts.is_proven(live) else good))
        if rollouts.is_proven(live):
            return Step(wanted)
        if not rollouts.pods(live):
            return Step(_noted(wanted, good))
        try:
            found = await newpods.outlook(self._client, live, mark)
        except errors.Refused as error:
            told = FleetProblem(f"the pods of {described(document)}: {error.message}")
            return Step(_noted(wanted, good), told)
        return self._judged(wanted, good, found)

    def _judged(self, wanted: Raw, good: str, found: newpods.Outlook) -> Step:
        if not found.failure:
            self._again(found.look_again)
            return Step(_noted(wanted, good))
        if good:
            return _undone(wanted, good, found.failure)
        return Step(wanted, FleetProblem(f"no Envoy of {described(wanted)} runs: {found.failure}"))


def _undone(document: Raw, good: str, why: str) -> Step:
    template: Raw = orjson.loads(zlib.decompress(base64.b64decode(good)))
    notes: Raw = {GOOD: good, UNDONE: _mark_of(document), BECAUSE: why}
    found = _annotated(document, notes)
    told = f"the rollout of {described(document)} was undone, for its first new Envoy failed: {why}"
    return Step(_with_template(found, template), FleetProblem(told))


def _kept(live: Raw) -> str:
    """Its template, as it is written; empty if it is too long for that."""
    template = _template(live)
    metadata = {k: it for k, it in mapping(template.get("metadata")).items() if it is not None}
    found = orjson.dumps({**template, "metadata": metadata}, option=orjson.OPT_SORT_KEYS)
    text = base64.b64encode(zlib.compress(found)).decode()
    return text if len(text) <= _LONGEST else ""


def _mark(document: Raw) -> str:
    packed = orjson.dumps(_template(document), option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(packed).hexdigest()[:16]


def _mark_of(workload: Raw) -> str:
    return str(at(_template(workload), "metadata", "annotations", MARK) or "")


def _marked(document: Raw, mark: str) -> Raw:
    return _with_template(document, _annotated(_template(document), {MARK: mark}))


def _template(workload: Raw) -> Raw:
    return mapping(at(workload, "spec", "template"))


def _with_template(workload: Raw, template: Raw) -> Raw:
    return {**workload, "spec": {**mapping(workload.get("spec")), "template": template}}


def _noted(document: Raw, good: str) -> Raw:
    return _annotated(document, {GOOD: good}) if good else document


def _annotated(document: Raw, more: Raw) -> Raw:
    metadata = mapping(document.get("metadata"))
    annotations = {**mapping(metadata.get("annotations")), **more}
    return {**document, "metadata": {**metadata, "annotations": annotations}}
