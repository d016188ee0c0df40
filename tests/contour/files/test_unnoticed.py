"""Changes of which the kernel tells nothing, or not enough: network file systems, missing files,
and what a file system refuses for a moment."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from contour.complaints import ManifestSource
from contour.files import reading, schedule, tracking
from tests.contour.files.written import following, proxy

NEW = "new.example.com"


def stale(_: ManifestSource) -> reading.Content:
    raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))


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
