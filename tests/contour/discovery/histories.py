"""Random histories of an EnvoyConfig: edits, refusals, revisions deleted, restarts, leaders that
die. `python -m tests.contour.discovery.histories --count N [--first SEED]` runs many of them.
"""

import argparse
from random import Random

from contour.discovery import documents
from dag.rawconfig.revisions import MOST_REVISIONS
from tests.contour.discovery.world import Process, Store

CONTENTS = [f"v{it}" for it in range(14)]
WORDS = "refused by Envoy"


class History:
    """One of them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.store = Store(content="v0")
        self.bad = {it for it in CONTENTS if self.random.random() < 0.4}
        self.replicas = [Process(self.store) for _ in range(self.random.randrange(1, 3))]
        self.leader = 0
        versions = self.replicas[0]
        self.by_version = {versions.version(it): it for it in CONTENTS}

    def run(self, length: int) -> None:
        """A history of so many deeds, and what has to be true in the end."""
        deeds = {
            self.edit: 6, self.listen: 6, self.heal: 1, self.delete: 2, self.release: 1,
            self.restart: 1, self.change_leader: 1,
        }  # fmt: skip
        for _ in range(length):
            self.random.choices([*deeds], [*deeds.values()])[0]()
            if self.random.random() < 0.8:
                # It may die after any write; whoever leads next goes on.
                self.replicas[self.leader].write(self.random.randrange(1, 12))
            self.look()
        self.release()
        self.quiesce()
        self.check()

    def look(self) -> None:
        for it in self.replicas:
            it.look()

    def edit(self) -> None:
        self.store.content = self.random.choice(CONTENTS)

    def listen(self) -> None:
        """The Envoys of one replica say what they make of what they are served."""
        self.hear(self.random.choice(self.replicas))

    def hear(self, replica: Process) -> None:
        content = self.by_version[replica.published]
        replica.hear(replica.published, WORDS if content in self.bad else "")

    def heal(self) -> None:
        """Envoys do not mind a content any more: its taint stays until its revision goes."""
        self.bad.discard(self.random.choice(CONTENTS))

    def delete(self) -> None:
        """A user deletes a revision; what was heard of it is forgotten by whoever sees it."""
        if self.store.objects:
            name = self.random.choice(sorted(self.store.objects))
            if self.random.random() < 0.3:
                self.store.leaving.add(name)  # a finalizer keeps it
            else:
                self.remove(name)

    def release(self) -> None:
        """Finalizers let go of what was deleted."""
        for name in sorted(self.store.leaving):
            self.remove(name)

    def remove(self, name: str) -> None:
        self.store.leaving.discard(name)
        if name in self.store.objects:
            gone = next(it for it in self.store.present() if it.key.name == name)
            del self.store.objects[name]
            for it in self.replicas:
                it.look()
                it.witness.forget_version(gone.version)
                it.controller.settle()

    def restart(self) -> None:
        """All that was heard and not written is lost."""
        place = self.random.randrange(len(self.replicas))
        self.replicas[place] = Process(self.store)

    def change_leader(self) -> None:
        self.leader = self.random.randrange(len(self.replicas))

    def quiesce(self) -> None:
        """Envoys answer and leaders write until nothing changes any more."""
        for _ in range(60):
            before = [it.published for it in self.replicas]
            for it in self.replicas:
                self.hear(it)
            written = self.replicas[self.leader].write()
            self.look()
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
            assert self.by_version[it.published] == served
            assert it.choice.state == wanted
        assert not (set(good) & self.bad & {served}), "what Envoys refuse is not served"


def check(seed: int) -> None:
    """Runs the history of a seed; some are long enough for revisions to be removed."""
    History(seed).run(100 if seed % 5 == 0 else 30)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    for seed in range(given.first, given.first + given.count):
        try:
            check(seed)
        except AssertionError as error:
            raise SystemExit(f"seed {seed}: {error}") from error
    print(f"{given.count} histories, from seed {given.first} on")


if __name__ == "__main__":
    main()
