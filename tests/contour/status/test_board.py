"""The board: what every object is told, and how that reads in one line."""

import pytest

from contour.status.board import Board, Remark
from crds.gateway.references import ParentReference
from crds.meta import ObjectRef
from crds.raw import at, items
from dag.statuses import (
    Condition,
    ContourStatus,
    EventStatus,
    GatewayStatus,
    ListenerStatus,
    ParentStatus,
    RouteStatus,
    Status,
    SubCondition,
)

PROXY = ObjectRef("HTTPProxy", "default", "web")
GOOD = Condition("Valid", "True", "Valid", "Valid HTTPProxy")
BAD = Condition("Valid", "False", "ErrorPresent", "At least one error present")
PROBLEM = SubCondition("TLSError", "SecretNotValid", "spec.virtualhost.tls: not found")
PARENT = ParentReference(name="edge")


def _condition(type_: str, status: str, reason: str = "Because") -> Condition:
    return Condition(type_, status, reason, "a sentence")  # type: ignore[arg-type]


def _route(true: str) -> RouteStatus:
    return RouteStatus((ParentStatus(PARENT, "controller", (_condition(true, "True"),)),))


def _conflicted() -> ListenerStatus:
    return ListenerStatus("http", (), 0, (_condition("Conflicted", "True"),))


@pytest.mark.parametrize(
    ("status", "state", "reasons"),
    [
        (ContourStatus(GOOD, "valid"), "ok", 0),
        (ContourStatus(GOOD, "valid", warnings=(PROBLEM,)), "warning", 1),
        (ContourStatus(BAD, "invalid", errors=(PROBLEM,)), "error", 1),
        (ContourStatus(BAD, "orphaned", errors=(PROBLEM,)), "error", 1),
        (EventStatus(), "ok", 0),
        (EventStatus((PROBLEM,)), "error", 1),
        (RouteStatus(()), "warning", 0),
        (_route("Accepted"), "ok", 0),
        (_route("PartiallyInvalid"), "error", 1),
        (GatewayStatus((_condition("Programmed", "False"),)), "error", 1),
        (GatewayStatus((), (_conflicted(),)), "error", 1),
    ],
)  # fmt: skip
def test_a_status_reads_as_one_row(status: Status, state: str, reasons: int) -> None:
    board = Board()
    board.put(PROXY, status)
    (row,) = board.rows()
    assert (row.state, len(row.reasons)) == (state, reasons)


def test_a_remark_outlives_no_version_it_was_made_on() -> None:
    board = Board()
    board.put(PROXY, ContourStatus(GOOD, "valid"))
    board.remark(PROXY, "document", (Remark("error", "a.yaml:3: no"),))
    (row,) = board.rows()
    assert (row.state, row.summary) == ("error", "newest version refused")
    board.remark(PROXY, "document", (Remark("warning", "a.yaml:3: hm"),))
    (row,) = board.rows()
    assert row.state == "warning"
    board.remark(PROXY, "document", ())
    (row,) = board.rows()
    assert row.state == "ok"


def test_an_object_that_is_gone_leaves_no_row() -> None:
    board = Board()
    board.put(PROXY, ContourStatus(GOOD, "valid"))
    board.put(PROXY, None)
    assert list(board.rows()) == []


def test_objects_are_shown_as_kubernetes_knows_them() -> None:
    board = Board()
    board.put(PROXY, ContourStatus(BAD, "orphaned", errors=(PROBLEM,)))
    ((_, shown),) = board.objects({PROXY: 3})
    assert shown["metadata"] == {"name": "web", "namespace": "default"}
    assert at(shown, "status", "description") == PROBLEM.message
    (condition,) = items(at(shown, "status", "conditions"))
    assert at(condition, "observedGeneration") == 3
    assert at(items(at(condition, "errors"))[0], "reason") == "SecretNotValid"


def test_what_is_said_of_a_line_is_not_said_again() -> None:
    board = Board()
    warning = SubCondition("SpecError", "UnknownField", "spec.x: unknown field")
    board.put(PROXY, ContourStatus(GOOD, "valid", (), (warning,)))
    assert [it.reasons for it in board.rows()] == [
        ("SpecError/UnknownField: spec.x: unknown field",)
    ]
    line = "web.yaml:7: HTTPProxy default/web: spec.x: unknown field"
    board.remark(PROXY, "document", (Remark("warning", line),))
    assert [it.reasons for it in board.rows()] == [(line,)]


def test_a_warning_of_the_gateway_api_is_a_row_of_its_own() -> None:
    board, text = Board(), "spec.x: unknown field"
    accepted = Condition("Accepted", "True", "Accepted", f"the route is attached; {text}", (text,))
    board.put(PROXY, RouteStatus((ParentStatus(PARENT, "ours", (accepted,)),)))
    (row,) = board.rows()
    assert (row.state, row.reasons) == ("warning", (f"parent edge: {text}",))
