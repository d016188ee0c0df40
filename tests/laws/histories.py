"""Histories: writes and deletions of random objects, one after the other, and where they lead.

`LAW_HISTORIES` says how many of them the laws are tried on; a failure names the seed. A history is
the same whenever it is made, save for its certificates, which are new in each run.
"""

import os
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from contour.controller import Controller
from contour.envoy import outputs
from contour.events import Batch, Event
from contour.offline.rendering import Fleets
from contour.xds import resources
from crds.decode import Decoded, decode
from crds.kinds import KINDS, Kind
from crds.meta import NamespacedName
from dag import plan, tables
from dag.engine.incremental import Engine
from dag.engine.view import Query, Table
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway import addresses
from dag.statuses import Address
from tests.laws import documents
from tests.laws.rebuild import rebuilt

PLAN = plan.PLAN + outputs.PLAN
STEPS = 24

Answers = dict[tuple[Query[Any, Any], Any], Any]


def seeds(share: float = 1.0) -> range:
    """The seeds that a law is tried on; costly laws take a share of them."""
    return range(max(1, int(int(os.environ.get("LAW_HISTORIES", "200")) * share)))


class Step(NamedTuple):
    """An object is written, or deleted; then perhaps the world settles."""

    kind: Kind
    key: NamespacedName
    object: Any | None
    settles: bool


def history(seed: int) -> Iterator[Step]:
    """A history: half of it builds up a world, in the other half things also go."""
    chance = Random(seed)
    alive: dict[tuple[Kind, NamespacedName], None] = {}
    for number in range(2 * STEPS):
        settles = number > STEPS and chance.random() < 0.5
        if number > STEPS and alive and chance.random() < 0.3:
            kind, key = chance.choice(tuple(alive))
            del alive[kind, key]
            yield Step(kind, key, None, settles)
            continue
        kind, key, found = admitted(chance)
        alive[kind, key] = None
        yield Step(kind, key, found, settles)


def admitted(chance: Random) -> tuple[Kind, NamespacedName, Any]:
    """A random object; what the API server would refuse is drawn again."""
    while True:
        found = decode(documents.document(chance))
        assert isinstance(found, Decoded), found
        if found.object is not None:
            return found.kind, found.key, found.object


class World:
    """The engine, and beside it nothing but the rows and what the engine reported."""

    def __init__(self) -> None:
        self.engine = Engine(PLAN)
        self.rows: dict[Table[Any, Any], dict[Any, Any]] = {}
        self.reported: Answers = {}
        self.write(tables.FLEETS, DEFAULT_FLEET, True)
        for fleet in (DEFAULT_FLEET, "a/g1"):
            self.write(addresses.ASSIGNED, fleet, (Address("IPAddress", "192.0.2.1"),))

    def write(self, table: Table[Any, Any], key: Any, value: Any | None) -> None:
        """Writes a row, or removes it."""
        self.engine.write(table, key, value)
        if value is None:
            self.rows.setdefault(table, {}).pop(key, None)
        else:
            self.rows.setdefault(table, {})[key] = value

    def step(self, step: Step) -> None:
        """Takes a step of a history, without settling."""
        self.write(tables.BY_KIND[step.kind.kind], step.key, step.object)

    def settle(self) -> None:
        """Settles; each reported change must be one, from what was reported last."""
        for query, key, old, new in self.engine.settle():
            assert old != new, (query, key)
            assert self.reported.get((query, key)) == old, (query, key)
            if new is None:
                del self.reported[query, key]
            else:
                self.reported[query, key] = new

    def answered(self) -> Answers:
        """What the engine answers to every published query."""
        return {
            (query, key): answer
            for query in PLAN.published
            for key, answer in self.engine.answers(query)
        }

    def rebuilt(self) -> Answers:
        """What the rules answer when they are asked anew, with no memory at all."""
        return rebuilt(PLAN, self.rows)


def ended(seed: int) -> list[Step]:
    """The objects that are there at the end of a history."""
    last = {(it.kind, it.key): it for it in history(seed)}
    return [it for it in last.values() if it.object is not None]


class Served:
    """The controller itself, and the fleets as they would be served."""

    def __init__(self) -> None:
        self.fleets = Fleets()
        self.controller = Controller(self.fleets.publish)

    def take(self, *steps: Step) -> None:
        """Events that come at one moment."""
        self.controller.take(Batch(tuple(Event(it.kind, it.key, it.object) for it in steps), {}))

    def bodies(self) -> dict[resources.Name, bytes]:
        """The bytes of everything that is served."""
        return {name: it.body() for name, it in self.fleets.by_name[DEFAULT_FLEET].items()}

    def shown(self) -> dict[str, list[dict[str, Any]]]:
        """The JSON of what is served, by section, without empty tables of routes.

        A listener has hundreds of these, each with the scope that leads to it. A scope that leads
        to no table stays.
        """
        return self.fleets.shown(DEFAULT_FLEET, every=False)


STATUS_KINDS = {it.kind for it in KINDS.values() if it.has_status}
