"""Lists every known object and file, for the command line.

In addition to the board it lists objects for other controllers, files that cannot be read and, on
request, objects without a status of their own (Services, Secrets …). A listing walks all objects,
and is made on request only.
"""

from collections.abc import Iterator

from contour.answers import shown, subjects
from contour.complaints import Locate
from contour.status import idle, rows, unserved
from contour.status.board import Board
from contour.status.rows import Row
from crds.kinds import KINDS
from crds.meta import ObjectRef
from crds.records import replace
from dag import tables
from dag.engine.incremental import Engine
from dag.gateway import routes


def listed(board: Board, engine: Engine, locate: Locate, *, every: bool = False) -> list[Row]:
    """The rows, sorted, files first."""
    found = (it for it in steps(board, engine, every=every) if it is not None)
    return [it.located(locate) for it in sorted(found, key=order)]


def order(found: Row) -> tuple[bool, str, str, str]:
    """The sort key of rows."""
    return subjects.order(*found.subject)


def steps(board: Board, engine: Engine, *, every: bool) -> Iterator[Row | None]:
    """The rows, unsorted and without places, made step by step; None where a step finds none.
    `every`: including objects without a status or a problem.
    """
    yield from board.file_rows()
    for it in known(board, engine):
        if it is None:
            yield None
        else:
            has_row = every or it.kind in _TELLING or it in board.told or it in board.remarks
            yield row(board, engine, it) if has_row else None


def known(board: Board, engine: Engine) -> Iterator[ObjectRef | None]:
    """Every object, unsorted, found step by step; None where a step finds none."""
    for kind, of_kind in tables.BY_KIND.items():
        yield from (ObjectRef(kind, *key) for key, _ in engine.rows(of_kind))
    found: set[ObjectRef] = set()
    for it in (*board.told, *board.remarks):
        table = tables.BY_KIND.get(it.kind)
        is_listed = table is not None and engine.row(table, it.key) is not None
        yield None if is_listed or it in found else it
        found.add(it)


def is_known(board: Board, engine: Engine, subject: ObjectRef) -> bool:
    """Whether an object is among the known ones."""
    table = tables.BY_KIND.get(subject.kind)
    is_listed = table is not None and engine.row(table, subject.key) is not None
    return is_listed or subject in board.told or subject in board.remarks


def plain(found: list[Row]) -> list[shown.Row]:
    """The rows as plain data, for JSON."""
    return [rows.plain(it) for it in found]


def row(board: Board, engine: Engine, subject: ObjectRef) -> Row:
    """The row of one object, whether or not it is for this controller."""
    found = board.row(subject)
    idle_ones = tuple(idle.messages(engine, subject)) if subject.kind in _LEADING else ()
    if idle_ones:
        found = replace(found, told=(*found.told, *idle_ones))
    if subject in board.told:
        missing = unserved.missing_parents(engine, subject)
        told = (*found.told, *missing)
        return replace(found, told=told, state=rows.worst(told)) if missing else found
    table = tables.BY_KIND.get(subject.kind)
    if table is None or engine.row(table, subject.key) is None:
        return found
    if subject.kind not in _TELLING:
        return replace(found, summary=found.summary or "read")
    if found.state == "error":
        return found
    reason = unserved.row(engine, subject)
    return replace(reason, told=(*found.told, *reason.told))


_LEADING = frozenset({"Service", "HTTPProxy", "Ingress", *routes.KINDS})
"""Kinds that lead to endpoints."""

_TELLING = frozenset(it.kind for it in KINDS.values() if it.has_status)
