"""Random histories of a status writer: users, rules, other controllers, faults and leaders at once.

What must hold whatever happens: our conditions never go back to an older version of an object,
nobody else's entry is ever touched, and once all is calm every object is told the newest.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from contour.status.writer import Writer
from crds.meta import ObjectRef
from tests.cluster.double.faults import Rule
from tests.cluster.double.resources import Name
from tests.contour.status.world import CONTROLLER, World, accepted, route, world

Raw = dict[str, Any]

ROUTES = Name("gateway.networking.k8s.io", "httproutes")
OTHER = "example.com/other"
FAULTS: list[Raw] = [
    {"status": 409},
    {"status": 500},
    {"status": 503},
    {"status": 429},
    {"drop": True},
    {"status": 200, "body": b"garbage"},
]


class History:
    """Five routes and everybody who is interested in them."""

    def __init__(self, there: World, seed: int) -> None:
        self.there = there
        self.random = random.Random(seed)
        self.routes = [there.add(route(f"r{it}")) for it in range(5)]
        self.told_by_other: dict[ObjectRef, Raw] = {}
        self.writer = there.writer

    async def run(self, steps: int) -> None:
        """Terms that follow one another, each with steps; calm at the end of the last."""
        for _ in range(3):
            self.there.is_leader = True
            self.there.writer = self.writer = self.there.another_writer()
            self._fall_behind()
            async with self.there.term(self.writer):
                for _ in range(steps):
                    self.random.choice(self._deeds())(self.random.choice(self.routes))
                    for _ in range(self.random.randrange(6)):
                        await asyncio.sleep(0)
                self.there.is_leader = False
        self.there.double.script.heal()
        self.there.is_leader = True
        await self._calm(self.there.another_writer())

    async def _calm(self, writer: Writer) -> None:
        for it in self.routes:
            self.see(it)
        async with self.there.term(writer):
            await writer.drained()

    def _fall_behind(self) -> None:
        """The replica that leads now has seen less than the last one."""
        for change in self.there.double.store.since(ROUTES, 0):
            if self.random.random() < 0.2:
                subject = route(change.after["metadata"]["name"])
                self.there.seen[subject] = change.after
                self._answer(subject)

    def _answer(self, subject: ObjectRef) -> None:
        generation = self.there.seen[subject]["metadata"]["generation"]
        self.there.say(subject, accepted("edge", message=f"version {generation}"))

    def _deeds(self) -> list[Callable[[ObjectRef], None]]:
        return [self.edit, self.see, self.see, self.interfere, self.disturb, self.repeat]

    def edit(self, subject: ObjectRef) -> None:
        """A user writes a new version, which nobody has seen yet."""
        before = self.there.stands(subject)
        generation = before["metadata"]["generation"] + 1
        self.there.write(subject, generation, status=before.get("status", {}))

    def see(self, subject: ObjectRef) -> None:
        """The provider sees the newest, and the rules answer."""
        self.there.see(subject)
        self._answer(subject)

    def repeat(self, subject: ObjectRef) -> None:
        """Somebody asks for another look."""
        self.writer.notice([subject])

    def interfere(self, subject: ObjectRef) -> None:
        """Another controller writes what it has to say."""
        before = self.there.stands(subject)
        told = {
            "parentRef": {"name": "edge"},
            "controllerName": OTHER,
            "conditions": [{"type": "Accepted", "message": str(self.random.random())}],
        }
        kept = [
            it
            for it in before.get("status", {}).get("parents", [])
            if it["controllerName"] != OTHER
        ]
        parents = [told, *kept] if self.random.random() < 0.5 else [*kept, told]
        self.told_by_other[subject] = told
        self.there.double.put({**before, "status": {"parents": parents}})

    def disturb(self, _: ObjectRef) -> None:
        """The next requests fail."""
        times = self.random.randrange(1, 4)
        self.there.double.script.add(Rule(times=times, **self.random.choice(FAULTS)))

    def check(self) -> None:
        """What must hold at the end, and what held all the time."""
        for it in self.routes:
            parents = self.there.status(it).get("parents", [])
            theirs = [entry for entry in parents if entry["controllerName"] == OTHER]
            assert theirs == [found for to, found in self.told_by_other.items() if to == it]
            [ours] = [entry for entry in parents if entry["controllerName"] == CONTROLLER]
            generation = self.there.stands(it)["metadata"]["generation"]
            [condition] = ours["conditions"]
            assert condition["message"] == f"version {generation}"
            assert condition["observedGeneration"] == generation
        self._check_past()

    def _check_past(self) -> None:
        newest: dict[str, int] = {}
        theirs: dict[str, list[Raw]] = {}
        for change in self.there.double.store.since(ROUTES, 0):
            after, before = change.after, change.before or {}
            name = after["metadata"]["name"]
            parents = after.get("status", {}).get("parents", [])
            for condition in (it for of in parents for it in of["conditions"]):
                if "observedGeneration" in condition:
                    assert condition["observedGeneration"] >= newest.get(name, 0)
                    newest[name] = condition["observedGeneration"]
                    assert newest[name] <= after["metadata"]["generation"]
            foreign = [it for it in parents if it["controllerName"] == OTHER]
            if after["metadata"].get("managedFields") != before.get("metadata", {}).get(
                "managedFields"
            ):  # we wrote, and not the other one, who writes past all managers
                assert foreign == theirs.get(name, [])
            theirs[name] = foreign


async def histories(count: int, seed: int, steps: int = 25) -> None:
    """So many, from this seed on; the one that fails is named."""
    for it in range(seed, seed + count):
        async with world() as there:
            history = History(there, it)
            try:
                await history.run(steps)
                history.check()
            except AssertionError as error:
                raise AssertionError(f"seed {it}: {error}") from error
