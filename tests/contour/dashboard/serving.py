"""An instance of the product in this process with its dashboard on a port of this machine."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import urlencode

import aiohttp

from contour.dashboard import listening
from contour.instance import Instance
from contour.xds.server import Server
from tests.testbed import world
from tests.testbed.world import Document, World


@dataclass(frozen=True, slots=True)
class Dashboard:
    """The instance, and its dashboard as a browser sees it."""

    instance: Instance
    url: str
    session: aiohttp.ClientSession

    def take(self, *documents: Document, gone: tuple[Document, ...] = ()) -> None:
        """Changes the instance's objects."""
        self.instance.take(world.batch(*documents, gone=gone))

    async def get(self, page: str = "", /, **parameters: str) -> str:
        """The text of a page that is there."""
        status, text = await self.answer(page, **parameters)
        assert status == 200, text
        return text

    async def answer(self, page: str = "", /, **parameters: str) -> tuple[int, str]:
        """The status and the text of a page."""
        async with self.session.get(f"{self.url}{page}?{urlencode(parameters)}") as found:
            return found.status, await found.text()


@contextlib.asynccontextmanager
async def served(*documents: Document) -> AsyncIterator[Dashboard]:
    """A dashboard of these objects."""
    instance = Instance(Server(()), gives_hints=True)
    instance.take(world.batch(*documents))
    async with (
        listening.served(instance, None) as url,
        aiohttp.ClientSession() as session,
    ):
        yield Dashboard(instance, url, session)


def shop() -> list[Document]:
    """Two hosts: each an HTTPProxy that includes another one, and one Service with an endpoint."""
    return list(World(hosts=2, services=10).documents())


def proxy(name: str, host: str, service: str, path: str = "/") -> Document:
    """An HTTPProxy with one route."""
    route = {"conditions": [{"prefix": path}], "services": [{"name": service, "port": 80}]}
    return {
        "apiVersion": "projectcontour.io/v1",
        "kind": "HTTPProxy",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"virtualhost": {"fqdn": host}, "routes": [route]},
    }
