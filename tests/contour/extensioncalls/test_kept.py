"""Answers on disk: what is served survives the end of the process at any moment."""

import shutil
from pathlib import Path

from tests.contour.extensioncalls.served import (
    WORLD,
    add_header,
    changing,
    extension,
    instance,
    running,
    shaped,
)


async def test_what_is_served_is_on_disk_already(tmp_path: Path) -> None:
    answers, left = tmp_path / "answers", tmp_path / "left"
    async with shaped(changing(add_header), answers=answers) as of:
        (server,) = of.servers
        of.take(WORLD.root(3, "/new"))
        await of.until(lambda: "/new" in of.paths(3))
        shutil.copy(answers, left)  # as a process leaves it that is killed now
        before, entry = [of.host(it) for it in range(WORLD.hosts)], extension(server)
    made = instance(entry, answers=left)
    async with running(made, server) as of:
        of.take(*WORLD.documents(), WORLD.root(3, "/new"))
        await made.asker.begin()
        assert [of.host(it) for it in range(WORLD.hosts)] == before
