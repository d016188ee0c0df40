"""What the rules tell the objects of every conformance test, in a real API server.

Each status is accepted by its schema, stands there as it was told, and is not written twice. The
folders follow one another over the same objects, so what one left is what the next one finds.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from contour.events import Batch, Event
from contour.serve import Controller
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
from tests.cluster.controlplane import ControlPlane
from tests.dag.gateway import test_conformance as corpus

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]


class Stage:
    """Objects in the API server, and what a controller tells them."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.objects: dict[ObjectRef, tuple[Decoded, Raw]] = {}

    async def add(self, documents: Iterable[Raw]) -> list[ObjectRef]:
        """Creates objects, as far as the API server takes them."""
        return [await self._create(it) for it in documents]

    async def remove(self, subjects: Iterable[ObjectRef]) -> None:
        for it in subjects:
            await self.client.delete(self._path(it))
            del self.objects[it]

    async def tell(self) -> Tally:
        """A controller of this moment, and one term of it."""
        controller = Controller(lambda _, __: None)
        events = (Event(*found[:3]) for found, _ in self.objects.values())
        controller.take(Batch(tuple(events), {}))
        assert not controller.engine.failures
        answers = Answers(controller.board, controller.generation)
        answers.relocate([Address(ip="192.0.2.1")])
        sources = Sources(answers, self._known, lambda: True, lambda: controller.controller_name)
        writer = Writer(self.client, sources, lambda: controller.board.told)
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


def _documents(text: str) -> Iterator[Raw]:
    yield from filter(None, yaml.safe_load_all(text))


async def test_every_status_is_accepted_and_stands(
    start_control_plane: Callable[[], ControlPlane],
) -> None:
    cluster = Cluster(start_control_plane().folder)
    cluster.install_crds()
    written = 0
    async with cluster.client() as client:
        stage = Stage(client)
        await stage.add(_documents(corpus.given()))
        for folder in sorted(it for it in Path(corpus.FOLDER).iterdir() if it.is_dir()):
            added = await stage.add(_documents((folder / "manifest.yaml").read_text()))
            first = await stage.tell()
            assert first.failed == 0, folder.name
            await stage.look()
            second = await stage.tell()
            assert (second.success, second.failed) == (0, 0), folder.name
            assert second.noop == second.total, folder.name
            written += first.success
            await stage.remove(added)
    assert written > 100
