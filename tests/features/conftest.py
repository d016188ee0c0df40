"""The peers of a run, and an instance for every folder of rows."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from tests.features import configurations, peers, rows
from tests.features.stage import Stage, stage


@pytest_asyncio.fixture(scope="session", loop_scope="session", name="behind")
async def _behind() -> AsyncIterator[peers.Peers]:
    async with peers.serving() as found:
        yield found


Configured = Callable[[str, int | None], Awaitable[Stage]]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def configured(
    behind: peers.Peers, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Configured]:
    """The instance of a file of configurations, whole or without the n-th fields."""
    async with AsyncExitStack() as stack:
        running: dict[tuple[str, int | None], Stage] = {}

        async def found(file: str, without: int | None) -> Stage:
            if (file, without) not in running:
                shared = [it for it in rows.rows("configuration") if it.file == file]
                merged = configurations.merged(shared, without)
                folder = tmp_path_factory.mktemp("configured")
                variants = [it.variants[0] for it in shared]
                running[file, without] = await stack.enter_async_context(
                    stage(folder, behind, variants, merged=merged)
                )
            return running[file, without]

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


def _variants(shared: str, *folders: str) -> list[rows.Variant]:
    found = [it for it in rows.rows("shared") if it.file == shared]
    found += [it for folder in folders for it in rows.rows(folder)]
    return [variant for row in found for variant in row.variants]
