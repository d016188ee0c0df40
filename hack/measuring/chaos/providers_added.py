"""Token providers are added while the JWKS server of another tenant is down.

Envoy itself must not fetch keys, because each change of its JWT filter would drop them, and a valid
token would be answered with 401 until they were fetched again. So a batch of requests with a valid
token follows each provider, over connections that stay open, and each has to get 200. A connection
that ends is a failure, too, because a drained listener would end it.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from hack.measuring.bench.request_cost import answering
from hack.measuring.rush import Rush
from tests.e2e import providers
from tests.testbed.figures import Figure
from tests.testbed.measuring import Options, measures

NAME = "providers-added"
BATCH = 500


@measures(NAME)
def providers_added(options: Options) -> Iterator[Figure]:
    """100 providers, and 500 requests after each."""
    added = options.times(100, 10)
    moved = asyncio.run(_run(added, options.random(NAME)))
    yield Figure("providers added, each with a host that takes its tokens", added, "")
    # Any other answer, or the end of a connection, ends the run.
    yield Figure("requests with a valid token, all answered with 200", added * BATCH, "")
    yield Figure("listeners changed, and connections that were drained", moved, "", 0)


async def _run(added: int, chance: Random) -> int:
    async with answering() as backend:
        with tempfile.TemporaryDirectory(prefix="providers-") as path:
            return _added(Path(path), added, backend, chance)


def _added(folder: Path, added: int, backend: int, chance: Random) -> int:
    """The increase of Envoy's counters of changed listeners and drained connections."""
    with providers.serving(folder, added, str(backend)) as it:
        before = providers.listeners(it)
        rush = Rush(it.ports["http"], providers.HOSTS, chance, providers.bearer())
        for number in range(added):
            providers.add(it, number)
            rush.send(BATCH)
        rush.close()
        for number in range(added):
            providers.until_served(it, number)
        after = providers.listeners(it)
    return sum(abs(after[it] - before[it]) for it in before)
