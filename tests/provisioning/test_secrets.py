"""Certificates as Secrets: written once, taken over, and whole after every failure in between."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509

from kube import errors
from kube.client import Client
from provisioning import certificates, pem, rotation, secrets
from provisioning.rotation import Holdings
from tests.cluster.double.faults import Rule
from tests.cluster.double.resources import Name
from tests.cluster.double.server import Double
from tests.kube.unguarded import Unguarded

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
WANT = rotation.wanted()
NAMES = secrets.Names()
SECRETS = Name("", "secrets")


@dataclass
class Rig:
    """An API server and who asks it."""

    double: Double
    client: Client

    async def renew(self, after: timedelta = timedelta(), anew: bool = False) -> set[str]:
        """The names of the Secrets that were written."""
        return set(await secrets.renew(self.client, NAMES, WANT, NOW + after, anew))

    def held(self) -> Holdings:
        """What is in the Secrets."""
        return secrets.holdings(self.found(), WANT.subjects, NAMES)

    def found(self) -> Mapping[str, dict[str, Any]]:
        """The Secrets, by name."""
        return {
            place[1]: found
            for place, found in self.double.store.all(SECRETS)
            if place[0] == NAMES.namespace
        }


@asynccontextmanager
async def rig() -> AsyncIterator[Rig]:
    async with Double() as double, Client(Unguarded(double.url)) as client:
        double.add_namespace(NAMES.namespace)
        yield Rig(double, client)


async def test_what_is_not_due_is_not_written() -> None:
    async with rig() as it:
        every = {"contour-authority", "contourcert", "envoycert"}
        assert await it.renew() == every
        assert await it.renew() == await it.renew(DAY) == set()
        assert await it.renew(61 * DAY) == {"contourcert", "envoycert"}
        assert await it.renew(61 * DAY, anew=True) == every


async def test_what_others_have_put_into_a_secret_stays() -> None:
    async with rig() as it:
        await it.renew()
        path = secrets.SECRETS.path(NAMES.namespace, "envoycert")
        theirs = {"metadata": {"annotations": {"a": "b"}}, "data": {"notes": "aGk="}}
        await it.client.patch(path, theirs)
        assert await it.renew(DAY) == set()
        await it.renew(61 * DAY)
        found = it.found()["envoycert"]
        assert found["metadata"]["annotations"] == {"a": "b"}
        assert found["data"]["notes"] == "aGk="


async def test_the_key_of_the_authority_is_in_no_secret_that_a_pod_mounts() -> None:
    async with rig() as it:
        await it.renew()
        found = it.found()
        assert found["contour-authority"]["type"] == secrets.AUTHORITY_TYPE
        key = found["contour-authority"]["data"]["ca.key"]
        for name in ("contourcert", "envoycert"):
            assert set(found[name]["data"]) == {"ca.crt", "tls.crt", "tls.key"}
            assert key not in found[name]["data"].values()


@pytest.mark.parametrize("days", [0, 61, 250])
@pytest.mark.parametrize("failing", [0, 1, 2])
async def test_a_renewal_that_broke_off_is_gone_on_with(days: int, failing: int) -> None:
    """Whichever write failed, and however late the next attempt is: both ends trust each other."""
    async with rig() as it:
        if days:
            await it.renew()
        writes = iter(range(9))
        it.double.script.add(
            Rule(
                resource="secrets",
                status=500,
                when=lambda asked: asked.verb != "get" and next(writes) == failing,
            )
        )
        done = 0
        try:
            await it.renew(days * DAY)
            done = 1
        except errors.Refused:
            pass
        assert done or failing < 3
        assert _bundle(it, "contourcert") <= _bundle(it, "envoycert")  # leaders go by the first
        it.double.script.heal()
        for hours in (30, 54, 78, 102):
            before = it.held()
            await it.renew(days * DAY + timedelta(hours=hours))
            for pod in (before, it.held()):
                for peer in (before, it.held()):
                    _require_trust(pod, peer, is_whole=set(before.leaves) == set(WANT.subjects))
        assert len(it.held().authorities) == 1
        assert await it.renew(days * DAY + timedelta(hours=120)) == set()


async def test_the_secrets_that_contour_made_are_taken_over() -> None:
    """Its certgen throws the key of the authority away."""
    async with rig() as it:
        await it.renew()
        path = secrets.SECRETS.path(NAMES.namespace, NAMES.authority)
        await it.client.delete(path)
        before = it.held()
        await it.renew()
        assert _shown(it.held()) == _shown(before)
        assert _trusted(before) < _trusted(it.held())
        await it.renew(DAY)
        assert not _shown(it.held()) & _shown(before)
        await it.renew(2 * DAY)
        assert not _trusted(it.held()) & _trusted(before)


async def test_of_two_at_once_one_is_refused_and_the_other_is_whole() -> None:
    async with rig() as it:
        await it.renew()
        changed = False

        def somebody_else(_: object) -> bool:
            nonlocal changed
            if not changed:
                changed = True
                found = dict(it.found()["envoycert"])
                it.double.store.put(SECRETS, found)
            return False

        it.double.script.add(Rule(verb="update", resource="secrets", when=somebody_else))
        with pytest.raises(errors.Refused, match="409"):
            await it.renew(61 * DAY)
        assert await it.renew(61 * DAY) == {"contourcert", "envoycert"}


async def test_garbage_in_a_secret_is_replaced() -> None:
    async with rig() as it:
        await it.renew()
        path = secrets.SECRETS.path(NAMES.namespace, "envoycert")
        await it.client.patch(path, {"data": {"tls.crt": "Z2FyYmFnZQ=="}})
        assert await it.renew() == {"envoycert"}
        assert set(it.held().leaves) == {"contour", "envoy"}


async def test_without_rights_it_says_so() -> None:
    async with rig() as it:
        it.double.script.forbid("secrets")
        with pytest.raises(errors.Refused, match="403"):
            await it.renew()


def _require_trust(pod: Holdings, peer: Holdings, is_whole: bool) -> None:
    if is_whole:
        for leaf in peer.leaves.values():
            assert any(
                certificates.is_issued_by(leaf.certificate, it.certificate)
                for it in pod.authorities
            )


def _bundle(of: Rig, name: str) -> set[x509.Certificate]:
    _, bundle = secrets.leaf(of.found().get(name, {}))
    return {it.certificate for it in pem.authorities(bundle)}


def _shown(held: Holdings) -> set[x509.Certificate]:
    return {it.certificate for it in held.leaves.values()}


def _trusted(held: Holdings) -> set[x509.Certificate]:
    return {it.certificate for it in held.authorities}
