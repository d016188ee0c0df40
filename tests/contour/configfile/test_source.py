"""A file as the only source of configuration, while it changes."""

import asyncio
import errno
import logging
import os
import threading
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from contour.configfile.source import Source, UnusableFileError
from contour.events import Batch
from contour.files import reading
from crds.contourconfiguration import ContourConfiguration
from crds.meta import NamespacedName
from tests.testbed import world

NAME = NamespacedName("default", "contour")
HEAD = "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: EnvoyGateway\n"
NAMED = HEAD + "gateway: {controllerName: %s}\n"
NOTHING = Batch((), {})
PATIENCE = 60


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    level = logging.getLogger().level
    found = tmp_path / "config.yaml"
    found.write_text(NAMED % "a.b/one")
    yield found
    logging.getLogger().setLevel(level)


def beside(name: str) -> Batch:
    return world.batch(
        {
            "apiVersion": "projectcontour.io/v1alpha1",
            "kind": "ContourConfiguration",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {},
        }
    )


def names(batch: Batch) -> list[str]:
    """The controller names of the configurations in a batch."""
    found = [it.object for it in batch.events if isinstance(it.object, ContourConfiguration)]
    return [it.spec.gateway.controller_name or "" for it in found if it.spec.gateway is not None]


def told(batch: Batch) -> list[str]:
    return [f"{one.severity}: {one.message}" for it in batch.complaints.values() for one in it]


async def after(changes: AsyncGenerator[Batch, None]) -> Batch:
    async with asyncio.timeout(PATIENCE):
        return await anext(changes)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UnusableFileError, match=r"none: cannot read the file: No such file"):
        Source(tmp_path / "none", NAME, "run")
    with pytest.raises(UnusableFileError, match=r"cannot read the file: Is a directory"):
        Source(tmp_path, NAME, "run")


@pytest.mark.parametrize(
    ("command", "name", "clashes"),
    [("run", "contour", True), ("run", "x", True), ("serve", "contour", True),
     ("serve", "x", False)],
)  # fmt: skip
def test_there_is_one_configuration(path: Path, command: str, name: str, clashes: bool) -> None:
    it = Source(path, NAME, "run" if command == "run" else "serve")
    assert names(it.first(NOTHING)) == ["a.b/one"]
    if clashes:
        with pytest.raises(
            UnusableFileError, match=f"also the ContourConfiguration default/{name}"
        ):
            it.first(beside(name))
    else:
        assert len(it.first(beside(name)).events) == 2
    later = it.alone(beside(name))
    assert len(later.events) == (0 if clashes else 1)
    assert told(later) == [f"error: is not read, since {path} is the configuration"] * clashes


async def test_a_change_is_followed_and_a_bad_file_changes_nothing(path: Path) -> None:
    it = Source(path, NAME, "run")
    it.first(NOTHING)
    changes = it.changes()
    path.write_text(NAMED % "a.b/two")
    assert names(await after(changes)) == ["a.b/two"]
    path.write_text("gateway: [")
    bad = await after(changes)
    assert not bad.events
    assert told(bad) == [f"error: {bad.fresh[0].message}"]
    assert bad.fresh[0].message.endswith("its last good version stays in force")
    path.unlink()
    assert "cannot read the file" in told(await after(changes))[0]
    path.write_text(NAMED % "a.b/two")
    healed = await after(changes)
    assert (healed.events, told(healed), len(healed.complaints)) == ((), [], 1)
    path.write_text(NAMED % "a.b/three")
    assert names(await after(changes)) == ["a.b/three"]


async def test_a_link_that_is_exchanged_is_a_change(path: Path, tmp_path: Path) -> None:
    link, other = tmp_path / "link", tmp_path / "other"
    other.write_text(NAMED % "a.b/two")
    link.symlink_to(path)
    it = Source(link, NAME, "serve")
    changes = it.changes()
    fresh = tmp_path / "fresh"
    fresh.symlink_to(other)
    fresh.replace(link)
    assert names(await after(changes)) == ["a.b/two"]


async def test_a_change_is_one_whatever_the_modification_time_says(path: Path) -> None:
    it = Source(path, NAME, "run")
    changes, before = it.changes(), path.stat()
    path.write_text(NAMED % "a.b/two")  # as long as before
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert names(await after(changes)) == ["a.b/two"]
    await changes.aclose()


async def test_another_provider_waits_for_the_next_start(path: Path) -> None:
    it = Source(path, NAME, "run")
    changes = it.changes()
    path.write_text(HEAD + "provider: {type: File, file: {paths: [x]}}\n")
    assert told(await after(changes)) == ["warning: provider: takes effect at the next start"]
    assert it.fixed.paths == ()
    path.write_text(HEAD)
    back = await after(changes)
    assert (told(back), len(back.complaints)) == ([], 1)


async def test_the_level_of_the_log_is_set_and_given_back(path: Path) -> None:
    logging.getLogger().setLevel(logging.WARNING)
    it = Source(path, NAME, "run")
    assert logging.getLogger().level == logging.WARNING
    for text, level in (("debug", logging.DEBUG), ("error", logging.ERROR)):
        path.write_text(f"{HEAD}logging: {{level: {{default: {text}}}}}\n")
        await _until_level(it, level)
    path.write_text(HEAD)
    await _until_level(it, logging.WARNING)


async def _until_level(it: Source, level: int) -> None:
    """The level is no setting of the instance, so there is no batch."""
    following = asyncio.ensure_future(anext(it.changes()))
    async with asyncio.timeout(PATIENCE):
        while logging.getLogger().level != level:
            await asyncio.sleep(0.01)
    following.cancel()
    await asyncio.wait((following,))


async def test_a_file_that_cannot_be_read_for_a_moment_is_read_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stale(_: object) -> reading.Content:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    it = Source(path, NAME, "run")
    changes, content = it.changes(), reading.content
    monkeypatch.setattr(reading, "content", stale)
    path.write_text(NAMED % "a.b/two")
    assert "cannot read the file: Stale file handle" in told(await after(changes))[0]
    monkeypatch.setattr(reading, "content", content)
    healed = await after(changes)
    assert (names(healed), told(healed)) == (["a.b/two"], [])


async def test_a_file_system_that_does_not_answer_stops_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answered = threading.Event(), threading.Event()
    stat, waited = Path.stat, list[bool]()

    def slowly(it: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if it == path:
            asked.set()
            waited.append(answered.wait(PATIENCE))
        return stat(it, follow_symlinks=follow_symlinks)

    it = Source(path, NAME, "run")
    path.write_text(NAMED % "a.b/two")
    monkeypatch.setattr(Path, "stat", slowly)
    changes = it.changes()
    batch = asyncio.ensure_future(after(changes))
    async with asyncio.timeout(PATIENCE):
        while not asked.is_set():
            await asyncio.sleep(0.01)
    answered.set()
    assert names(await batch) == ["a.b/two"]
    assert all(waited)
