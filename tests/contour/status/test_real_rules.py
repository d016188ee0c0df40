"""What the rules tell the objects of every conformance test, in a real API server.

Each status is accepted by its schema, stands there as it was told, and is not written twice. The
folders follow one another over the same objects, so what one left is what the next one finds.
"""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from contour.controller import Controller
from contour.events import Batch, Event
from contour.status import stored
from contour.status.addresses import Address
from contour.status.answers import Answers
from contour.status.tally import Tally
from contour.status.update import Sources
from contour.status.writer import Writer
from crds.decode import Decoded, decode
from crds.meta import ObjectRef
from kube.client import Client
from kube.resources import Resource
from tests.cluster.cluster import Cluster
from tests.dag.gateway import test_conformance as corpus

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]


class Stage:
    """Objects in the API server, and the controller that sees them."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.objects: dict[ObjectRef, tuple[Decoded, Raw]] = {}
        self.controller = Controller(lambda _, __: None)
        self.answers = Answers(self.controller.board, self.controller.generation)
        self.answers.relocate([Address(ip="192.0.2.1")])

    async def add(self, documents: Iterable[Raw]) -> list[ObjectRef]:
        """Creates objects; the controller sees all of them at once."""
        added = [await self._create(it) for it in documents]
        self._take(Event(*self.objects[it][0][:3]) for it in added)
        return added

    async def remove(self, subjects: Iterable[ObjectRef]) -> None:
        """Deletes objects; the controller sees all of it at once."""
        gone = []
        for it in subjects:
            await self.client.delete(self._path(it))
            found, _ = self.objects.pop(it)
            gone.append(Event(found.kind, found.key, None))
        self._take(gone)

    async def tell(self) -> Tally:
        """One term."""
        sources = Sources(self.answers, self._known, lambda: self.controller.controller_name)
        writer = Writer(self.client, sources, lambda: self.controller.board.told)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(writer.run())
            await asyncio.sleep(0)
            await writer.drained()
            task.cancel()
        return _sum(writer.tallies.values())

    async def look(self) -> None:
        """Sees every object as it stands now."""
        for it, (found, _) in list(self.objects.items()):
            if found.kind.has_status:
                self.objects[it] = found, await self.client.get(self._path(it))

    async def _create(self, document: Raw) -> ObjectRef:
        wished = decode(document)
        assert isinstance(wished, Decoded)
        subject = ObjectRef(wished.kind.kind, *wished.key)
        raw = await self.client.create(self._path(subject._replace(name="")), document)
        found = decode(raw)
        assert isinstance(found, Decoded)
        self.objects[subject] = found, raw
        return subject

    def _take(self, events: Iterable[Event]) -> None:
        self.controller.take(Batch(tuple(events), {}))
        assert not self.controller.engine.failures

    def _path(self, subject: ObjectRef) -> str:
        resource = stored.resource(subject.kind)
        assert isinstance(resource, Resource)
        return resource.path(subject.namespace, subject.name)

    def _known(self, subject: ObjectRef) -> stored.Known | None:
        return stored.seen(self.objects[subject][1]) if subject in self.objects else None


def _sum(tallies: Iterable[Tally]) -> Tally:
    found = Tally()
    for it in tallies:
        found.total += it.total
        found.success += it.success
        found.noop += it.noop
        found.failed += it.failed
    return found


def _documents(text: str, name: str) -> list[Raw]:
    """The objects of a folder, in namespaces and with a class that nobody else has."""
    return [_moved(it, name) for it in yaml.load_all(text, yaml.CSafeLoader) if it]


def _moved(document: Raw, name: str) -> Raw:
    if document["kind"] in ("Namespace", "GatewayClass"):
        own = f"{name}-{document['metadata']['name']}"
        document = {**document, "metadata": {**document["metadata"], "name": own}}
    found: Raw = _renamed(document, name)
    return found


def _renamed(found: Any, name: str) -> Any:
    if isinstance(found, list):
        return [_renamed(it, name) for it in found]
    if not isinstance(found, dict):
        return found
    return {
        field: f"{name}-{value}" if field in _NAMES else _renamed(value, name)
        for field, value in found.items()
    }


_NAMES = ("namespace", "gatewayClassName")


async def test_every_status_is_accepted_and_stands(cluster: Cluster, namespace: str) -> None:
    written = 0
    async with cluster.client() as client:
        stage = Stage(client)
        base = await stage.add(_documents(corpus.given(), namespace))
        for folder in sorted(it for it in Path(corpus.FOLDER).iterdir() if it.is_dir()):
            text = (folder / "manifest.yaml").read_text()
            added = await stage.add(_documents(text, namespace))
            first = await stage.tell()
            assert first.failed == 0, folder.name
            await stage.look()
            second = await stage.tell()
            assert (second.success, second.failed) == (0, 0), folder.name
            assert second.noop == second.total, folder.name
            written += first.success
            await stage.remove(added)
        await stage.remove(it for it in base if not it.namespace)
    assert written > 100
