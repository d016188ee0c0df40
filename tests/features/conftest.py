"""The peers of a run, and an instance for every folder of rows."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.features import peers, rows
from tests.features.stage import Stage, stage


@pytest_asyncio.fixture(scope="session", loop_scope="session", name="behind")
async def _behind() -> AsyncIterator[peers.Peers]:
    async with peers.serving() as found:
        yield found


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def hosts(
    behind: peers.Peers, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """HTTPProxies and Ingresses, all on one instance."""
    found = (it for folder in ("shared", "httpproxy", "ingress") for it in rows.rows(folder))
    variants = [variant for row in found for variant in row.variants]
    async with stage(tmp_path_factory.mktemp("hosts"), behind, variants) as running:
        yield running
