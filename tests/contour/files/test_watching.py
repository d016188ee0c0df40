"""Following real files through the kernel's notices."""

import asyncio
import os
import shutil
from functools import partial
from pathlib import Path

import pytest

from contour import files
from contour.complaints import ManifestSource
from contour.files import inotify, reading, schedule, tracking
from tests.contour.files.written import Follower, broken, following, proxy, stream


def replace(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}.tmp")
    beside.write_text(text)
    beside.replace(path)


async def settled(follower: Follower, folder: Path) -> None:
    """Everything before this has been quiet long enough: a deletion after it has been told."""
    path = folder / "last.yaml"
    path.write_text(proxy("last"))
    await follower.until(lambda: "last" in follower.fqdns)
    path.unlink()
    await follower.until(lambda: "last" not in follower.fqdns)


async def test_a_new_file_an_edit_and_a_deletion_are_told(tmp_path: Path) -> None:
    async with following(tmp_path) as follower:
        path = tmp_path / "a.yaml"
        path.write_text(proxy("a"))
        await follower.until(lambda: follower.fqdns == {"a": "example.com"})
        path.write_text(proxy("a", "new.example.com"))
        await follower.until(lambda: follower.fqdns == {"a": "new.example.com"})
        path.unlink()
        await follower.until(lambda: not follower.fqdns)


async def test_what_changes_between_reading_and_following_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(proxy("a"))
    manifests, follower = files.Manifests([tmp_path]), Follower()
    follower.take(manifests.read())
    path.write_text(proxy("a", "sample.com"))
    (tmp_path / "b.yaml").write_text(proxy("b"))
    task = asyncio.ensure_future(follower.follow(manifests))
    await follower.until(lambda: follower.fqdns == {"a": "sample.com", "b": "example.com"})
    task.cancel()


async def test_no_host_vanishes_while_a_slow_writer_writes(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    names = [f"host-{n}" for n in range(40)]
    path.write_text(stream(*(proxy(name) for name in names)))
    async with following(tmp_path) as follower, asyncio.TaskGroup() as tasks:
        for load in range(4):
            tasks.create_task(rewrite_often(tmp_path / f"load-{load}.yaml"))
        pauses = {"first": 0.0, "second": 0.002, "third": 1.5 * schedule.CLOSED.before_releasing}
        for which, pause in pauses.items():
            text = stream(*(proxy(name, f"{which}.example.com") for name in names))
            await write_slowly(path, text, pause)
            fqdn = f"{which}.example.com"
            await follower.until(partial(serves, follower, dict.fromkeys(names, fqdn)))
        await settled(follower, tmp_path)
        assert follower.gone == ["last"]
        assert not follower.complaints
        hosts = [it.object for it in follower.events if it.object and it.key.name in names]
        assert len(hosts) == 40 * 4
        assert all(len(it.spec.routes) == 1 for it in hosts)


def serves(follower: Follower, expected: dict[str, str]) -> bool:
    return expected.items() <= follower.fqdns.items()


async def write_slowly(path: Path, text: str, pause: float) -> None:
    with open(path, "w") as file:
        for start in range(0, len(text), len(text) // 4):
            await asyncio.sleep(pause)
            file.write(text[start : start + len(text) // 4])
            file.flush()


async def rewrite_often(path: Path) -> None:
    for round_ in range(30):
        with open(path, "w") as file:
            for part in range(5):
                await asyncio.sleep(0.002)
                file.write("---\n" + proxy(f"{path.stem}-{part}", f"round-{round_ // 10}.com"))
                file.flush()


async def test_a_file_that_a_writer_opens_while_it_is_read_is_not_taken_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, content = tmp_path / "a.yaml", reading.content
    path.write_text(stream(proxy("a"), proxy("b")))
    writers: list[int] = []

    def interrupted(file: ManifestSource) -> reading.Content:
        if file == str(path) and not writers:
            writers.append(os.open(path, os.O_WRONLY | os.O_TRUNC))
            os.write(writers[0], proxy("a", "half.example.com").encode())
        return content(file)

    async with following(tmp_path) as follower:
        await settled(follower, tmp_path)
        monkeypatch.setattr(reading, "content", interrupted)
        path.write_text(stream(proxy("a", "whole.example.com"), proxy("b")))
        await settled(follower, tmp_path)
        assert follower.fqdns == {"a": "example.com", "b": "example.com"}
        os.write(writers[0], f"---\n{proxy('b', 'half.example.com')}".encode())
        os.close(writers[0])
        await follower.until(lambda: set(follower.fqdns.values()) == {"half.example.com"})
        assert follower.gone == ["last", "last"]


async def test_a_file_that_cannot_be_read_any_more_keeps_what_it_gave(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(proxy("a"))
    async with following(tmp_path) as follower:
        with open(path, "r+b") as file:
            file.truncate(300 << 20)
        await follower.until(lambda: bool(follower.complaints))
        await settled(follower, tmp_path)
        assert follower.fqdns == {"a": "example.com"}
        path.write_text(proxy("a", "new.example.com"))
        await follower.until(lambda: follower.fqdns == {"a": "new.example.com"})
        assert not follower.complaints


async def test_a_writer_that_closes_what_it_has_truncated_has_a_moment_to_go_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(stream(proxy("a"), proxy("b")))
    async with following(tmp_path) as follower:
        path.write_text("")
        (tmp_path / "c.yaml").write_text(proxy("c"))
        await follower.until(lambda: "c" in follower.fqdns)
        with open(path, "a") as file:
            file.write(proxy("a", "new.example.com") + "---\n")
        await follower.until(lambda: follower.fqdns["a"] == "new.example.com")
        with open(path, "a") as file:
            file.write(proxy("b"))
        await settled(follower, tmp_path)
        assert follower.gone == ["last"]


async def test_an_atomic_replacement_acts_at_once_also_by_what_it_leaves_out(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(stream(proxy("a"), proxy("b")))
    async with following(tmp_path) as follower:
        await settled(follower, tmp_path)
        before = follower.batches
        replace(path, proxy("a", "new.example.com"))
        await follower.until(lambda: follower.fqdns == {"a": "new.example.com"})
        assert follower.batches == before + 1


async def test_an_editor_that_renames_and_writes_anew_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(proxy("a"))
    async with following(tmp_path) as follower:
        path.rename(tmp_path / "a.yaml~")
        (tmp_path / "b.yaml").write_text(proxy("b"))
        await follower.until(lambda: "b" in follower.fqdns)
        path.write_text(proxy("a", "new.example.com"))
        (tmp_path / "a.yaml~").unlink()
        await follower.until(lambda: follower.fqdns["a"] == "new.example.com")
        await settled(follower, tmp_path)
        assert follower.gone == ["last"]


async def test_a_renamed_file_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(proxy("a"))
    async with following(tmp_path) as follower:
        (tmp_path / "a.yaml").rename(tmp_path / "z.yaml")
        await settled(follower, tmp_path)
        assert follower.gone == ["last"]
        (tmp_path / "z.yaml").write_text(proxy("a", "new.example.com"))
        await follower.until(lambda: follower.fqdns == {"a": "new.example.com"})


async def test_a_mounted_configmap_changes_all_at_once(tmp_path: Path) -> None:
    def publish(version: str, *names: str) -> None:
        folder = tmp_path / f"..{version}"
        folder.mkdir()
        for name in names:
            (folder / f"{name}.yaml").write_text(proxy(name, f"{version}.example.com"))
        (tmp_path / "..data_tmp").symlink_to(folder.name)
        (tmp_path / "..data_tmp").replace(tmp_path / "..data")

    publish("one", "a", "b", "c")
    for name in "abcd":
        (tmp_path / f"{name}.yaml").symlink_to(f"..data/{name}.yaml")
    async with following(tmp_path) as follower:
        await settled(follower, tmp_path)
        before = follower.batches
        publish("two", "a", "b", "d")
        shutil.rmtree(tmp_path / "..one")
        await follower.until(lambda: follower.fqdns == dict.fromkeys("abd", "two.example.com"))
        assert follower.batches == before + 1
        assert follower.gone == ["last", "c"]


async def test_a_file_in_a_mounted_configmap_is_followed_by_its_name(tmp_path: Path) -> None:
    for version in ("one", "two"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "a.yaml").write_text(proxy("a", f"{version}.example.com"))
    (tmp_path / "..data").symlink_to("one")
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")
    async with following(tmp_path / "a.yaml") as follower:
        (tmp_path / "..new").symlink_to("two")
        (tmp_path / "..new").replace(tmp_path / "..data")
        await follower.until(lambda: follower.fqdns == {"a": "two.example.com"})


@pytest.mark.parametrize("other", ["link before", "link after", "hard link", "folder", "file"])
async def test_a_file_of_several_names_is_one_file_whatever_happens_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    monkeypatch.setattr(tracking, "LOOK_EVERY", 3600.0)
    folder, path = tmp_path / "it", tmp_path / "it" / "m.yaml"
    folder.mkdir()
    path.write_text(proxy("a"))
    paths = [folder]
    match other:
        case "link before" | "link after":
            (folder / f"{'a' if other == 'link before' else 'z'}.yaml").symlink_to("m.yaml")
        case "hard link":
            (folder / "a.yaml").hardlink_to(path)
        case "folder":
            (tmp_path / "again").symlink_to("it")
            paths.insert(0, tmp_path / "again")
        case _:
            paths.insert(0, tmp_path / "it" / ".." / "it" / "m.yaml")
    async with following(*paths) as follower:
        await settled(follower, folder)
        path.write_text(proxy("a", "new.example.com"))
        await follower.until(lambda: follower.fqdns == {"a": "new.example.com"})
        await settled(follower, folder)
        replace(path, proxy("a", "replaced.example.com"))
        if other == "hard link":  # which is another file from now on
            await follower.until(lambda: bool(follower.complaints))
            (folder / "a.yaml").unlink()
        await follower.until(lambda: follower.fqdns == {"a": "replaced.example.com"})
        await settled(follower, folder)
        assert not follower.complaints
        path.unlink()
        await follower.until(lambda: not follower.fqdns)


async def test_a_name_of_a_file_that_goes_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "LOOK_EVERY", 3600.0)
    path = tmp_path / "a.yaml"
    path.write_text(proxy("a"))
    (tmp_path / "b.yaml").hardlink_to(path)
    async with following(tmp_path) as follower:
        await settled(follower, tmp_path)
        path.unlink()
        await settled(follower, tmp_path)
        (tmp_path / "b.yaml").write_text(proxy("a", "new.example.com"))
        await follower.until(lambda: follower.fqdns == {"a": "new.example.com"})
        await settled(follower, tmp_path)
        assert not follower.complaints
        assert follower.gone == ["last"] * 3


async def test_an_editor_that_writes_a_file_of_several_names_anew_leaves_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "LOOK_EVERY", 1.0)
    path, other = tmp_path / "it" / "m.yaml", tmp_path / "it" / ".." / "it" / "m.yaml"
    path.parent.mkdir()
    path.write_text(proxy("a"))
    async with following(other, path.parent) as follower:
        await settled(follower, path.parent)
        path.rename(tmp_path / "backup")
        path.write_text(proxy("a", "new.example.com"))
        await follower.until(lambda: follower.fqdns == {"a": "new.example.com"})
        await settled(follower, path.parent)
        await follower.until(lambda: not follower.complaints)


async def test_what_a_link_leads_to_is_followed(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside").mkdir()
    target = tmp_path / "outside" / "a.yaml"
    target.write_text(proxy("a"))
    async with following(tmp_path / "inside") as follower:
        (tmp_path / "inside" / "link.yaml").symlink_to(target)
        await follower.until(lambda: follower.fqdns == {"a": "example.com"})
        (tmp_path / "outside" / "other.yaml").write_text(proxy("other"))
        target.write_text(proxy("a", "new.example.com"))
        await follower.until(lambda: follower.fqdns["a"] == "new.example.com")
        assert list(follower.fqdns) == ["a"]


@pytest.mark.parametrize("path", ["current", "current/deep", "current/deep/a.yaml"])
@pytest.mark.parametrize("is_here", [True, False])
async def test_what_is_given_by_a_link_is_followed_when_the_link_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, *, is_here: bool
) -> None:
    monkeypatch.setattr(tracking, "LOOK_EVERY", 3600.0)
    monkeypatch.chdir(tmp_path)
    for version, other in (("one", "b"), ("two", "c")):
        (tmp_path / version / "deep").mkdir(parents=True)
        text = stream(proxy("a", f"{version}.example.com"), proxy(other, f"{version}.example.com"))
        (tmp_path / version / "deep" / "a.yaml").write_text(text)
        (tmp_path / version / "deep" / f"{other}.yaml").write_text(proxy(f"{other}{other}"))
    (tmp_path / "current").symlink_to("one")
    async with following(Path(path) if is_here else tmp_path / path) as follower:
        first = tmp_path / "one" / "deep" / "a.yaml"
        first.write_text(first.read_text().replace("one.", "begun."))
        await follower.until(lambda: follower.fqdns["b"] == "begun.example.com")
        before = follower.batches
        (tmp_path / "next").symlink_to("two")
        (tmp_path / "next").replace(tmp_path / "current")
        await follower.until(lambda: follower.fqdns["a"] == "two.example.com")
        assert follower.batches == before + 1
        assert not follower.fqdns.keys() & {"b", "bb"}


async def test_new_folders_are_watched(tmp_path: Path) -> None:
    async with following(tmp_path) as follower:
        deep = tmp_path / "x" / "y" / "z"
        deep.mkdir(parents=True)
        (deep / "a.yaml").write_text(proxy("a"))
        await follower.until(lambda: "a" in follower.fqdns)
        (deep / "a.yaml").write_text(proxy("a", "new.example.com"))
        await follower.until(lambda: follower.fqdns == {"a": "new.example.com"})


async def test_a_folder_that_is_moved_or_deleted_takes_its_files_along(tmp_path: Path) -> None:
    (tmp_path / "in" / "one").mkdir(parents=True)
    (tmp_path / "in" / "one" / "a.yaml").write_text(proxy("a"))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "b.yaml").write_text(proxy("b"))
    async with following(tmp_path / "in") as follower:
        (tmp_path / "in" / "one").rename(tmp_path / "in" / "two")
        (tmp_path / "b").rename(tmp_path / "in" / "b")
        await follower.until(lambda: sorted(follower.fqdns) == ["a", "b"])
        (tmp_path / "in" / "two" / "a.yaml").write_text(proxy("a", "new.example.com"))
        await follower.until(lambda: follower.fqdns["a"] == "new.example.com")
        assert not follower.gone
        shutil.rmtree(tmp_path / "in" / "two")
        (tmp_path / "in" / "b").rename(tmp_path / "out")
        await follower.until(lambda: not follower.fqdns)


async def test_a_folder_that_vanishes_keeps_its_last_state_and_is_complained_about(
    tmp_path: Path,
) -> None:
    root = tmp_path / "manifests"
    root.mkdir()
    (root / "a.yaml").write_text(proxy("a"))
    (root / "b.yaml").write_text(proxy("b"))
    async with following(root) as follower:
        root.rename(tmp_path / "elsewhere")
        await follower.until(lambda: bool(follower.complaints))
        assert follower.messages == [
            "cannot list the folder: No such file or directory; its last good objects stay"
        ]
        (tmp_path / "elsewhere" / "a.yaml").unlink()
        (tmp_path / "elsewhere").rename(root)
        await follower.until(lambda: follower.fqdns == {"b": "example.com"})
        assert not follower.complaints
        assert follower.healed == [str(root)]


async def test_a_link_is_told_while_it_leads_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to("a.txt")
    async with following(tmp_path) as follower:
        assert follower.messages == [
            "ignored: it is a link that cannot be followed (No such file or directory)"
        ]
        (tmp_path / "a.txt").write_text(proxy("a"))
        (tmp_path / "other").symlink_to("a.txt")
        (tmp_path / "other").rename(tmp_path / "a.yaml")
        await follower.until(lambda: follower.fqdns == {"a": "example.com"})
        assert not follower.complaints


async def test_a_broken_edit_keeps_the_last_good_version_until_it_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(proxy("a"))
    async with following(tmp_path) as follower:
        path.write_text(broken("a"))
        await follower.until(lambda: bool(follower.complaints))
        await settled(follower, tmp_path)
        assert follower.fqdns == {"a": "example.com"}
        path.write_text(proxy("a", "new.example.com"))
        await follower.until(lambda: follower.fqdns == {"a": "new.example.com"})
        assert not follower.complaints


async def test_changes_while_the_consumer_is_busy_become_one_batch(tmp_path: Path) -> None:
    manifests = files.Manifests([tmp_path])
    assert manifests.read().is_empty
    changes = manifests.changes()
    (tmp_path / "a.yaml").write_text(proxy("a"))
    assert len((await anext(changes)).events) == 1
    for number in range(50):
        (tmp_path / f"b{number}.yaml").write_text(proxy(f"b{number}"))
    assert len((await anext(changes)).events) == 50
    await changes.aclose()


async def test_one_changed_file_costs_only_that_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(200):
        (tmp_path / f"{number}.yaml").write_text(proxy(f"p{number}"))
    read: list[str] = []
    async with following(tmp_path) as follower:
        await settled(follower, tmp_path)
        content = reading.content

        def noted(file: ManifestSource) -> reading.Content:
            read.append(file)
            return content(file)

        monkeypatch.setattr(reading, "content", noted)
        path = tmp_path / "7.yaml"
        path.write_text(proxy("p7", "new.example.com"))
        await follower.until(lambda: follower.fqdns["p7"] == "new.example.com")
    assert read == [str(path)]


async def test_without_inotify_files_are_looked_at_in_intervals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(inotify, "Watcher", no_instances_left)
    quick = schedule.Waits(0.05, 0.1)
    monkeypatch.setattr(schedule, "POLLED", quick)
    monkeypatch.setattr(tracking, "LOOK_EVERY_BLIND", 0.05)
    (tmp_path / "a.yaml").write_text(proxy("a"))
    async with following(tmp_path) as follower:
        (tmp_path / "a.yaml").write_text(proxy("a", "new.example.com"))
        (tmp_path / "b.yaml").write_text(proxy("b"))
        await follower.until(lambda: follower.fqdns == {"a": "new.example.com", "b": "example.com"})
        (tmp_path / "b.yaml").unlink()
        await follower.until(lambda: list(follower.fqdns) == ["a"])
    assert "inotify failed: Too many open files" in caplog.text


def no_instances_left() -> inotify.Watcher:
    raise OSError(24, os.strerror(24))


async def test_at_the_limit_of_watches_files_are_looked_at_in_intervals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    watch = inotify.Watcher.watch

    def limited(self: inotify.Watcher, folders: list[str]) -> None:
        watch(self, folders[:2])
        if len(folders) > 2:
            raise OSError(28, os.strerror(28))

    monkeypatch.setattr(inotify.Watcher, "watch", limited)
    monkeypatch.setattr(schedule, "POLLED", schedule.Waits(0.05, 0.1))
    monkeypatch.setattr(tracking, "LOOK_EVERY_BLIND", 0.05)
    async with following(tmp_path) as follower:
        (tmp_path / "a.yaml").write_text(proxy("a"))
        await follower.until(lambda: "a" in follower.fqdns)
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            (tmp_path / name / f"{name}.yaml").write_text(proxy(name))
        await follower.until(lambda: sorted(follower.fqdns) == ["a", "one", "two"])
    assert "No space left on device" in caplog.text
