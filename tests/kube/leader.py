"""A program that writes whenever it leads, for tests that stop and resume it.

python -m tests.kube.leader URL IDENTITY
"""

import asyncio
import sys

from kube import election, lease
from kube.client import Client
from kube.resources import Resource
from tests.kube.unguarded import Unguarded

PLACE = election.Place("default", "leader")
TIMING = lease.Timing(duration=1.0, renew_deadline=0.6, retry_period=0.1)
RECORDS = Resource("", "v1", "configmaps")


async def main(url: str, identity: str) -> None:
    """Adds a record, named by who wrote it, again and again while it leads."""
    async with Client(Unguarded(url), user_agent=identity) as client:
        elector = election.Elector(client, PLACE, identity, TIMING)

        async def work() -> None:
            while elector.is_leader():
                metadata = {"generateName": f"{identity}-"}
                await client.create(RECORDS.path("default"), {"metadata": metadata})
                await asyncio.sleep(0.02)

        await elector.run(work)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
