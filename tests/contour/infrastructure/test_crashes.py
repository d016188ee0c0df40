"""Killed after each write: the next leader goes on, and at the end nothing is missing or left."""

import base64
from collections.abc import Sequence
from dataclasses import replace

import pytest

from contour.infrastructure.desired import Key
from contour.infrastructure.keeping import FleetReconciler, Wanted
from crds import workloads
from dag.fleets import FleetProblem
from provisioning import certificates, identities, pem
from tests.cluster.cluster import Cluster
from tests.contour.infrastructure import crash_harness
from tests.contour.infrastructure.crash_harness import Rig, authority, kept, removed, until_gone
from tests.contour.infrastructure.rig import AS_A_DEPLOYMENT, PORTS, SHARED, of

pytestmark = pytest.mark.cluster


@pytest.fixture
def rig(cluster: Cluster, namespace: str) -> Rig:
    return crash_harness.installed(cluster, namespace)


@pytest.mark.parametrize("is_shared", [True, False])
async def test_one_that_dies_after_each_write_makes_and_changes_and_removes_a_fleet(
    rig: Rig, is_shared: bool
) -> None:
    first = of(SHARED, type="Deployment", replicas=0) if is_shared else rig.own
    whole = AS_A_DEPLOYMENT | (set() if is_shared else {"Secret"})
    assert await rig.lives(first, kept(first)) == len(whole)
    assert set(rig.made(first)) == whole
    # The workload, the Service and the NetworkPolicy are others; the old ones go.
    second = replace(first, ports=PORTS[:1], workload=workloads.Workload())
    assert await rig.lives(second, kept(second)) == 5
    assert set(rig.made(first)) == whole - {"Deployment", "PodDisruptionBudget"} | {"DaemonSet"}
    assert await rig.lives(second, removed) == 4
    await until_gone(rig, second)


async def test_the_certificate_is_of_the_instance_and_names_the_gateway_alone(rig: Rig) -> None:
    await rig.live(rig.own, kept(rig.own))
    data = rig.made(rig.own)["Secret"]["data"]
    leaf = pem.leaf(*(base64.b64decode(data[it]) for it in ("tls.crt", "tls.key")))
    (trusted,) = pem.authorities(base64.b64decode(data["ca.crt"]))
    assert leaf is not None
    assert certificates.is_issued_by(leaf.certificate, trusted.certificate)
    names = identities.gateway_fleet("gw", rig.gateway.namespace)
    assert certificates.names(leaf.certificate) == set(names)
    assert identities.CONTROL_PLANE not in names


async def test_a_certificate_that_was_spoiled_or_is_of_another_authority_is_made_anew(
    rig: Rig,
) -> None:
    await rig.live(rig.own, kept(rig.own))
    secret = rig.made(rig.own)["Secret"]
    spoiled = secret | {"data": secret["data"] | {"tls.key": ""}}
    rig.cluster.ask("PUT", rig.cluster.path(secret), spoiled)
    assert await rig.live(rig.own, kept(rig.own)) == 1
    assert rig.made(rig.own)["Secret"]["data"]["tls.key"]
    other = authority(rig.gateway.namespace)
    rig.cluster.ask("PUT", rig.cluster.path(other), other)
    assert await rig.live(rig.own, kept(rig.own)) == 1
    data = rig.made(rig.own)["Secret"]["data"]
    assert data["ca.crt"] == other["data"]["ca.crt"]
    assert data["tls.crt"] != secret["data"]["tls.crt"]


async def test_without_an_authority_it_is_told_what_is_missing(rig: Rig) -> None:
    rig.cluster.delete(authority(rig.gateway.namespace))
    told: list[FleetProblem] = []

    async def once(reconciler: FleetReconciler, key: Key) -> Sequence[FleetProblem]:
        told.extend(await reconciler.keep(key, Wanted("it", rig.own)))
        return ()

    await rig.live(rig.own, once)
    (missing,) = told
    assert missing.message.startswith("no Secret contour-authority with an authority")
