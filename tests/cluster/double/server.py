"""The double itself: an HTTP server over a store, with a script of faults in front of it.

After `async with server.Double() as double:` it listens on a loopback port; `stop` and `start`
restart it on the same port with the store that it has then. It refuses a bad request with a Status,
as the API server does.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
from aiohttp import web

from tests.cluster.double import answers, resources, writes
from tests.cluster.double.faults import Request, Script
from tests.cluster.double.refusals import RefusalError
from tests.cluster.double.resources import Resource
from tests.cluster.double.store import Store
from tests.cluster.double.watches import Watch
from tests.testbed import webservers
from tests.testbed.commands import write_kubeconfig
from tests.testbed.ports import free_port

Raw = dict[str, Any]

_LAST_ANSWERS = 0.01  # seconds that requests have when it is stopped; 0 has no limit for aiohttp
_FIRST_VERSION = 100  # versions before it cannot be requested, as on a real API server


class Double:
    """An API server whose faults are scripted."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or Store(_FIRST_VERSION, _FIRST_VERSION)
        self.script = Script()
        self.requests: list[Request] = []
        self.tokens: set[str] = set()
        """The valid bearer tokens; if empty, no token is needed."""
        self.watches: list[Watch] = []
        """The open watches."""
        self._port = free_port()
        self._runner: web.AppRunner | None = None
        self._news = asyncio.Event()
        if store is None:
            for name in ("default", "kube-system"):
                self.add_namespace(name)

    @property
    def url(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listens, on the port that it had before."""
        app = web.Application(client_max_size=16 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", answers.Answers(self).answer)
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=_LAST_ANSWERS, handler_cancellation=True
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()

    async def stop(self) -> None:
        """Cuts every connection and stops listening. The store stays."""
        for watch in self.watches:
            watch.abort()
        if self._runner:
            await webservers.end(self._runner)
            self._runner = None

    def kubeconfig(self, path: Path, token: str = "", namespace: str = "default") -> Path:
        """Writes a kubeconfig for it."""
        return write_kubeconfig(path, self.url, token, namespace)

    @property
    def served(self) -> list[Resource]:
        """The resources that exist now."""
        brought = (resources.brought_by(crd) for _, crd in self.store.all(resources.CRDS))
        return [*resources.BUILT_IN, *brought]

    def put(self, obj: Raw) -> Raw:
        """Adds or replaces an object without any checks, as if it came from a backup."""
        resource = self._resource(obj)
        copy: Raw = orjson.loads(orjson.dumps(obj))
        if resource.namespaced:
            copy["metadata"].setdefault("namespace", "default")
        known = self.store.get(resource.name, _place(copy))
        given = {"creationTimestamp": writes.now()} | (known or {}).get("metadata", {})
        for name in ("uid", "creationTimestamp", "generation"):
            if name in given:
                copy["metadata"].setdefault(name, given[name])
        copy["metadata"].setdefault("uid", f"uid-{self.store.version}")
        return self.store.put(resource.name, copy)

    def remove(self, obj: Raw) -> Raw:
        """Removes an object, whatever its finalizers."""
        resource = self._resource(obj)
        namespace = obj["metadata"].get("namespace", "default" if resource.namespaced else "")
        gone = self.store.remove(resource.name, (namespace, obj["metadata"]["name"]))
        self.forget(gone)
        return gone

    def add_namespace(self, name: str) -> str:
        """Adds a namespace; returns its name."""
        self.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return name

    def define(self, added: Iterable[Resource]) -> None:
        """Installs CRDs, without schemas, for these resources."""
        for resource in added:
            self.put(resources.definition(resource))

    def established(self, obj: Raw) -> Raw:
        """Sets the status of a CRD that is served from now on; any other object stays as it is."""
        if obj.get("kind") != "CustomResourceDefinition":
            return obj
        return self.store.put(resources.CRDS, obj | {"status": resources.ESTABLISHED})

    def forget(self, gone: Raw) -> None:
        """If a CRD was deleted, deletes its objects and ends their watches."""
        if gone.get("kind") != "CustomResourceDefinition":
            return
        name = resources.brought_by(gone).name
        for place, _ in self.store.all(name):
            self.store.remove(name, place)
        for watch in self.watches:
            if watch.wish.name == name:
                watch.end()

    def open_watches(self, plural: str) -> list[Watch]:
        """The open watches of one resource."""
        return [it for it in self.watches if it.wish.name.plural == plural]

    async def watching(self, plural: str, count: int = 1) -> list[Watch]:
        """Waits until `count` watches of a resource are open; returns them."""
        while len(found := self.open_watches(plural)) < count:
            await self.news()
        return found

    def count(self, verb: str, plural: str = "") -> int:
        """How many requests with this verb, and for this resource if one is given, there have
        been."""
        return Counter((it.verb, it.resource if plural else "") for it in self.requests)[
            verb, plural
        ]

    async def asked(self, verb: str, plural: str, count: int = 1) -> None:
        """Waits until there have been `count` such requests."""
        while self.count(verb, plural) < count:
            await self.news()

    async def news(self) -> None:
        """Waits for the next request, or a watch that opens or ends."""
        await self._news.wait()

    def tell(self) -> None:
        """Wakes all who wait for `news`."""
        self._news.set()
        self._news = asyncio.Event()

    def _resource(self, obj: Raw) -> Resource:
        group, _, _ = obj["apiVersion"].rpartition("/")
        for resource in self.served:
            if (resource.group, resource.kind) == (group, obj["kind"]):
                return resource
        raise RefusalError(404, f"no resource for {obj['apiVersion']} {obj['kind']}")


def _place(obj: Raw) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
