"""Every field of what all routes stand on means something: without it, something else is answered.

Each field of a GatewayClass, a Gateway or a ListenerSet is taken out of worlds that have it, those
of the conformance suite among them, until one of them answers otherwise or cannot be read any more.
Fields of routes are taken out of what a real Envoy serves (`tests/features`).
"""

import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from crds.decode import Decoded, decode
from dag import tables
from dag.engine.incremental import Engine
from dag.gateway import filteredlisteners, infrastructure
from dag.plan import PLAN
from tests.dag.gateway import observed, test_conformance
from tests.dag.world import FLEET, key
from tests.docs import test_fields as documents

KINDS = ("GatewayClass", "Gateway", "ListenerSet")
WITHOUT_MEANING = {"GatewayClass description"}
"""For people, and for other objects."""

Document = dict[str, Any]


class World(NamedTuple):
    """Objects, and which of them may lack a field."""

    name: str
    documents: tuple[Document, ...]
    changed: tuple[int, ...]


@pytest.mark.parametrize("kind", KINDS)
def test_no_field_can_be_taken_out_unnoticed(kind: str) -> None:
    fields = [it for it, _ in documents._fields(kind)]
    leaves = [it for it in fields if not any(other.startswith(f"{it}.") for other in fields)]
    idle = [it for it in leaves if not _means_something(kind, it)]
    assert [it for it in idle if f"{kind} {it}" not in WITHOUT_MEANING] == []


def _means_something(kind: str, field: str) -> bool:
    path = field.split(".")
    return any(
        _answers(mutant) != _answered(world.name)
        for world in _worlds()
        for mutant in _mutants(world, kind, path)
    )


def _mutants(world: World, kind: str, path: list[str]) -> Iterator[tuple[Document, ...]]:
    """The documents of a world, each time without one of the fields of that path."""
    for index in world.changed:
        if world.documents[index]["kind"] != kind:
            continue
        for place in _places(world.documents[index]["spec"], path):
            mutant = copy.deepcopy(world.documents)
            holder = mutant[index]["spec"]
            for step in place[:-1]:
                holder = holder[step]
            del holder[place[-1]]
            yield mutant


def _places(found: Any, path: list[str]) -> Iterator[tuple[str | int, ...]]:
    """Where a path leads, item by item."""
    if isinstance(found, list):
        for index, item in enumerate(found):
            yield from ((index, *it) for it in _places(item, path))
    elif isinstance(found, dict) and path[0] in found:
        if len(path) == 1:
            yield (path[0],)
        else:
            yield from ((path[0], *it) for it in _places(found[path[0]], path[1:]))


@cache
def _worlds() -> tuple[World, ...]:
    more = sorted((Path(__file__).parent / "mutations").iterdir())
    folders = sorted(it for it in test_conformance.FOLDER.iterdir() if it.is_dir())
    files = (*more, *(it / "manifest.yaml" for it in folders))
    return tuple(_world(it) for it in files)


@cache
def _surroundings() -> tuple[Document, ...]:
    return tuple(it for it in yaml.load_all(test_conformance.given(), yaml.CSafeLoader) if it)


def _world(file: Path) -> World:
    own = [it for it in yaml.load_all(file.read_text(), yaml.CSafeLoader) if it]
    names = {_identity(it) for it in own}
    around = [it for it in _surroundings() if _identity(it) not in names]
    changed = tuple(range(len(around), len(around) + len(own)))
    return World(str(file), (*around, *own), changed)


def _identity(document: Document) -> tuple[str, str, str]:
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace", ""), metadata["name"]


@cache
def _answered(name: str) -> Any:
    (world,) = (it for it in _worlds() if it.name == name)
    return _answers(world.documents)


def _answers(found: tuple[Document, ...]) -> Any:
    """All that is told, served, and asked of whoever makes fleets; None if one cannot be read."""
    engine = Engine(PLAN)
    engine.write(tables.FLEETS, FLEET, True)
    engine.write(tables.CONFIGURATION_NAME, (), key("projectcontour/contour"))
    for document in found:
        read = decode(document)
        assert isinstance(read, Decoded)
        if read.object is None:
            return None
        engine.write(tables.BY_KIND[read.kind.kind], read.key, read.object)
    engine.settle()
    asked = dict(engine.answers(infrastructure.infrastructure))
    filters = dict(engine.answers(filteredlisteners.filters))
    return observed.everything(engine), asked, filters
