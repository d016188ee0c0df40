"""Finds what is wrong with objects, or worth a look, for `contour analyze`.

It combines the problems in statuses and documents with the checks of `dag.findings`. It reads
settled answers in small steps, so that an instance can run other tasks in between.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from contour.answers.analyzed import ShownFinding
from contour.complaints import Locate
from contour.status import listing, rows
from contour.status.board import Board
from contour.status.rows import Row, Told, plain_subject
from crds.meta import ObjectRef
from crds.records import replace
from dag import tables
from dag.engine.incremental import Engine
from dag.findings import Finding, catalogue
from dag.findings.catalogue import Code
from dag.findings.checks import CHECKS
from dag.problems.reasons import CommandLine


@dataclass(frozen=True, slots=True)
class Analyzer:
    """Finds problems of one instance."""

    engine: Engine
    board: Board
    locate: Locate

    def steps(self) -> Iterator[ShownFinding | None]:
        """The findings, and None after each step that found nothing."""
        for row in self.board.file_rows():
            yield from (_shown(None, it) for it in row.told)
        for subject in listing.known(self.board, self.engine):
            yield None
            if subject is None:
                continue
            found = listing.row(self.board, self.engine, subject)
            told = tuple(it for it in rows.causes(found.told) if self._is_due(subject, it))
            located = replace(found, told=told).located(self.locate)
            yield from (_shown(subject, it) for it in located.told)
        for check in CHECKS:
            for finding in check(self.engine):
                yield self._located(finding) if finding is not None else None

    def _is_due(self, subject: ObjectRef, told: Told) -> bool:
        """Whether a finding is reported: missing endpoints are reported for their Service, and not
        at all for manifests without any EndpointSlices, which come from a repository."""
        if told.reason != CommandLine.ServiceWithoutEndpoints:
            return True
        return subject.kind == "Service" and self.engine.size(tables.ENDPOINT_SLICES) > 0

    def _located(self, found: Finding) -> ShownFinding:
        return _shown(found.subject, row(found).located(self.locate).told[0])


def row(found: Finding) -> Row:
    """A finding as the row of its object."""
    known = catalogue.entry(found.code)
    severity = known.severity if known is not None else "warning"
    text = ": ".join(filter(None, (found.field, found.message)))
    told = Told(text, severity, found.message, "", found.code, found.field)
    return Row(found.subject, rows.worst([told]), "", (told,))


def _shown(subject: ObjectRef | None, told: Told) -> ShownFinding:
    code = told.reason or Code.Note
    known = catalogue.entry(code)
    severity = told.severity if known is None or told.severity == "error" else known.severity
    return {
        "code": str(code),
        "severity": severity,
        "object": plain_subject(subject) if subject is not None else None,
        "field": told.field,
        "file": told.file,
        "line": told.line,
        "message": told.message,
        "why": known.why if known is not None else "",
        "remedy": catalogue.remedy(code),
    }
