"""Fleets of Gateways that were handed over keep a certificate that is valid. On the real API
server."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contour.infrastructure import desired
from contour.infrastructure.handedover import HandedOver
from dag.fleets import Fleet, FleetProblem
from kube import kubeconfig
from kube.client import Client
from provisioning import certificates, identities, secrets
from provisioning.certificates import Subject
from tests.cluster.cluster import Cluster
from tests.contour.infrastructure import crash_harness
from tests.contour.infrastructure.crash_harness import Rig, kept
from tests.testbed.apiserver import MEDIA
from tests.testbed.patience import PATIENCE

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]


@dataclass
class Instance:
    """What the leader is told, and what it tells."""

    wanted: Mapping[str, Fleet]
    told: dict[str, Sequence[FleetProblem]] = field(default_factory=dict)
    asked: int = 0

    def fleets(self) -> Mapping[str, Fleet]:
        self.asked += 1
        return self.wanted

    def tell(self, fleet: str, found: Sequence[FleetProblem]) -> None:
        self.told[fleet] = found


@pytest.fixture
def rig(cluster: Cluster, namespace: str) -> Rig:
    return crash_harness.installed(cluster, namespace)


async def test_its_certificate_is_renewed_and_all_else_stays_as_it_is(rig: Rig) -> None:
    await rig.live(rig.own, kept(rig.own))
    old = _grow_old(rig)
    before = _wanted(rig.made(rig.own))
    instance = await _term(rig, replace(rig.own, is_managed=False))
    assert instance.told == {"it": []}
    after = rig.made(rig.own)
    leaf, _ = secrets.leaf(after.pop("Secret"))
    assert leaf is not None
    assert leaf.certificate.not_valid_after_utc > old + timedelta(days=80)
    assert _wanted(after) == {kind: it for kind, it in before.items() if kind != "Secret"}


def _wanted(made: dict[str, Raw]) -> dict[str, tuple[str, Raw, Raw | None]]:
    """What was asked for, without the status, which Kubernetes may write meanwhile."""
    parts = {kind: (it["metadata"], it.get("spec")) for kind, it in made.items()}
    return {kind: (of["uid"], of["labels"], spec) for kind, (of, spec) in parts.items()}


async def test_what_it_is_that_keeps_it_from_being_renewed_is_told(rig: Rig) -> None:
    await rig.live(rig.own, kept(rig.own))
    _grow_old(rig)
    rig.cluster.delete(crash_harness.authority(rig.release.owner.namespace))
    instance = await _term(rig, replace(rig.own, is_managed=False))
    (problem,) = instance.told["it"]
    assert problem.message.startswith("no Secret contour-authority")


@pytest.mark.parametrize("is_removed", [False, True])
async def test_a_certificate_that_its_users_have_taken_over_is_left_to_them(
    rig: Rig, is_removed: bool
) -> None:
    await rig.live(rig.own, kept(rig.own))
    _grow_old(rig)
    secret = rig.made(rig.own)["Secret"]
    if is_removed:
        rig.cluster.delete(secret)
    else:
        unlabelled = {"metadata": {"labels": None}}
        rig.cluster.ask("PATCH", rig.cluster.path(secret), unlabelled, MEDIA["merge"])
    before = rig.made(rig.own).get("Secret")
    instance = await _term(rig, replace(rig.own, is_managed=False))
    assert instance.told == {"it": []}
    assert rig.made(rig.own).get("Secret") == before


async def test_nothing_is_made_where_there_is_no_fleet_or_it_is_kept(rig: Rig) -> None:
    await _term(rig, replace(rig.own, is_managed=False))
    assert rig.made(rig.own) == {}
    instance = await _term(rig, rig.own, is_told=False)
    assert instance.told == {}


async def test_a_replica_that_does_not_lead_looks_for_no_fleets(rig: Rig) -> None:
    instance = Instance({"it": replace(rig.own, is_managed=False)})
    async with Client(kubeconfig.Kubeconfig(rig.config)) as client:
        handed_over = HandedOver(client, rig.release, instance)
        for _ in range(2):
            asked = instance.asked
            handed_over.notice()
            assert instance.asked == asked
            await _lead(handed_over, instance)


def _grow_old(rig: Rig) -> datetime:
    """When the certificate of the fleet has ended: one that is due is kept while the authority is
    as new as here."""
    home = rig.release.owner.namespace
    path = secrets.SECRETS.path(home, "contour-authority")
    authorities = secrets.joining(rig.cluster.ask("GET", path))
    subject = Subject(identities.gateway_fleet(*reversed(rig.gateway)), ("client",))
    past = datetime.now(UTC) - timedelta(days=90)
    leaf = certificates.leaf(authorities[0], subject, timedelta(days=90), past)
    path = secrets.SECRETS.path(*desired.called(rig.release, rig.own))
    change = {"data": secrets.of_leaf(leaf, authorities)}
    rig.cluster.ask("PATCH", path, change, MEDIA["merge"])
    return leaf.certificate.not_valid_after_utc


async def _term(rig: Rig, fleet: Fleet, *, is_told: bool = True) -> Instance:
    """A leader, until it has told of the fleet, or has had the time to."""
    instance = Instance({"it": fleet})
    async with Client(kubeconfig.Kubeconfig(rig.config)) as client:
        await _lead(HandedOver(client, rig.release, instance), instance, is_told=is_told)
    return instance


async def _lead(handed_over: HandedOver, instance: Instance, *, is_told: bool = True) -> None:
    running = asyncio.ensure_future(handed_over.run())
    try:
        async with asyncio.timeout(PATIENCE if is_told else 0.2):
            while not instance.told:
                await asyncio.sleep(0.02)
    except TimeoutError:
        assert not is_told
    finally:
        running.cancel()
        await asyncio.wait([running])
