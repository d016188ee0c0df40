"""Random histories of an EnvoyConfig: edits, refusals, revisions deleted, restarts, leaders that
die, replicas that see and tell late. `hack/bench envoyconfig-histories` runs many of them.
"""

import asyncio
from random import Random

from contour.discovery import documents
from dag.rawconfig.revisions import MOST_REVISIONS
from tests.contour.discovery.world import KINDS_SEEN, Replica, Store, version

CONTENTS = [f"v{it}" for it in range(14)]
BY_VERSION = {version(it): it for it in CONTENTS}
WORDS = "refused by Envoy"


class History:
    """One of them; made where an event loop runs."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.store = Store(content="v0")
        self.bad = {it for it in CONTENTS if self.random.random() < 0.4}
        number = self.random.randrange(1, 4)
        self.replicas = [Replica(self.store, f"replica-{it}") for it in range(number)]
        self.leader = 0

    async def run(self, length: int) -> None:
        """A history of so many deeds, and what has to be true in the end."""
        deeds = {
            self.edit: 6, self.listen: 6, self.report: 4, self.look: 12, self.heal: 1,
            self.delete: 2, self.release: 1, self.restart: 1, self.change_leader: 1,
        }  # fmt: skip
        for _ in range(length):
            self.random.choices([*deeds], [*deeds.values()])[0]()
            await _settled()
            if self.random.random() < 0.6:
                # It may die after any write; whoever leads next goes on.
                self.replicas[self.leader].write(self.random.randrange(1, 12))
                await _settled()
        self.release()
        await self.quiesce()
        self.check()

    def look(self) -> None:
        """A replica sees some of what has happened, perhaps all."""
        replica, kind = self.random.choice(self.replicas), self.random.choice(KINDS_SEEN)
        if self.random.random() < 0.5:
            replica.look_at_all()
        else:
            replica.look(kind, self.random.randrange(1, 4))

    def edit(self) -> None:
        self.store.edit(self.random.choice(CONTENTS))

    def listen(self) -> None:
        """The Envoys of one replica say what they make of what they are served."""
        self.hear(self.random.choice(self.replicas))

    def hear(self, replica: Replica) -> None:
        replica.hear(WORDS if BY_VERSION[replica.published] in self.bad else "")

    def report(self) -> None:
        """The leader is told what the Envoys of another replica say."""
        self.random.choice(self.replicas).report(self.replicas[self.leader])

    def heal(self) -> None:
        """Envoys do not mind a content any more: its taint stays until its revision goes."""
        self.bad.discard(self.random.choice(CONTENTS))

    def delete(self) -> None:
        """A user deletes a revision."""
        if self.store.objects:
            name = self.random.choice(sorted(self.store.objects))
            if self.random.random() < 0.3:
                self.store.delete(name)  # a finalizer keeps it
            else:
                self.store.remove(name)

    def release(self) -> None:
        """Finalizers let go of what was deleted."""
        for name in self.store.leaving():
            self.store.remove(name)

    def restart(self) -> None:
        """All that was heard and not written is lost."""
        place = self.random.randrange(len(self.replicas))
        self.replicas[place] = Replica(self.store, f"replica-{place}")

    def change_leader(self) -> None:
        self.leader = self.random.randrange(len(self.replicas))

    async def quiesce(self) -> None:
        """Envoys answer, all is seen and told, and leaders write until nothing changes any more."""
        for _ in range(60):
            before = [it.published for it in self.replicas]
            for it in self.replicas:
                it.look_at_all()
                self.hear(it)
                it.report(self.replicas[self.leader])
            await _settled()
            written = self.replicas[self.leader].write()
            await _settled()
            if not written and before == [it.published for it in self.replicas]:
                return
        raise AssertionError("it never comes to rest")

    def check(self) -> None:
        store, newest = self.store, self.store.content
        contents, tainted = store.contents(), set(store.says(documents.TAINTED))
        assert contents[-1] == newest, "what is written is the newest revision"
        assert len(contents) == len(set(contents)) <= MOST_REVISIONS
        assert tainted >= {it for it in [newest] if it in self.bad}
        good = [it for it in contents if it not in tainted]
        taken = [it for it in contents if it in store.says(documents.TAKEN)]
        served = (good or taken or contents)[-1]
        assert store.says(documents.PUBLISHED) == [served]
        state = "RollbackFailed" if served in tainted else "InSync"
        wanted = state if served == newest or served in tainted else "Rollback"
        for it in self.replicas:
            assert BY_VERSION[it.published] == served, "a replica serves something else"
            assert it.choice.state == wanted
        assert not (set(good) & self.bad & {served}), "what Envoys refuse is not served"


async def _settled() -> None:
    """What was put off to the next turn of the event loop is done."""
    for _ in range(3):
        await asyncio.sleep(0)


def check(seed: int) -> None:
    """Runs the history of a seed; some are long enough for revisions to be removed."""

    async def run() -> None:
        await History(seed).run(120 if seed % 5 == 0 else 40)

    asyncio.run(run())
