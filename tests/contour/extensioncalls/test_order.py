"""In which order answers of extensions arrive does not matter: equal objects, equal bytes."""

import asyncio
import itertools
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from contour.hooks.wire import Hook
from contour.instance import Instance
from dag.fleetnames import DEFAULT_FLEET
from tests.contour.extensioncalls import served, test_translation
from tests.contour.extensioncalls.served import Shaped
from tests.testbed.extensionserver import Script, echoed
from tests.testbed.world import Document, World

OF = World.of(12)
HOOKS: dict[str, Any] = {"hooks": {"post": ["VirtualHost", "HTTPListener", "Translation"]}}
EDITS = 30
LONGEST = 0.02
"""Seconds that an answer takes at most."""


def late(chance: Random) -> Script:
    """Answers by what is asked alone, each after a time of its own."""
    changing = test_translation.changing(_changed)

    async def script(hook: Hook, body: bytes) -> bytes:
        await asyncio.sleep(chance.uniform(0, LONGEST))
        if hook == "HTTPListener":
            return await echoed(hook, body)
        return bytes(await changing(hook, body))

    return script


def _changed(clusters: test_translation.Clusters) -> None:
    test_translation.add(clusters)
    test_translation.slow(clusters)


def bodies(made: Instance) -> dict[tuple[str, str], bytes]:
    """All resources that Envoys are served, by type and name."""
    types = made.server.fleet(DEFAULT_FLEET).store.types
    return {
        (kind, str(name)): it.body() for kind, all_ in types.items() for name, it in all_.items()
    }


def edits(chance: Random) -> Iterator[Document]:
    """Changes of hosts, of which the last ones are always the same."""
    for number in range(EDITS):
        yield OF.root(chance.randrange(OF.hosts), f"/edit-{number}")
    for number in range(OF.hosts):
        yield OF.root(number, "/last")


async def _settled(of: Shaped) -> None:
    """Waits until all hosts are as they were edited last, and what is served rests."""
    await of.until(lambda: all("/last" in of.paths(it) for it in range(OF.hosts)))
    before = None
    while before != (before := bodies(of.instance)):
        await asyncio.sleep(10 * LONGEST)


async def _after(seed: int) -> dict[tuple[str, str], bytes]:
    chance = Random(seed)
    async with served.shaped(late(chance), documents=OF.documents(), **HOOKS) as of:
        for it in edits(chance):
            of.take(it)
            await asyncio.sleep(chance.uniform(0, LONGEST / 4))
        await _settled(of)
        return bodies(of.instance)


async def _at_once() -> dict[tuple[str, str], bytes]:
    """What a replica serves that starts when everything has been edited."""
    roots = {f"root-{it}": OF.root(it, "/last") for it in range(OF.hosts)}
    documents = [roots.get(it["metadata"]["name"], it) for it in OF.documents()]
    async with served.shaped(late(Random(0)), documents=documents, **HOOKS) as of:
        await _settled(of)
        return bodies(of.instance)


@pytest.mark.parametrize("seed", range(1, 6))
async def test_what_is_served_in_the_end_depends_on_no_order(seed: int) -> None:
    first, second = await _after(seed), await _at_once()
    differing = [it for it in itertools.chain(first, second) if first.get(it) != second.get(it)]
    assert not differing
    added = test_translation.ADDED
    assert any(name == added for _, name in first), "the extension has had its say"
