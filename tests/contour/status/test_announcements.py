"""What is told by Events: each problem once when it appears, and the end of the last one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from contour.status import announcements
from contour.status.announcements import Announcements
from contour.status.board import Board, Remark
from crds.gateway.references import ParentReference
from crds.meta import ObjectRef
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
from kube.events import Occurrence

WEB = ObjectRef("Ingress", "default", "web")
PROBLEM = SubCondition("SpecError", "BackendUnresolved", "Service api is not found")
OTHER = SubCondition("TLSError", "SecretNotValid", "Secret web has no certificate")


class Stage:
    """A board, and what was told of it."""

    def __init__(self) -> None:
        self.board = Board()
        self.told: list[Occurrence] = []
        self.uids = {WEB: "uid-1"}
        self.announcements = Announcements(
            self.board, self.told.append, lambda it: self.uids.get(it, "")
        )

    def problems(self, *found: SubCondition) -> list[str]:
        """What is told when the Ingress has these."""
        self.board.put(WEB, EventStatus(found))
        return self.noticed(WEB)

    def noticed(self, subject: ObjectRef) -> list[str]:
        before = len(self.told)
        self.announcements.notice([subject])
        return [f"{it.type} {it.reason}: {it.note}" for it in self.told[before:]]

    def written(self, subject: ObjectRef, status: Status) -> list[str]:
        """What is told when this status has been written."""
        self.board.put(subject, status)
        before = len(self.told)
        self.announcements.notice([subject])
        self.announcements.written(subject, "written")
        return [f"{it.type} {it.reason}: {it.note}" for it in self.told[before:]]

    @asynccontextmanager
    async def term(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.announcements.run())
            await asyncio.sleep(0)
            yield
            task.cancel()


FIRST = "Warning BackendUnresolved: Service api is not found"
SECOND = "Warning SecretNotValid: Secret web has no certificate"


async def test_each_problem_is_told_once_and_so_is_the_end_of_the_last() -> None:
    stage = Stage()
    async with stage.term():
        assert stage.problems(PROBLEM) == [FIRST]
        assert stage.problems(PROBLEM) == []
        assert stage.problems(PROBLEM, OTHER) == [SECOND]
        assert stage.problems(OTHER) == []
        assert stage.problems() == ["Normal Valid: all problems are solved"]
        assert stage.problems() == []
    assert {it.regarding.uid for it in stage.told} == {"uid-1"}


async def test_of_many_problems_of_an_ingress_the_first_are_told_and_how_many_there_are() -> None:
    stage = Stage()
    many = [SubCondition("SpecError", "Bad", f"path {it}") for it in range(9)]
    async with stage.term():
        told = stage.problems(*many)
        assert told[:2] == ["Warning Bad: path 0", "Warning Bad: path 1"]
        assert told[4:] == ["Warning Bad: path 4; and 4 more; `contour status` shows all"]
        assert not stage.problems(*many)


async def test_a_warning_is_told_as_a_problem_is() -> None:
    stage = Stage()
    async with stage.term():
        stage.board.put(WEB, EventStatus((), (OTHER,)))
        assert stage.noticed(WEB) == [SECOND]


async def test_nothing_is_told_by_who_does_not_lead_and_all_of_it_by_the_next_who_does() -> None:
    stage = Stage()
    assert stage.problems(PROBLEM) == []
    async with stage.term():
        assert [it.reason for it in stage.told] == ["BackendUnresolved"]


async def test_what_lasts_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcements, "TOLD_AGAIN", 0.0)
    stage = Stage()
    stage.problems(PROBLEM)
    async with stage.term():
        while len(stage.told) < 3:
            await asyncio.sleep(0)
    assert len(set(stage.told)) == 1


async def test_an_object_that_is_gone_is_told_nothing() -> None:
    stage = Stage()
    async with stage.term():
        stage.problems(PROBLEM)
        del stage.uids[WEB]
        assert stage.problems() == []


async def test_a_version_that_cannot_be_read_is_told_but_never_of_a_secret() -> None:
    stage = Stage()
    remark = Remark("error", "spec.ports[0].port: must be a number")
    service, secret = (ObjectRef(kind, "default", "api") for kind in ("Service", "Secret"))
    stage.uids |= {service: "uid-2", secret: "uid-3"}
    async with stage.term():
        for subject in (service, secret):
            stage.board.remark(subject, "document", (remark, Remark("warning", "ignored")))
        assert stage.noticed(service) == [f"Warning NotTaken: {remark.message}"]
        assert stage.noticed(secret) == []


PROXY = ObjectRef("HTTPProxy", "default", "web")
GATEWAY = ObjectRef("Gateway", "default", "edge")
ROUTE = ObjectRef("HTTPRoute", "default", "web")
GOOD = Condition("Valid", "True", "Valid", "Valid HTTPProxy")
BAD = Condition("Valid", "False", "ErrorPresent", "At least one error present")
PARENT = ParentReference(name="edge")


def of_contour(*errors: SubCondition, warnings: tuple[SubCondition, ...] = ()) -> ContourStatus:
    """Of an HTTPProxy, for example."""
    return ContourStatus(
        BAD if errors else GOOD, "invalid" if errors else "valid", errors, warnings
    )


@pytest.mark.parametrize(
    ("subject", "status", "told"),
    [
        (PROXY, of_contour(), []),
        (PROXY, of_contour(PROBLEM, warnings=(OTHER,)), [FIRST, SECOND]),
        (
            GATEWAY,
            GatewayStatus(
                (Condition("Accepted", "False", "Invalid", "no listener is valid"),),
                (
                    ListenerStatus(
                        "https",
                        (),
                        0,
                        (
                            Condition("Conflicted", "False", "NoConflicts", "alone"),
                            Condition("ResolvedRefs", "False", "InvalidCertificateRef", "no key"),
                            Condition("Programmed", "False", "Pending", "Envoy is asked"),
                        ),
                    ),
                ),
            ),
            [
                "Warning Invalid: no listener is valid",
                "Warning InvalidCertificateRef: listener https: no key",
            ],
        ),
        (
            ROUTE,
            RouteStatus(
                (
                    ParentStatus(
                        PARENT,
                        "example.com/c",
                        (
                            Condition("Accepted", "True", "Accepted", "attached", ("spec.x: ?",)),
                            Condition("PartiallyInvalid", "True", "UnsupportedValue", "a rule"),
                            Condition("ResolvedRefs", "Unknown", "Pending", "nobody knows"),
                        ),
                    ),
                )
            ),
            [
                "Warning Warning: parent edge: spec.x: ?",
                "Warning UnsupportedValue: parent edge: a rule",
            ],
        ),
    ],
)
async def test_what_a_written_status_says_is_told_of_every_kind(
    subject: ObjectRef, status: Status, told: list[str]
) -> None:
    stage = Stage()
    stage.uids[subject] = "uid-9"
    async with stage.term():
        assert stage.written(subject, status) == told
        assert stage.written(subject, status) == []


async def test_only_what_is_new_is_told_and_the_end_of_the_last_problem() -> None:
    stage = Stage()
    stage.uids[PROXY] = "uid-9"
    async with stage.term():
        assert stage.written(PROXY, of_contour(PROBLEM)) == [FIRST]
        assert stage.written(PROXY, of_contour(PROBLEM, OTHER)) == [SECOND]
        assert stage.written(PROXY, of_contour(OTHER)) == []
        assert stage.written(PROXY, of_contour()) == ["Normal Valid: all problems are solved"]
        assert stage.written(PROXY, of_contour()) == []


async def test_a_leader_that_finds_statuses_as_they_should_be_tells_nothing() -> None:
    stage = Stage()
    proxies = [ObjectRef("HTTPProxy", "default", f"web-{it}") for it in range(10_000)]
    stage.uids |= dict.fromkeys(proxies, "uid")
    async with stage.term():
        for it in proxies:
            stage.board.put(it, of_contour(PROBLEM))
            stage.announcements.notice([it])
            stage.announcements.written(it, "unchanged")
        assert stage.told == []
        # But it knows them: what is solved is told.
        solved = stage.written(proxies[0], of_contour())
    assert solved == ["Normal Valid: all problems are solved"]


async def test_of_many_problems_the_first_are_told_and_how_many_there_are() -> None:
    stage = Stage()
    stage.uids[PROXY] = "uid-9"
    many = tuple(SubCondition("RouteError", "Bad", f"route {it}") for it in range(100))
    async with stage.term():
        told = stage.written(PROXY, of_contour(*many))
    assert len(told) == announcements.MOST_AT_ONCE
    assert told[0] == "Warning Bad: route 0"
    assert told[-1] == "Warning Bad: route 4; and 95 more; see the status"


async def test_a_status_that_is_written_before_envoys_have_been_heard_is_told() -> None:
    """Statuses that depend on no Envoy are written first."""
    stage = Stage()
    stage.uids[PROXY] = "uid-9"
    assert stage.written(PROXY, of_contour(PROBLEM)) == [FIRST]
    async with stage.term():
        assert stage.written(PROXY, of_contour()) == ["Normal Valid: all problems are solved"]
