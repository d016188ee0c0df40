"""The examples of the Gateway API's own documents are read, translated, and told something sane."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from crds.decode import Decoded, decode, items
from dag import statuses, tables
from dag.engine.incremental import Engine
from dag.plan import PLAN, STATUSES
from tests import upstream
from tests.dag.world import FLEET

NAME = "manifests/gateway-api"
STATES = {"True", "False", "Unknown"}


def test_upstreams_examples_are_here() -> None:
    upstream.folder(NAME)


@pytest.mark.parametrize(
    "file", upstream.manifests(NAME), ids=lambda it: f"{it.parent.name}/{it.name}"
)
def test_an_example_is_translated_and_every_condition_makes_sense(file: Path) -> None:
    engine = Engine(PLAN)
    engine.write(tables.FLEETS, FLEET, True)
    read = list(_objects(file))
    for found in read:
        assert found.object is not None, found.complaints
        engine.write(tables.BY_KIND[found.kind.kind], found.key, found.object)
    engine.settle()
    assert not engine.failures
    for found in read:
        if found.kind.kind in STATUSES:
            for condition in _conditions(engine.answer(STATUSES[found.kind.kind], found.key)):
                assert condition.status in STATES
                assert condition.reason
                assert condition.message


def _objects(file: Path) -> Iterator[Decoded]:
    """Those of kinds we know; the classes name our controller instead of an invented one."""
    for document in yaml.load_all(file.read_text(), yaml.CSafeLoader):
        for raw in items(document):
            if isinstance(raw, dict) and raw.get("kind") == "GatewayClass":
                raw["spec"]["controllerName"] = "projectcontour.io/gateway-controller"
            found = decode(raw)
            if isinstance(found, Decoded):
                yield found


def _conditions(found: statuses.Status | None) -> Iterator[statuses.Condition]:
    match found:
        case statuses.GatewayStatus() | statuses.ListenerSetStatus():
            yield from found.conditions
            for listener in found.listeners:
                yield from listener.conditions
        case statuses.RouteStatus():
            for parent in found.parents:
                yield from parent.conditions
        case statuses.PolicyStatus():
            for ancestor in found.ancestors:
                yield from ancestor.conditions
