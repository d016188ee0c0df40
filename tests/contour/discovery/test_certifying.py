"""Which EnvoyConfigs are remembered as those whose certificate was looked at."""

import asyncio
from typing import Any

import pytest

from contour.discovery import certifying
from contour.discovery.certifying import NodeCertificates
from contour.infrastructure.desired import Release
from crds.meta import NamespacedName
from provisioning.keeping.ownership import Owner
from tests.contour.discovery.test_following import read
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
