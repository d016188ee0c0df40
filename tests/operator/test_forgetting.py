"""What an operator forgets that leads for months, and how soon it tries again."""

import asyncio
from typing import Any

import pytest

from contour_operator import desired, following
from contour_operator.reconciling import PATIENCE, Reconciler
from contour_operator.run import Operator, Options, _Term
from kube import election
from kube.client import Client
from observability.signals import StopSignals
from provisioning.keeping.ownership import Owner
from tests.cluster.double.server import Double
from tests.kube.followed import At
from tests.testbed import virtualtime

OWNER = Owner("default", "contour")


async def test_a_configuration_whose_end_kopf_did_not_tell_is_forgotten() -> None:
    """kopf lists again after an outage, and does not tell what has gone meanwhile."""
    async with Double() as double, Client(At(double.url)) as client:
        options = Options(At(double.url), election.Place("default", "lease"), desired.Release())
        elector = election.Elector(client, options.lease)
        term = _Term(Operator(client, options, elector, StopSignals()), client, options)
        term._noticed(OWNER, False)
        assert term.counts().configurations == 1
        assert await term._reconcile(OWNER) is False
        assert term.counts().configurations == 0


def test_one_that_was_watched_for_long_is_watched_again_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began: list[float] = []

    async def followed(*_: Any) -> None:
        began.append(asyncio.get_running_loop().time())
        await asyncio.sleep(3600 if len(began) > 8 else 0)
        raise OSError("planted")

    monkeypatch.setattr(following, "_followed", followed)
    nothing: Any = None

    async def four_hours() -> None:
        task = asyncio.ensure_future(following.follow(nothing, nothing, nothing, nothing))
        await asyncio.sleep(4 * 3600)
        task.cancel()
        await asyncio.wait((task,))

    virtualtime.run(four_hours())
    assert began[8] - began[7] > 3
    assert began[10] - began[9] < 3602


def test_a_clock_that_is_set_does_not_change_how_long_a_deletion_waits() -> None:
    nothing: Any = None
    reconciler = Reconciler(nothing, nothing, desired.Release(), nothing, nothing)

    async def is_left_behind_after(seconds: float) -> bool:
        reconciler._has_been_patient(OWNER)
        await asyncio.sleep(seconds)
        return reconciler._has_been_patient(OWNER)

    assert not virtualtime.run(is_left_behind_after(PATIENCE - 1))
    reconciler._memory.forget(OWNER)
    assert virtualtime.run(is_left_behind_after(PATIENCE + 1))
