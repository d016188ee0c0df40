"""The Secrets with the certificates of Envoys: to which EnvoyConfig each belongs, and which
EnvoyConfigs are remembered as those whose certificate was looked at."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contour.discovery import certifying
from contour.discovery.certifying import NodeCertificates
from contour.discovery.writing import Revisions
from contour.infrastructure.desired import Release
from crds import records
from crds.envoyconfig import EnvoyConfig
from crds.meta import NamespacedName
from dag.rawconfig.revisions import choice
from kube.client import Client
from provisioning import rotation, secrets
from provisioning.keeping.ownership import Owner
from provisioning.rotation import Holdings
from tests.cluster.double.server import Double
from tests.contour.discovery.test_following import read, replica
from tests.contour.discovery.world import KEY, config
from tests.kube.unguarded import Unguarded
from tests.testbed import virtualtime


def test_envoyconfigs_that_come_and_go_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    async def renewed(*_: Any) -> None:
        await asyncio.sleep(0)

    monkeypatch.setattr(NodeCertificates, "_renew", renewed)
    monkeypatch.setattr(certifying, "_MOST", 10, raising=False)
    client: Any = None
    made = NodeCertificates(client, Release(Owner("home", "contour")))

    async def hours() -> None:
        for number in range(200):
            await made.renew(NamespacedName("default", f"edge-{number}"), read("good"))
            await asyncio.sleep(100)

    virtualtime.run(hours())
    assert len(made._looked) <= 20


async def test_a_secret_belongs_to_the_envoyconfig_that_has_the_node_id_now() -> None:
    """The API server deletes it with the one that had the node ID before."""
    names, config = secrets.Names("home"), read("good")
    key, want = config.metadata.key, rotation.wanted(namespace=names.namespace)
    authority, *_ = secrets.documents(rotation.renewed(Holdings(), want, datetime.now(UTC)), names)
    where = secrets.SECRETS.path(*certifying.secret(key, config.spec.node_id))
    async with Double() as double, Client(Unguarded(double.url)) as client:
        double.add_namespace(names.namespace)
        await client.create(secrets.SECRETS.path(names.namespace), authority)
        made = NodeCertificates(client, Release(Owner("home", "contour")))
        certificates = set[str]()
        for uid in ("uid-1", "uid-2"):
            metadata = records.replace(config.metadata, uid=uid)
            await made.renew(key, records.replace(config, metadata=metadata))
            found = await client.get(where)
            assert [it["uid"] for it in found["metadata"]["ownerReferences"]] == [uid]
            certificates.add(found["data"]["tls.crt"])
        assert len(certificates) == 1


async def test_only_the_envoyconfig_that_has_the_node_id_gets_a_certificate(tmp_path: Path) -> None:
    looked: list[NamespacedName] = []

    async def look(key: NamespacedName, _: EnvoyConfig) -> None:
        looked.append(key)

    younger = config("two")
    second, created = KEY._replace(name="younger"), "2026-01-02T00:00:00Z"
    younger["metadata"] = {**second._asdict(), "uid": "uid-2", "creationTimestamp": created}
    async with replica(tmp_path) as it:
        following, engine = it.following, it.instance.controller.engine
        writing = Revisions(following.client, following, it.instance.controller, look)
        await it.write("one")
        it.double.put(younger)
        await it.until(lambda: second in following.owners())
        for key in (KEY, second):
            await writing._reconcile(key)
        assert looked == [KEY]
        it.double.remove(config("one"))
        await it.until(lambda: engine.answer(choice, second))
        await writing._reconcile(second)
        assert looked == [KEY, second]
