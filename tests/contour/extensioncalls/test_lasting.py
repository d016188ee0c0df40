"""What waits for an extension is served as before by the next process, too."""

import shutil
import sqlite3
import zlib
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from contour.envoy.hooks import passed, questions
from contour.envoy.hooks.passed import Item, Passed
from contour.extensioncalls import lasting, values
from contour.extensioncalls.lasting import Lasting
from contour.xds import resources
from dag import nodes
from dag.fleetnames import DEFAULT_FLEET
from tests.contour.extensioncalls import served, test_listeners, test_translation
from tests.contour.extensioncalls.served import (
    Shaped,
    add_header,
    changing,
    extension,
    instance,
    running,
)
from tests.testbed import world
from tests.testbed.world import Document, World

SMALL = World.of(10)
ALL: dict[str, Any] = {"hooks": {"post": ["VirtualHost", "HTTPListener", "Translation"]}}


def _script() -> Any:
    clusters = test_translation.changing(test_translation.add, add_header)
    listeners = test_listeners.changing(test_listeners.add_filter)

    async def script(hook: Any, body: bytes) -> bytes:
        return bytes(await (listeners if hook == "HTTPListener" else clusters)(hook, body))

    return script


@asynccontextmanager
async def _after(
    folder: Path, edits: Iterable[Document], **more: Any
) -> AsyncGenerator[tuple[dict[str, Any], Shaped]]:
    """What is served while edits wait, and the next process, that starts with them; the extension
    is away."""
    state = folder / "one"
    state.mkdir()
    documents = {it["metadata"]["name"]: it for it in SMALL.documents()}
    async with served.shaped(
        _script(), documents=documents.values(), answers=state / "answers", **more
    ) as of:
        (server,) = of.servers
        entry = extension(server, **more)
        await server.stop()
        of.take(*edits)
        documents |= {it["metadata"]["name"]: it for it in edits}
        await of.until(lambda: "last good hosts" in _kept(state))
        await of.until(lambda: not of.instance.asker.lasting.is_owed)
        before = _everything(of)
        left = shutil.copytree(state, folder / "two")  # as a process leaves it that is killed
    made = instance(entry, answers=left / "answers")
    async with running(made, server) as of:
        of.take(*documents.values())
        await made.asker.begin()
        yield before, of


def _everything(of: Shaped) -> dict[str, Any]:
    """The hosts, the listener and the clusters that are served."""
    found: dict[str, Any] = {world.fqdn(it): of.host(it) for it in range(SMALL.hosts)}
    found |= test_translation.clusters(of)
    return found | {"": of.listener(test_listeners.PLAIN)}


def _elsewhere(number: int) -> Document:
    """A route to a cluster that is new."""
    document = SMALL.child(number)
    document["spec"]["routes"][0]["loadBalancerPolicy"] = {"strategy": "Random"}
    return document


@pytest.mark.parametrize(
    "edits",
    [[SMALL.root(3, "/new")], [_elsewhere(3)], [SMALL.root(1, "/new"), _elsewhere(2)]],
    ids=["route", "cluster", "both"],
)
async def test_what_waits_stays_as_it_was_in_the_next_process(
    edits: list[Document], tmp_path: Path
) -> None:
    async with _after(tmp_path, edits, **ALL) as (before, of):
        assert _everything(of) == before
        assert of.is_changed(3)
        (server,) = of.servers
        await server.start()
        try:
            await of.until(lambda: "/new" in of.paths(3) or edits[0] != SMALL.root(3, "/new"))
            await of.until(lambda: all(of.host(it) for it in range(SMALL.hosts)))
        finally:
            await server.stop()


async def test_a_listener_that_waits_stays_open(tmp_path: Path) -> None:
    spec: dict[str, Any] = {"envoy": {"listener": {"serverHeaderTransformation": "pass_through"}}}
    state = tmp_path / "one"
    state.mkdir()
    documents = list(SMALL.documents())
    async with served.shaped(
        _script(), documents=documents, answers=state / "answers", **ALL
    ) as of:
        (server,) = of.servers
        entry = extension(server, **ALL)
        await server.stop()
        of.take(world.configuration(extensions=[entry], **spec))
        await of.until(lambda: "last good listeners" in _kept(state))
        before = of.listener(test_listeners.PLAIN)
        left = shutil.copytree(state, tmp_path / "two")
    made = instance(entry, answers=left / "answers", **spec)
    async with running(made, server) as of:
        of.take(*documents)
        await made.asker.begin()
        assert before is not None
        assert of.listener(test_listeners.PLAIN) == before


async def test_what_another_process_does_not_want_is_forgotten(tmp_path: Path) -> None:
    """A host that comes back later may be another one's."""
    gone = world.namespace(3), "root-3"
    state = tmp_path / "state"
    state.mkdir()
    async with served.shaped(changing(add_header), answers=state / "answers") as of:
        (server,) = of.servers
        entry = extension(server)
        await server.stop()
        of.take(served.WORLD.root(3, "/new"))
        await of.until(lambda: _kept(state) == ["last good hosts"])
    made = instance(entry, answers=state / "answers")
    async with running(made, server) as of:
        others = served.WORLD.documents()
        of.take(*(it for it in others if it["metadata"]["name"] != gone[1]))
        await made.asker.begin()
        await of.until(lambda: not _kept(state))
        of.take(served.WORLD.root(3, "/new"))
        await of.until(lambda: bool(of.paths(3)))
        assert set(of.paths(3)) == {"503"}


async def test_an_edit_that_is_answered_leaves_nothing(tmp_path: Path) -> None:
    async with served.shaped(changing(add_header), answers=tmp_path / "answers") as of:
        of.take(served.WORLD.root(3, "/new"))
        await of.until(lambda: "/new" in of.paths(3))
    assert not _kept(tmp_path)


def _kept(state: Path) -> list[str]:
    """The tables whose rows are on disk, each as often as it has one."""
    file = sqlite3.connect(state / lasting.FILE)
    try:
        return [kind for (kind,) in file.execute("SELECT kind FROM states")]
    finally:
        file.close()


ITEM = Item("fleet", "name")


async def test_rows_come_back_and_nothing_else_is_made_of_what_is_read(tmp_path: Path) -> None:
    made = instance()
    made.take(world.batch(*SMALL.documents()))
    for key, it in made.controller.engine.answers(questions.shaped):
        assert it is not None
        assert values.decoded(values.encoded(it.served)) == it.served
        assert values.decoded(values.encoded(key)) == key
    with pytest.raises(values.UnreadableError):
        values.decoded(zlib.compress(b'{"os:system": {"command": "true"}}'))
    with pytest.raises(values.UnreadableError):
        values.decoded(zlib.compress(b'{"dag.nodes.hosts:Respond": {"other": 1}}'))
    with pytest.raises(TypeError):
        values.encoded(tmp_path)


def test_a_file_that_is_full_or_broken_costs_nothing_but_what_it_kept(tmp_path: Path) -> None:
    path = tmp_path / "states"
    found = Lasting(path, most_bytes=200)
    for number in range(50):
        found.keep(passed.CLUSTERS, Item("fleet", f"{number}"), Passed(resources.digest(b"")))
    found.keep(passed.CLUSTERS, ITEM, Passed(None))
    found.close()
    assert 0 < len(list(Lasting(path).left(passed.CLUSTERS))) < 50
    path.write_bytes(b"no database" * 1000)
    again = Lasting(path)
    again.keep(passed.CLUSTERS, ITEM, Passed(None))
    again.close()
    assert Lasting(path).recall(passed.CLUSTERS, ITEM) == Passed(None)


def test_keys_are_those_of_the_tables() -> None:
    for it in (nodes.HostKey(DEFAULT_FLEET, "a", "b"), questions.StreamKey("a", "b"), ITEM):
        assert values.decoded(values.encoded(it)) == it
