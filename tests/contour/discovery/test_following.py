"""What a replica makes of EnvoyConfigs and revisions that it sees late."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from contour.complaints import Complaint, ManifestSource
from contour.discovery import documents
from contour.discovery.following import Following
from contour.events import Batch
from contour.instance import Instance
from contour.xds.observer import RefusedWhole
from contour.xds.resources import CLUSTER
from contour.xds.server import Server
from crds import decode
from crds.envoyconfig import EnvoyConfig
from crds.kinds import KINDS, MARIN3R
from dag.rawconfig import revisions
from dag.rawconfig.claims import NodeKey
from dag.rawconfig.revisions import Choice
from kube.client import Client
from tests.cluster.double.faults import Rule
from tests.cluster.double.resources import Resource
from tests.cluster.double.server import Double
from tests.contour.discovery.world import KEY, MARK, NODE, config, version
from tests.kube.followed import At
from tests.testbed.patience import PATIENCE

CUSTOM = [
    Resource(it.group, it.versions[:1], it.plural, it.kind, it.namespaced, True, True)
    for it in KINDS.values()
    if it.group == MARIN3R
]


def read(content: str) -> EnvoyConfig:
    found = decode.decode(config(content))
    assert isinstance(found, decode.Decoded)
    assert isinstance(found.object, EnvoyConfig)
    return found.object


@dataclass
class Replica:
    """One that follows the EnvoyConfig of a scripted API server."""

    double: Double
    instance: Instance
    following: Following

    @property
    def choice(self) -> Choice | None:
        return self.instance.controller.engine.answer(revisions.choice, KEY)

    @property
    def known(self) -> list[tuple[str, bool]]:
        """The versions that it knows, and whether they are objects."""
        row = self.instance.controller.engine.row(revisions.HISTORY, KEY) or ()
        return [(it.content.version, bool(it.name)) for it in row]

    def serves(self, content: str) -> bool:
        published = self.choice.published if self.choice else None
        return published is not None and published.version == version(content)

    async def until(self, is_so: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                await asyncio.sleep(0.005)

    async def write(self, content: str) -> None:
        """As a user would; returns when it is served."""
        self.double.put(config(content))
        await self.until(lambda: self.serves(content))

    def refuse(self, content: str) -> None:
        """An Envoy refuses it."""
        refused = RefusedWhole(version(content), object(), CLUSTER, ("c",), "no")
        self.instance.node_reports[NodeKey(KEY.namespace, NODE)].edition_refused(refused)
        self.instance.controller.settle()


@asynccontextmanager
async def replica(folder: Path, *faults: Rule) -> AsyncIterator[Replica]:
    async with Double() as double, Client(At(double.url)) as client, asyncio.TaskGroup() as tasks:
        double.define(CUSTOM)
        double.script.rules += faults
        instance = Instance(Server((f"unix:{folder}/xds.sock",)))
        instance.controller.envoy_configs.are_stored = True
        following = Following(client, instance, MARK)
        running = tasks.create_task(following.run())
        following.configure((KEY.namespace,))
        yield Replica(double, instance, following)
        running.cancel()


async def test_what_was_served_is_gone_back_to_before_its_revision_is_seen(tmp_path: Path) -> None:
    async with replica(tmp_path) as it:
        for content in ("old", "good"):
            await it.write(content)
        written = documents.document(
            *(read("old"), read("old").spec, version("old")), sequence=1, mark=MARK
        )
        it.double.put(written)
        await it.until(lambda: (version("old"), True) in it.known)
        await it.write("bad")
        it.refuse("bad")
        assert it.serves("good")
        assert it.choice is not None
        assert it.choice.state == "Rollback"
        # Its object is one revision with what was kept of it.
        it.double.put(
            documents.document(
                *(read("good"), read("good").spec, version("good")), sequence=2, mark=MARK
            )
        )
        await it.until(lambda: (version("good"), True) in it.known)
        assert it.known == [(version("old"), True), (version("good"), True)]
        assert it.serves("good")


async def test_what_cannot_be_listed_is_known_not_to_be(tmp_path: Path) -> None:
    broken = Rule("list", "envoyconfigs", status=500)
    async with replica(tmp_path, broken) as it:
        await it.until(lambda: unsynced(it.following) == ["EnvoyConfig"])
        it.double.script.heal()
        await it.until(lambda: not unsynced(it.following))
        assert [*it.following.state()]


async def test_what_was_wrong_with_a_namespace_is_over_when_it_is_not_read_any_more(
    tmp_path: Path,
) -> None:
    place = ManifestSource("kind EnvoyConfig in namespace default")
    complaint = Complaint(place, 0, place, "", "is forbidden", "error")
    async with replica(tmp_path) as it:
        await it.write("good")
        it.following.take(Batch((), {place: (complaint,)}, (complaint,)))
        board = it.instance.controller.board
        assert [*board.files] == [place]
        it.following.configure(())
        await it.until(lambda: not board.files)


def unsynced(following: Following) -> list[str]:
    return [it.kind for it in following.state() if it.state.is_unsynced]
