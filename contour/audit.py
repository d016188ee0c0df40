"""Logs which objects use something of another namespace, and which no longer do.

For audits: one line for each use that begins or ends, with the object, the field, what it refers to
and what permits it. Every replica writes its own lines, also for all uses that it finds at its
start. At most `MOST` lines are written at a time, then the number of the others.
"""

import logging
from collections.abc import Iterable
from typing import NamedTuple

from crds.meta import ObjectRef
from dag.crossings import Crossing

log = logging.getLogger(__name__)

MOST = 200
"""Lines that are written for changes at the same time."""


class CrossingsChange(NamedTuple):
    """A change of what an object uses of other namespaces."""

    who: ObjectRef
    old: tuple[Crossing, ...]
    new: tuple[Crossing, ...]


def log_changes(changes: Iterable[CrossingsChange]) -> None:
    """Writes the lines."""
    lines = [
        ("uses" if is_new else "no longer uses", it.who, crossing)
        for it in changes
        for is_new, crossings in ((False, _ended(it)), (True, _begun(it)))
        for crossing in crossings
    ]
    for verb, who, it in lines[:MOST]:
        permitted = ", ".join(map(str, it.permitted_by))
        told = {"field": it.field, "permitted_by": permitted}
        log.info("%s %s %s in another namespace", who, verb, it.target, extra=told)
    if len(lines) > MOST:
        log.info(
            "%d more references to other namespaces began or ended at the same time",
            len(lines) - MOST,
        )


def _ended(it: CrossingsChange) -> list[Crossing]:
    """A use that other objects permit now has not ended."""
    new = {(found.field, found.target) for found in it.new}
    return [found for found in it.old if (found.field, found.target) not in new]


def _begun(it: CrossingsChange) -> list[Crossing]:
    return [found for found in it.new if found not in it.old]
