"""A writer at work on the scripted API server, with a provider that knows as much as it is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from contour.status import stored
from contour.status.answers import Answers
from contour.status.board import Board
from contour.status.update import Sources
from contour.status.writer import Writer
from crds.gateway.references import ParentReference
from crds.kinds import KINDS
from crds.meta import NamespacedName, ObjectRef
from dag.statuses import Condition, ContourStatus, ParentStatus, RouteStatus
from kube import leading
from kube.client import Client
from tests.cluster.double.resources import Name, Resource
from tests.cluster.double.server import Double
from tests.kube.unguarded import Unguarded

Raw = dict[str, Any]

CONTROLLER = "projectcontour.io/gateway-controller"
CUSTOM = [
    Resource(it.group, it.versions[:1], it.plural, it.kind, it.namespaced, True, True)
    for it in KINDS.values()
    if it.group in ("projectcontour.io", "gateway.networking.k8s.io")
]
_NAMES = {it.kind: Name(it.group, it.plural) for it in KINDS.values()}
_VERSIONS = {it.kind: it.api_version for it in KINDS.values()}


class World:
    """Objects in an API server, what the rules say of them, and who writes it."""

    def __init__(self, double: Double, client: Client) -> None:
        self.double = double
        self.client = client
        self.board = Board()
        self.is_leader = True
        self.is_assembled = True
        self.is_change_underway = False
        self.untold: dict[ObjectRef, tuple[NamespacedName, ...]] = {}
        self.seen: dict[ObjectRef, Raw] = {}
        """By the provider, and judged by the rules: not always the newest."""
        self.answers = Answers(self.board, self._generation)
        self.writer = self.another_writer()

    def another_writer(self) -> Writer:
        """Of another replica, which knows the same."""
        sources = Sources(
            *(self.answers, self._known, lambda: CONTROLLER),
            is_assembled=lambda: self.is_assembled,
            untold=self._note_untold,
            is_change_underway=lambda: self.is_change_underway,
        )
        return Writer(
            leading.Client(self.client, lambda: self.is_leader, leading.WRITE_TIMEOUT),
            sources,
            lambda: self.board.told,
        )

    @asynccontextmanager
    async def term(self, writer: Writer | None = None) -> AsyncIterator[None]:
        """While this process leads."""
        async with asyncio.TaskGroup() as group:
            task = group.create_task((writer or self.writer).run())
            await asyncio.sleep(0)
            yield
            task.cancel()

    def add(self, subject: ObjectRef, **others: Any) -> ObjectRef:
        """Somebody writes an object, and the provider sees it."""
        self.write(subject, **others)
        self.see(subject)
        return subject

    def write(self, subject: ObjectRef, generation: int = 1, **others: Any) -> None:
        """Somebody writes an object; the provider is yet to see it."""
        metadata = {"name": subject.name, "generation": generation}
        if subject.namespace:
            metadata["namespace"] = subject.namespace
        head = {"apiVersion": _VERSIONS[subject.kind], "kind": subject.kind, "metadata": metadata}
        self.double.put({**head, **others})

    def see(self, subject: ObjectRef) -> None:
        """The provider has seen the newest, and so have the rules."""
        found = self.stands(subject)
        if found:
            self.seen[subject] = found
        else:
            self.seen.pop(subject, None)

    def say(self, subject: ObjectRef, answer: Any) -> None:
        """The rules have an answer."""
        self.board.put(subject, answer)
        self.writer.notice([subject])

    def stands(self, subject: ObjectRef) -> Raw:
        """The object in the API server."""
        return self.double.store.get(_NAMES[subject.kind], subject.key) or {}

    def status(self, subject: ObjectRef) -> Raw:
        """Its status."""
        found: Raw = self.stands(subject).get("status", {})
        return found

    @property
    def begun(self) -> int:
        """How many writes of the first writer have begun, of HTTPProxies."""
        return self.writer.tallies["HTTPProxy"].total

    @property
    def writes(self) -> int:
        """How many there were."""
        return self.double.count("patch")

    def _note_untold(self, subject: ObjectRef, gateways: tuple[NamespacedName, ...]) -> None:
        if gateways:
            self.untold[subject] = gateways
        else:
            self.untold.pop(subject, None)

    def _known(self, subject: ObjectRef) -> stored.Known | None:
        found = self.seen.get(subject)
        return stored.seen(found) if found else None

    def _generation(self, subject: ObjectRef) -> int | None:
        found = self.seen.get(subject)
        return int(found["metadata"]["generation"]) if found else None


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    """An API server with our CRDs and those of the Gateway API, and nothing in it."""
    async with Double() as double, Client(Unguarded(double.url)) as client:
        double.define(CUSTOM)
        yield World(double, client)


def proxy(name: str) -> ObjectRef:
    return ObjectRef("HTTPProxy", "default", name)


def route(name: str) -> ObjectRef:
    return ObjectRef("HTTPRoute", "default", name)


def valid(message: str = "Valid HTTPProxy") -> ContourStatus:
    return ContourStatus(Condition("Valid", "True", "Valid", message), "valid")


def invalid(message: str) -> ContourStatus:
    return ContourStatus(Condition("Valid", "False", "ErrorPresent", message), "invalid")


def accepted(*gateways: str, message: str = "the route is attached") -> RouteStatus:
    told = (Condition("Accepted", "True", "Accepted", message),)
    return RouteStatus(
        tuple(ParentStatus(ParentReference(name=it), CONTROLLER, told) for it in gateways)
    )
