"""Undoes the rollout of Envoys whose first new pod does not get ready.

The former pod template of a workload is kept in an annotation, which is written together with the
new template, until a pod of the new one is available. If the first pods fail, or none of them can
be created (`newpods`), the workload gets the former template back, and an annotation says why. So
the next leader knows as much. A template that failed is not tried again, unless the annotation is
removed. If no pod of the former template was available, that template is not kept, and a failure is
only reported.
"""

import base64
import hashlib
import zlib
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

import orjson

from contour.infrastructure import newpods, templatediff
from contour.infrastructure.newpods import MARK
from crds.raw import Raw, at, mapping
from dag.fleets import FleetProblem
from kube import errors
from kube.client import Client
from provisioning.keeping import annotations, objects, rollouts
from provisioning.keeping.annotations import annotated, template, with_template
from provisioning.keeping.objects import described

GOOD = "projectcontour.io/last-good-template"
"""An annotation of workloads: the pod template to go back to, as JSON, compressed, in base64."""
BEGUN = "projectcontour.io/rollout-began"
"""An annotation of workloads: when the rollout that may be undone began (RFC 3339)."""
UNDONE = "projectcontour.io/undone-template"
"""An annotation of workloads: the mark of the template whose rollout was undone."""
BECAUSE = "projectcontour.io/undone-because"
"""An annotation of workloads: why, for people."""

_LONGEST = 200_000
"""Characters; an object may have annotations of 262,144 in all."""

_LARGEST = 1 << 20
"""Bytes of a template. Whoever may write the workload may write the annotation, and its text could
unpack to a thousand times its length."""


class Step(NamedTuple):
    """The next state of a workload."""

    document: Raw
    problem: FleetProblem | None = None


class Rollouts:
    """Watches the rollouts of one fleet's workload."""

    def __init__(self, client: Client, again: Callable[[float], None]) -> None:
        """`again` schedules another reconciliation of the fleet after so many seconds."""
        self._client = client
        self._again = again

    async def step(self, document: Raw, live: Raw | None) -> Step:
        """The document to apply for a workload; `live` is its present state. Raises request
        errors."""
        mark = _mark(document)
        wanted = _marked(document, mark)
        if live is not None and _is_settled(live, mark):
            return Step(wanted)
        # The watch may be behind our last write: a template that was undone must not be taken for
        # one that is being rolled out.
        live = await objects.read(self._client, live) if live is not None else None
        if live is None or _is_settled(live, mark):
            return Step(wanted)
        notes = annotations.of(live)
        good = str(notes.get(GOOD) or "")
        if not _unpacked(good):
            good = ""
        if good and notes.get(UNDONE) == mark:
            return _undone(wanted, good, str(notes.get(BECAUSE) or ""))
        if _mark_of(live) != mark:
            good = _kept(live) if rollouts.is_proven(live) else good
            return Step(_noted(wanted, good, datetime.now(UTC).isoformat(timespec="seconds")))
        return await self._watched(live, mark, good, wanted)

    async def _watched(self, live: Raw, mark: str, good: str, wanted: Raw) -> Step:
        """Handles a rollout without an available pod."""
        begun = _begun(live)
        document = _noted(wanted, good, begun.isoformat(timespec="seconds"))
        if not rollouts.pods(live):
            return Step(document)
        try:
            found = await newpods.read(self._client, live, mark, begun)
        except errors.Refused as error:
            text = f"the pods of {described(wanted)}: {error.message}"
            return Step(document, FleetProblem(text))
        if found.failure and good:
            return _undone(wanted, good, found.failure)
        self._again(found.look_again)
        if found.failure:
            return Step(document, _about_pods(f"no Envoy of {described(wanted)} runs", found))
        if found.trouble:
            return Step(document, _about_pods(f"no new Envoy of {described(wanted)}", found))
        return Step(document)


def _is_settled(live: Raw, mark: str) -> bool:
    """Whether a pod of the template with this mark is available."""
    return _mark_of(live) == mark and rollouts.is_proven(live)


def _about_pods(opening: str, found: newpods.PodsState) -> FleetProblem:
    text = f"{opening}: {found.failure or found.trouble}"
    return FleetProblem(text, concerns="workload")


def _undone(document: Raw, good: str, why: str) -> Step:
    before = _unpacked(good)
    notes: Raw = {GOOD: good, UNDONE: _mark_of(document), BECAUSE: why}
    told = f"the rollout of {described(document)} was undone, for its first new Envoy failed: {why}"
    concerns = templatediff.changed_setting(before, template(document))
    changed = with_template(annotated(document, notes), before)
    return Step(changed, FleetProblem(told, concerns=concerns))


def _kept(live: Raw) -> str:
    """The template for the annotation; empty if it is too long."""
    before = template(live)
    metadata = {k: it for k, it in mapping(before.get("metadata")).items() if it is not None}
    found = orjson.dumps({**before, "metadata": metadata}, option=orjson.OPT_SORT_KEYS)
    text = base64.b64encode(zlib.compress(found)).decode()
    return text if len(text) <= _LONGEST and len(found) <= _LARGEST else ""


def _unpacked(good: str) -> Raw:
    """The template in an annotation; empty if there is none that can be read."""
    try:
        text = zlib.decompressobj().decompress(base64.b64decode(good), _LARGEST)
        return mapping(orjson.loads(text))
    except (ValueError, zlib.error):
        return {}


def _begun(live: Raw) -> datetime:
    """When the rollout began; if nobody knows, with the workload."""
    with suppress(ValueError):
        found = datetime.fromisoformat(str(annotations.of(live).get(BEGUN)))
        if found.tzinfo is not None:
            return found
    return datetime.fromisoformat(str(at(live, "metadata", "creationTimestamp")))


def _mark(document: Raw) -> str:
    packed = orjson.dumps(template(document), option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(packed).hexdigest()[:16]


def _mark_of(workload: Raw) -> str:
    return str(annotations.of(template(workload)).get(MARK) or "")


def _marked(document: Raw, mark: str) -> Raw:
    return with_template(document, annotated(template(document), {MARK: mark}))


def _noted(document: Raw, good: str, begun: str) -> Raw:
    return annotated(document, {GOOD: good, BEGUN: begun}) if good else document
