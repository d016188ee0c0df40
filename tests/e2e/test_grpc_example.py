"""The example of gRPC without a proxy: what a newcomer runs does what its README says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_ports
from tests.testbed.processes import ROOT

pytestmark = pytest.mark.envoy


def test_calls_go_on_while_one_of_two_planes_is_killed(tmp_path: Path) -> None:
    example = shutil.copytree(ROOT / "manifests/examples/grpc-clients", tmp_path / "example")
    _move_ports(example)
    here = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [example / "run.sh"], env={**os.environ, "PATH": here, "SECONDS_EACH": "6"},
        capture_output=True, text=True, timeout=2 * PATIENCE, check=False,
    )  # fmt: skip
    before, after = (
        re.findall(r"^xds://.*", it, re.M) for it in done.stdout.split("--- plane east is killed")
    )
    assert before, done.stderr
    assert after, done.stderr
    wanted = "xds://east.example/echo.shop -> east (5), xds://west.example/echo.shop -> west (5)"
    assert {*before, *after} == {wanted}


def _move_ports(example: Path) -> None:
    """Tests that run beside this one have the example's ports, perhaps."""
    numbers = ("50051", "50052", "18080", "18443", "28080", "28443")
    fresh = dict(zip(numbers, map(str, free_ports(len(numbers))), strict=True))
    for path in example.rglob("*.*"):
        text = path.read_text()
        for number, port in fresh.items():
            text = text.replace(number, port)
        path.write_text(text)
