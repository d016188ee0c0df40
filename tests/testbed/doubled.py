"""Replicas of `contour serve` and their Envoys on the double of an API server, to test faults.

The double is in this process, so that its faults can be scripted; everything else is a process of
its own. Each replica reaches the double through a `TcpProxy`, which can be cut, and with a token of
its own, which identifies its requests.
"""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crds.kinds import IN_CLUSTERS, KINDS
from tests.cluster.double.faults import Request as Asked
from tests.cluster.double.resources import BUILT_IN, Name, Resource
from tests.cluster.double.server import Double
from tests.cluster.proxies import TcpProxy
from tests.testbed import caller, commands, replicas
from tests.testbed.caller import Caller
from tests.testbed.commands import FAST
from tests.testbed.envoys import backends
from tests.testbed.ports import free_ports
from tests.testbed.replicas import Envoy, Replica
from tests.testbed.served import BACKENDS, Front
from tests.testbed.world import Document, World


@dataclass(slots=True, kw_only=True)
class Site(Front):
    """The double, the replicas and Envoys on it, and how to change and request what they serve."""

    folder: Path
    double: Double
    api: Caller
    replicas: list[Replica] = field(default_factory=list)
    proxies: list[TcpProxy] = field(default_factory=list)
    envoys: list[Envoy] = field(default_factory=list)

    @property
    def replica(self) -> Replica:
        """The first one."""
        return self.replicas[0]

    async def write(self, *documents: Document) -> None:
        """Replaces an object or creates it, as a user would."""
        for document in documents:
            known = self.double.store.get(*_identity(document))
            call = caller.merged(document) if known else caller.created(document)
            await self.api.ask(call)

    async def remove(self, *documents: Document) -> None:
        """Deletes an object, as a user would."""
        for document in documents:
            await self.api.ask(caller.deleted(document))

    def slip(self, document: Document) -> None:
        """Replaces an object in the store itself, for while the API server cannot be reached."""
        known = self.double.store.get(*_identity(document)) or {"metadata": {}}
        generation = known["metadata"].get("generation", 0) + 1
        metadata = known["metadata"] | document["metadata"] | {"generation": generation}
        kept = {"status": known["status"]} if "status" in known else {}
        self.double.put(document | {"metadata": metadata} | kept)

    def stored(self, document: Document) -> Document:
        """An object as the API server has it."""
        found = self.double.store.get(*_identity(document))
        assert found is not None, f"no {document['kind']} {document['metadata']['name']}"
        return found

    async def edit(self, number: int) -> float:
        """Edits a route and waits for an answer that shows it; returns the seconds that took."""
        document, request, sign = self.edited(number)
        start = time.monotonic()
        await self.write(document)
        return await self.seen(request, sign) - start

    async def watched(self) -> None:
        """Waits until every replica watches every kind that it reads."""
        for kind in IN_CLUSTERS:
            await self.double.watching(kind.plural, len(self.replicas))

    def asked(self, replica: int, verb: str, plural: str = "") -> list[Asked]:
        """The requests of one of the replicas."""
        token = f"Bearer {_token(replica)}"
        return [
            it
            for it in self.double.requests
            if it.verb == verb
            and plural in {"", it.resource}
            and it.headers.get("Authorization") == token
        ]

    async def told(self, documents: Iterable[Document], seconds: float = 60.0) -> None:
        """Waits until the status of each of these HTTPProxies says that its newest generation is
        valid."""
        async with asyncio.timeout(seconds):
            for document in documents:
                while not is_told(self.stored(document)):
                    await self.double.news()


def is_told(document: Document) -> bool:
    """Whether the status of an HTTPProxy says that its newest generation is valid."""
    condition = caller.status_condition(document, "Valid")
    newest = document["metadata"].get("generation", 1)
    return condition.get("status") == "True" and condition["observedGeneration"] == newest


def stage(
    hosts: int,
    number: int = 1,
    more: Sequence[Document] = (),
    absent: Sequence[str] = (),
) -> Any:
    """A site with a number of hosts and replicas; Envoy is connected to the last replica."""

    @contextlib.asynccontextmanager
    async def staged() -> AsyncIterator[Site]:
        with tempfile.TemporaryDirectory(prefix="faults-") as path:
            address = replicas.own_address()
            async with backends(BACKENDS, address) as ports, Double() as double:
                of = World(hosts, 10, backends=ports, address=address)
                port, https = free_ports(2)
                double.define(it for it in _custom() if it.kind not in absent)
                for document in (*replicas.installation(port, https), *of.documents(), *more):
                    metadata = {"generation": 1} | document["metadata"]
                    double.put(document | {"metadata": metadata})
                async with _running(Path(path), double, of, port, number) as site:
                    yield site

    return staged


@contextlib.asynccontextmanager
async def _running(
    folder: Path, double: Double, of: World, port: int, number: int
) -> AsyncIterator[Site]:
    replicas.make_certificates(folder)
    with caller.calling(double.url) as api:
        site = Site(of=of, ports=[port], folder=folder, double=double, api=api)
        async with contextlib.AsyncExitStack() as stack:
            try:
                for it in range(number):
                    proxy = await stack.enter_async_context(TcpProxy.to(double.url))
                    path = folder / f"kubeconfig-{it}"
                    config = commands.write_kubeconfig(
                        path, proxy.url, _token(it), replicas.NAMESPACE
                    )
                    site.proxies.append(proxy)
                    site.replicas.append(Replica(folder, f"replica-{it}", config, *FAST))
                    await site.replicas[-1].start()
                site.envoys.append(Envoy(folder, "envoy", site.replicas[-1]))
                await site.envoys[0].start()
                yield site
            finally:
                for envoy in site.envoys:
                    await envoy.end()
                for replica in site.replicas:
                    await replica.end()


def _token(replica: int) -> str:
    return f"replica-{replica}"


def _custom() -> Iterable[Resource]:
    """The kinds that CRDs bring."""
    built_in = {it.name for it in BUILT_IN}
    for kind in KINDS.values():
        if Name(kind.group, kind.plural) not in built_in:
            yield resource(kind.kind)


def resource(name: str) -> Resource:
    """A kind, as the double defines it."""
    kind = next(it for it in KINDS.values() if it.kind == name)
    return Resource(
        kind.group, kind.versions, kind.plural, kind.kind, kind.namespaced, kind.has_status,
        custom=True,
    )  # fmt: skip


def _identity(document: Document) -> tuple[Name, tuple[str, str]]:
    kind = next(it for it in KINDS.values() if it.kind == document["kind"])
    metadata = document["metadata"]
    return Name(kind.group, kind.plural), (metadata.get("namespace", ""), metadata["name"])
