"""Changes of which the kernel tells nothing, or not enough: network file systems, missing files,
and what a file system refuses for a moment."""

import asyncio
import errno
import os
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from contour.complaints import ManifestSource
from contour.files import inotify, listing, reading, schedule, tracking
from contour.files.inotify import EventType
from tests.contour.files.written import following, proxy, stream

NEW = "new.example.com"


def stale(_: ManifestSource) -> reading.Content:
    raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))


def look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "POLLED", schedule.Waits(0.1, 0.5))
    monkeypatch.setattr(tracking, "LOOK_EVERY", 0.2)
    monkeypatch.setattr(tracking, "LOOK_EVERY_BLIND", 0.05)


async def test_a_slow_writer_on_another_machine_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices = inotify.Watcher.notices
    monkeypatch.setattr(inotify.Watcher, "notices", lambda it: list(notices(it))[:0])
    look_often(monkeypatch)
    monkeypatch.setattr(tracking, "LOOK_EVERY", 1.0)  # seldom enough to come upon a writer
    path = tmp_path / "a.yaml"
    path.write_text(stream(proxy("a"), proxy("b")))
    async with following(tmp_path) as follower:
        (tmp_path / "c.yaml").write_text(proxy("c"))
        await follower.until(lambda: "c" in follower.fqdns)
        with open(path, "w") as file:
            for number in range(24):
                file.write(f"{proxy(f'p{number}')}---\n")
                file.flush()
                await asyncio.sleep(0.05)
            file.write(stream(proxy("a", NEW), proxy("b")))
        await follower.until(lambda: follower.fqdns["a"] == NEW)
        assert not follower.gone
        path.write_text(proxy("a", NEW))
        await follower.until(lambda: sorted(follower.fqdns) == ["a", "c"])
        path.unlink()
        await follower.until(lambda: sorted(follower.fqdns) == ["c"])


@pytest.mark.parametrize("is_here", [True, False])
async def test_a_file_given_by_name_is_followed_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_here: bool
) -> None:
    monkeypatch.setattr(tracking, "LOOK_EVERY", 3600.0)
    monkeypatch.chdir(tmp_path)
    path = Path("a.yaml") if is_here else tmp_path / "a.yaml"
    path.write_text(proxy("a"))
    async with following(path) as follower:
        path.unlink()
        await follower.until(lambda: not follower.fqdns)
        (tmp_path / "folder").mkdir()  # which has everything listed again
        (tmp_path / "b.yaml").write_text(proxy("b"))
        path.write_text(proxy("a", NEW))
        await follower.until(lambda: follower.fqdns == {"a": NEW})


async def test_a_link_that_is_made_meanwhile_leaves_a_slow_writer_its_time(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(stream(proxy("a"), proxy("b")))
    async with following(tmp_path) as follower:
        (tmp_path / "c.yaml").write_text(proxy("c"))
        await follower.until(lambda: "c" in follower.fqdns)
        with open(path, "w") as file:
            file.write(proxy("a", NEW))
            file.flush()
            (tmp_path / ".#d.yaml").symlink_to("me@here.1")  # as Emacs does when somebody types
            (tmp_path / "d.yaml").write_text(proxy("d"))
            await follower.until(lambda: "d" in follower.fqdns)
            file.write(f"---\n{proxy('b', NEW)}")
        await follower.until(lambda: follower.fqdns["b"] == NEW)
        assert not follower.gone


async def test_a_file_that_cannot_be_read_for_a_moment_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "UNREAD", schedule.Waits(0.1, 0.1))
    monkeypatch.setattr(tracking, "LOOK_EVERY", 0.05)
    path, content = tmp_path / "a.yaml", reading.content
    path.write_text(proxy("a"))
    tries = 0

    def counted(file: ManifestSource) -> reading.Content:
        nonlocal tries
        tries += 1
        return stale(file)

    async with following(tmp_path) as follower:
        monkeypatch.setattr(reading, "content", counted)
        path.write_text(proxy("a", NEW))
        await follower.until(lambda: bool(follower.complaints))
        assert follower.messages == [
            "cannot read the file: Stale file handle; its last good objects stay"
        ]
        async with asyncio.timeout(10):
            while tries < 4:
                await asyncio.sleep(0.01)
        monkeypatch.setattr(reading, "content", content)
        await follower.until(lambda: follower.fqdns == {"a": NEW})
        assert not follower.complaints


async def test_a_modification_time_in_the_future_delays_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_instances_left() -> inotify.Watcher:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(inotify, "Watcher", no_instances_left)
    look_often(monkeypatch)
    path, later = tmp_path / "a.yaml", time.time() + 3600
    path.write_text(stream(proxy("a"), proxy("b")))
    async with following(tmp_path) as follower:
        path.write_text(proxy("a"))
        os.utime(path, (later, later))
        await follower.until(lambda: list(follower.fqdns) == ["a"])


async def test_a_file_that_may_not_be_looked_at_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b.yaml").write_text(proxy("b"))
    path = tmp_path / "a.yaml"
    path.write_text(proxy("a"))
    monkeypatch.setattr(os, "stat", refusing(os.stat, path))
    monkeypatch.setattr(reading, "content", refusing(reading.content, path))
    async with following(tmp_path) as follower:
        assert list(follower.fqdns) == ["b"]
        assert follower.messages == [
            "cannot read the file: Permission denied; its last good objects stay"
        ]


def refusing(real: Callable[..., object], path: Path) -> Callable[..., object]:
    """The same function, for all files but one."""  # root, who may run this, may read all

    def refused(file: object, *rest: object, **more: object) -> object:
        if file == str(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(file, *rest, **more)

    return refused


async def test_a_folder_with_an_entry_of_unknown_type_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Entry:
        name, path = "a.yaml", str(tmp_path / "a.yaml")

        def is_dir(self, *, follow_symlinks: bool) -> bool:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    class Entries(list[Entry]):
        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    (tmp_path / "a.yaml").write_text(proxy("a"))
    scandir = os.scandir
    async with following(tmp_path) as follower:
        monkeypatch.setattr(os, "scandir", lambda _: Entries([Entry()]))
        (tmp_path / "folder").mkdir()
        await follower.until(lambda: bool(follower.complaints))
        assert follower.messages == [
            "cannot list the folder: Stale file handle; its last good objects stay"
        ]
        monkeypatch.setattr(os, "scandir", scandir)
        await follower.until(lambda: not follower.complaints)
        assert list(follower.fqdns) == ["a"]


def test_a_folder_whose_file_system_is_unmounted_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = inotify.Watcher()
    try:
        watcher.watch([str(tmp_path)])
        unmount = struct.pack("iIII", 1, 0x2000, 0, 0)  # IN_UNMOUNT of inotify(7)
        told = iter((unmount, b""))
        monkeypatch.setattr(inotify, "_read", lambda _: next(told))
        assert list(watcher.notices()) == [inotify.Notice(str(tmp_path), "", EventType.FOLDER)]
    finally:
        watcher.close()


async def test_a_folder_that_is_empty_on_another_file_system_keeps_its_last_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a network file system was unmounted, and its folder is that of the machine."""
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a second file system")
    with tempfile.TemporaryDirectory(dir=shared) as empty:
        (tmp_path / "one").mkdir()
        (tmp_path / "one" / "a.yaml").write_text(proxy("a"))
        (tmp_path / "it").symlink_to("one")
        async with following(tmp_path / "it") as follower:
            lead(tmp_path / "it", empty)
            await follower.until(lambda: bool(follower.complaints))
            assert follower.messages == [
                "the folder is empty, and on another file system than before; "
                "its last good objects stay"
            ]
            lead(tmp_path / "it", "one")
            (tmp_path / "one" / "a.yaml").write_text(proxy("a", NEW))
            await follower.until(lambda: follower.fqdns == {"a": NEW})
            assert not follower.complaints
            assert not follower.gone
            (tmp_path / "one" / "a.yaml").unlink()
            await follower.until(lambda: not follower.fqdns)


def lead(link: Path, where: str) -> None:
    fresh = link.with_name(".fresh")
    fresh.symlink_to(where)
    fresh.replace(link)


async def test_a_folder_that_takes_long_to_list_is_not_listed_for_each_file_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_often(monkeypatch)
    monkeypatch.setattr(tracking, "LOOK_EVERY", 0.01)
    done: list[str] = []
    listed, content = listing.listed, reading.content

    def slowly(*known: Any) -> listing.Listing:
        done.append("list")
        time.sleep(0.02)
        return listed(*known)

    def noted(file: ManifestSource) -> reading.Content:
        done.append("read")
        return content(file)

    for version in ("one", "two"):
        (tmp_path / version).mkdir()
        for number in range(20):
            text = proxy(f"p{number}", f"{version}.example.com")
            (tmp_path / version / f"{number}.yaml").write_text(text)
    (tmp_path / "it").symlink_to("one")
    monkeypatch.setattr(listing, "listed", slowly)
    async with following(tmp_path / "it") as follower:
        monkeypatch.setattr(reading, "content", noted)
        lead(tmp_path / "it", "two")
        await follower.until(lambda: set(follower.fqdns.values()) == {"two.example.com"})
    assert " ".join(["read"] * 20) in " ".join(done)
