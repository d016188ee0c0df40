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
    found = _variants("shared/hosts", "httpproxy", "ingress")
    async with stage(tmp_path_factory.mktemp("hosts"), behind, found) as running:
        yield running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def edge(
    behind: peers.Peers, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """Routes of the Gateway API, all on one Gateway."""
    found = _variants("shared/gateway", "gateway")
    async with stage(tmp_path_factory.mktemp("edge"), behind, found) as running:
        yield running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def tasks(
    behind: peers.Peers, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """What the task pages of Envoy Gateway apply, all on one instance."""
    found = _variants("shared/tasks", "tasks")
    async with stage(tmp_path_factory.mktemp("tasks"), behind, found) as running:
        await running.until_counted(found)
        yield running


def _variants(shared: str, *folders: str) -> list[rows.Variant]:
    found = [it for it in rows.rows("shared") if it.file == shared]
    found += [it for folder in folders for it in rows.rows(folder)]
    return [variant for row in found for variant in row.variants]
