"""A reflector at work on an API server, and what it has told so far."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from kube import versioncache
from kube.client import Client, Raw
from kube.credentials import Credentials
from kube.discovery import Discovery, Wanted
from kube.reflector import Collection, Reflector, Timings
from tests.cluster.double.server import Double
from tests.testbed.patience import PATIENCE

FAST = Timings(
    first_pause=0.005, longest_pause=0.02, idle=5.0, calm=60.0, absent=0.01, denied=0.02, grace=0.05
)
SERVICES = Wanted("", ("v1",), "services")


class At:
    """An API server at an address, for whoever has one of the tokens, the first one first."""

    def __init__(self, url: str, *tokens: str) -> None:
        self._all = [Credentials(url, f"Bearer {it}" if it else "") for it in tokens or ("",)]

    async def credentials(self, refused: Credentials | None = None) -> Credentials:
        if refused is self._all[0] and len(self._all) > 1:
            del self._all[0]
        return self._all[0]


class Followed:
    """An intake that keeps what it is told."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Raw] = {}
        self.news: list[versioncache.Delta] = []
        self.troubles: list[str] = []
        self.reflector: Reflector
        self.client: Client
        self._arrived = asyncio.Event()

    def on_deltas(self, news: Sequence[versioncache.Delta]) -> None:
        self.news += news
        for key, found in news:
            if found is None:
                del self.objects[key]  # what was never told must not be gone
            else:
                self.objects[key] = found
        self._arrived.set()

    def on_error(self, message: str) -> None:
        self.troubles.append(message)
        self._arrived.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Waits for something that is told."""
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                self._arrived.clear()
                await self._arrived.wait()

    @property
    def names(self) -> set[str]:
        return {name for _, name in self.objects}

    @property
    def state(self) -> str:
        return self.reflector.state.phase


@asynccontextmanager
async def following(
    double: Double,
    wanted: Wanted = SERVICES,
    timings: Timings = FAST,
    tokens: Sequence[str] = ("",),
    namespace: str = "",
) -> AsyncIterator[Followed]:
    """Follows a collection from its first list on; what is in it has been told already."""
    followed = Followed()
    async with Client(At(double.url, *tokens)) as client, asyncio.TaskGroup() as tasks:
        collection = Collection(wanted, namespace)
        reflector = Reflector(client, Discovery(client, 0.0), collection, followed, timings)
        followed.reflector, followed.client = reflector, client
        task = tasks.create_task(reflector.run())
        async with asyncio.timeout(PATIENCE):
            await reflector.settled.wait()
        yield followed
        task.cancel()


def service(name: str, port: int = 80, namespace: str = "default") -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"ports": [{"port": port}]},
    }
