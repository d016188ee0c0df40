"""How a process of ours ends."""

import signal
import subprocess
import sys

import pytest

_PROGRAM = """
import asyncio
from showing.signals import StopSignals, run

async def main():
    stopped = StopSignals().stopped
    print("started", flush=True)
    await stopped.wait()
    print("stopping", flush=True)
    await asyncio.sleep(60)

run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_at_once_and_quietly(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        for said in ("started", "stopping"):
            assert program.stdout.readline() == f"{said}\n"
            program.send_signal(number)
        output, errors = program.communicate(timeout=30)
    assert (program.returncode, output, errors) == (130, "", "")
