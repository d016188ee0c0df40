"""Ports that a test draws belong to its process."""

import random
import subprocess
import sys

import pytest

from tests.testbed import ports

_ANOTHER = """
import random
from tests.testbed import ports
ports._CHANCE = random.Random(1)
print(*ports.free_ports(20), flush=True)
input()
"""


def test_what_another_test_run_has_drawn_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_CHANCE", random.Random(1))
    command, pipe = [sys.executable, "-c", _ANOTHER], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as another:
        assert another.stdout is not None
        theirs = {*map(int, another.stdout.readline().split())}
        ours = {*ports.free_ports(20)}
        another.communicate("\n")
    assert (len(theirs), len(ours), theirs & ours) == (20, 20, set())
