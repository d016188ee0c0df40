"""The rate limit service as a child process."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from contour.ratelimits.child import Child, Keeper
from tests.contour.ratelimits.asking import eventually


async def test_where_no_process_can_be_made_it_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refused(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refused)
    it = Child("unix:/nowhere", "127.0.0.1:0", tmp_path / "log")
    keeper = asyncio.ensure_future(Keeper(lambda: it).run())
    told = "the rate limit service cannot be started: Resource temporarily unavailable"
    await eventually(lambda: caplog.messages[1:2] == [f"{told}; see {tmp_path / 'log'}"])
    assert not keeper.done()
    keeper.cancel()
    await asyncio.wait((keeper,))
