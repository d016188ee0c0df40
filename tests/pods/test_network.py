"""Nothing of a runner outlives it, however it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster import assets
from tests.pods import fixtures, network
from tests.testbed import processes

PROGRAM = """
import asyncio, json, pathlib, sys, tempfile
from tests.pods import network, processes, sandbox

async def main():
    folder = pathlib.Path(sys.argv[1])
    with network.Network(1) as net:
        netns, address = net.add_pod()
        box = sandbox.Sandbox(folder / "root", netns, "one", user=65532, groups=(65532,))
        box.root.mkdir()
        log = processes.Log(folder / "log")
        command = box.launch(["/bin/sh", "-c", "echo begun; exec sleep 600"])
        process = processes.Process(command, {}, log, 65532)
        while not (folder / "log").read_text():
            await asyncio.sleep(0.01)
        print(json.dumps([net.name, netns, process.pid]), flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture(autouse=True)
def able() -> None:
    fixtures.demand()


def test_what_a_killed_runner_leaves_is_removed_by_the_next_and_its_processes_die_with_it(
    tmp_path: Path,
) -> None:
    runner = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], cwd=assets.ROOT, stdout=subprocess.PIPE
    )
    assert runner.stdout is not None
    name, netns, pid = json.loads(runner.stdout.readline())
    pidfd = os.pidfd_open(pid)
    runner.kill()
    runner.communicate()
    assert processes.has_ended(pidfd, 10)
    os.close(pidfd)
    with network.Network(1) as net:
        assert not Path("/run/netns", netns).exists()
        assert net.name == name or not Path("/run/netns", name).exists()


def test_two_runners_have_nothing_in_common() -> None:
    with network.Network(1) as one, network.Network(1) as other:
        assert one.range != other.range
        assert one.add_pod()[0] != other.add_pod()[0]
        names = {one.name, other.name}
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True)
    assert not any(f" {it}@" in links.stdout for it in names)


def test_addresses_are_used_again_late() -> None:
    with network.Network(1) as net:
        first = net.add_pod()
        net.remove_pod(*first)
        assert net.add_pod()[1] != first[1]
