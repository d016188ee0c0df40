"""Revisions in a file: a run that follows knows what the one before knew."""

import asyncio
import sqlite3
from pathlib import Path
from random import Random

import pytest

from contour.controller import Controller
from contour.discovery.keeping import RevisionFile
from contour.events import Batch, Event
from contour.rawconfig.nodereports import NodeReports
from contour.xds.fleet import Fleet
from contour.xds.observer import RefusedWhole
from contour.xds.resources import CLUSTER
from contour.xds.whole import Edition
from crds import decode
from crds.kinds import KINDS, MARIN3R
from dag import tables
from dag.rawconfig import revisions
from dag.rawconfig.claims import NodeKey
from dag.rawconfig.revisions import MOST_REVISIONS, Choice
from tests.contour.discovery import world
from tests.contour.discovery.world import KEY, NODE

KIND = KINDS[MARIN3R, "EnvoyConfig"]
WORDS = "refused by Envoy"
INVALID = "invalid"


class Run:
    """`contour run` from the file to the choice; `content` is what the manifest says at first."""

    def __init__(self, path: Path, content: str | None = "a") -> None:
        self.controller = Controller(lambda _, changes: None)
        self.controller.engine.write(tables.ROUTING, (), "Single")  # the quickest: no hosts here
        engine = self.controller.engine
        self.file = RevisionFile(path, engine)
        self.controller.envoy_configs.on_change = self.file.note
        fleet = Fleet(NODE, edition=Edition())
        self.reports = NodeReports(NodeKey(KEY.namespace, NODE), fleet, engine, lambda: None)
        self.file.restore()
        self.edit(content)

    def edit(self, content: str | None) -> None:
        """Saves the manifest; None removes it, `INVALID` is one without resources."""
        found = None
        if content is not None:
            document = world.config(content)
            if content == INVALID:
                document["spec"] = {"nodeID": NODE}
            read = decode.decode(document)
            assert isinstance(read, decode.Decoded)
            found = read.object
        self.controller.take(Batch((Event(KIND, KEY, found),), {}, ()))

    @property
    def choice(self) -> Choice | None:
        return self.controller.engine.answer(revisions.choice, KEY)

    @property
    def version(self) -> str:
        """What is served."""
        choice = self.choice
        assert choice is not None
        assert choice.published is not None
        return choice.published.version

    def state(self) -> str:
        """How that compares with what is written."""
        choice = self.choice
        return str(choice.state) if choice is not None else ""

    def refuse(self) -> None:
        """Envoy refuses what is served."""
        refused = RefusedWhole(self.version, object(), CLUSTER, ("c",), WORDS)
        self.reports.edition_refused(refused)
        self.controller.settle()

    def take(self) -> None:
        """Envoy accepts it."""
        self.reports.edition_taken(self.version)
        self.controller.settle()

    def said(self) -> object:
        """All that a user could tell from it, and Envoys are served by it."""
        found = self.choice
        if found is None:
            return None
        every = [(it.content.version, it.taint, it.is_taken) for it in found.revisions]
        return self.version, found.edition, found.state, every


async def _killed(run: Run) -> None:
    """It dies, a moment after its last change."""
    await asyncio.sleep(0)


async def test_what_was_refused_is_not_served_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "revisions"
    run = Run(path, "good")
    run.take()
    good = run.version
    run.edit("bad")
    run.refuse()
    assert run.version == good
    await _killed(run)
    again = Run(path, "bad")
    assert again.version == good
    assert again.said() == run.said()
    assert again.state() == "Rollback"
    again.edit("better")
    assert again.state() == "InSync"


@pytest.mark.parametrize("seed", range(20))
async def test_after_any_history_a_restart_changes_nothing(seed: int, tmp_path: Path) -> None:
    random, path = Random(seed), tmp_path / "revisions"
    contents = [f"v{it}" for it in range(MOST_REVISIONS + 3)]
    content: str | None = contents[0]
    run = Run(path, content)
    for _ in range(40):
        match random.choices(["edit", "refuse", "take", "restart", "remove"], [8, 5, 5, 4, 1])[0]:
            case "edit":
                content = random.choice(contents)
                run.edit(content)
            case "remove":
                content = None
                run.edit(content)
            case "refuse" if content is not None:
                run.refuse()
            case "take" if content is not None:
                run.take()
            case _:
                await _killed(run)
                before, run = run.said(), Run(path, content)
                assert run.said() == before
        await asyncio.sleep(0)


async def test_what_went_while_nothing_ran_is_forgotten_if_all_could_be_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "revisions"
    run = Run(path, "bad")
    run.refuse()
    run.file.close()
    gone = Run(path, None)  # its file may be unreadable at the moment
    gone.file.close()
    back = Run(path, "bad")
    assert back.said() == run.said()
    back.file.close()
    gone = Run(path, None)
    gone.file.prune()
    gone.file.close()
    assert Run(path, "bad").state() == "InSync"


async def test_a_file_that_cannot_be_read_is_begun_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "revisions"
    path.write_bytes(b"garbage" * 1000)
    run = Run(path, "bad")
    assert "cannot be read" in caplog.text
    run.refuse()
    run.file.close()
    assert Run(path, "bad").said() == run.said()
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_damaged_revision_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "revisions"
    run = Run(path, "bad")
    run.refuse()
    run.file.close()
    with sqlite3.connect(path) as file:
        file.execute("UPDATE revisions SET document = '{'")
    file.close()
    assert Run(path, "bad").state() == "InSync"


async def test_an_edit_writes_one_row(tmp_path: Path) -> None:
    path = tmp_path / "revisions"
    run = Run(path, "a")
    for it in "bcdef":
        run.edit(it)
        await asyncio.sleep(0)
    with sqlite3.connect(path) as reader:
        before = reader.execute("PRAGMA data_version").fetchone()
        rows = {it[2]: it for it in reader.execute("SELECT * FROM revisions")}
        run.edit("b")  # an old content is the newest again
        await asyncio.sleep(0)
        after = {it[2]: it for it in reader.execute("SELECT * FROM revisions")}
        assert reader.execute("PRAGMA data_version").fetchone() != before
    assert [it for it in after if after[it] != rows[it]] == [run.version]
    reader.close()
