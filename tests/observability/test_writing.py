"""Lines for standard error while nobody reads it."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from time import monotonic

import pytest

from observability import writing
from observability.writing import Unwaiting
from tests.testbed.patience import PATIENCE
from tests.testbed.processes import wait

PIPE_SIZE = 4096  # bytes
LINE = "line {:4}\n"
_PROGRAM = """
import asyncio, logging
from observability import logs
from observability.signals import StopSignals, run

async def main():
    stopped = StopSignals().stopped
    logs.configure("json")
    for number in range(2000):
        logging.error("line %d %s", number, 1000 * "x")
    print("started", flush=True)
    await stopped.wait()
    print("stopping", flush=True)
    await asyncio.sleep(60)

run(main())
"""


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    yield reader, writer
    os.close(reader)
    os.close(writer)


def test_lines_keep_their_order_and_what_is_lost_is_counted(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MOST_WAITING", 3 * PIPE_SIZE)
    reader, writer = pipe
    text, read = Unwaiting(writer), ""

    def said(end: str) -> list[str]:
        nonlocal read
        while not read.endswith(end):
            read += os.read(reader, PIPE_SIZE).decode()
        return read.splitlines(keepends=True)

    for number in range(2000):
        text.write(LINE.format(number).encode())
    *written, lost = said("standard error\n")
    assert written == [LINE.format(it) for it in range(len(written))]
    assert lost == f"{2000 - len(written)} lines were lost: nobody read standard error\n"
    text.write(b"and on\n")
    assert said("on\n")[len(written) + 1 :] == ["and on\n"]


def test_a_line_that_is_longer_than_what_may_wait_is_taken_if_nothing_waits(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MOST_WAITING", 10)
    os.set_blocking(pipe[0], False)
    text = Unwaiting(pipe[1])
    for line in (b"long, but short for a pipe\n", b"after\n"):
        text.write(line)
        text.drain(PATIENCE)
        assert os.read(pipe[0], PIPE_SIZE) == line


@pytest.mark.parametrize("blocks", [True, False])
def test_the_end_waits_for_what_is_read_but_not_for_ever(
    pipe: tuple[int, int], blocks: bool
) -> None:
    reader, writer = pipe
    os.set_blocking(writer, blocks)
    text = Unwaiting(writer)
    text.write(2 * PIPE_SIZE * b"x")
    began = monotonic()
    text.drain(0.1)
    assert 0.1 <= monotonic() - began < PIPE_SIZE
    assert os.read(reader, PIPE_SIZE) == PIPE_SIZE * b"x"
    text.drain(PATIENCE)
    assert os.read(reader, PIPE_SIZE) == PIPE_SIZE * b"x"


def test_a_descriptor_that_refuses_lines_costs_these_alone(pipe: tuple[int, int]) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    text = Unwaiting(full)
    text.write(b"lost\n")
    text.drain(PATIENCE)
    os.dup2(pipe[1], full)
    text.write(b"kept\n")
    text.drain(PATIENCE)
    assert os.read(pipe[0], PIPE_SIZE) == b"kept\n"


def test_a_process_whose_log_nobody_reads_goes_on_and_ends_when_told() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        for said in ("started", "stopping"):
            assert program.stdout.readline() == f"{said}\n"
            program.send_signal(signal.SIGTERM)
        try:
            wait(lambda: program.poll() is not None, "the end", 30)
        finally:
            program.kill()
    assert program.returncode == 130
