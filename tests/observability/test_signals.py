"""How a process of ours ends."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from observability.signals import Stopped, StopSignals

_PROGRAM = """
import asyncio, signal, sys
from observability.signals import StopSignals, run

async def main():
    stopped = StopSignals().stopped
    print("started", flush=True)
    await stopped.wait()
    print("stopping", flush=True)
    await asyncio.sleep(float(sys.argv[1]))

run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_at_once_and_quietly(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        for said in ("started", "stopping"):
            assert program.stdout.readline() == f"{said}\n"
            program.send_signal(number)
        output, errors = program.communicate(timeout=30)
    assert (program.returncode, output, errors) == (130, "", "")


@pytest.mark.parametrize("is_ignored", [False, True], ids=["a terminal", "nohup"])
def test_a_terminal_that_is_closed_asks_for_a_shutdown(is_ignored: bool) -> None:
    """It may be told twice, by the shell and the kernel."""
    command = [sys.executable, "-c", _PROGRAM, "0.5"]
    if is_ignored:
        command = ["nohup", *command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "started\n"
        program.send_signal(signal.SIGHUP)
        if is_ignored:
            program.send_signal(signal.SIGTERM)
        assert program.stdout.readline() == "stopping\n"
        program.send_signal(signal.SIGHUP)
        program.communicate(timeout=30)
    assert program.returncode == 0


async def test_work_that_holds_up_the_event_loop_learns_of_a_signal() -> None:
    signals = StopSignals()
    signals.check()
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(Stopped):
        signals.check()
    assert not signals.stopped.is_set()  # no other step of the loop has been since
    async with asyncio.timeout(30):
        await signals.stopped.wait()
