"""What `contour run` says when it cannot run: one clear line or two, and exit code 2."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.e2e.standalone import Standalone
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_ports
from tests.testbed.processes import CONTOUR

_MANIFEST = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: one}
spec:
  virtualhost: {fqdn: one.example.com}
  routes:
  - directResponsePolicy: {statusCode: 200}
"""


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    assert "nowhere: No such file or directory" in _complaint(tmp_path, tmp_path / "nowhere")


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = _complaint(tmp_path, _manifests(tmp_path), "--map-port", f"80={port}")
    assert f"port {port}" in told
    assert f"process {os.getpid()}" in told
    assert "--map-port 80=PORT" in told


def test_a_missing_envoy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVOY", str(tmp_path / "nothing"))
    assert "there is no executable file" in _complaint(tmp_path, _manifests(tmp_path))


def test_an_envoy_that_dies_in_a_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    envoy = tmp_path / "envoy"
    envoy.write_text("#!/bin/sh\necho 'I have no legs' >&2\nexit 3\n")
    envoy.chmod(0o755)
    monkeypatch.setenv("ENVOY", str(envoy))
    told = _complaint(tmp_path, _manifests(tmp_path))
    assert "exited with status 3" in told
    assert "I have no legs" in told
    assert "never became ready" in told


def test_a_state_directory_that_another_run_has(tmp_path: Path, instance: Standalone) -> None:
    told = _complaint(tmp_path, _manifests(tmp_path), "--state-dir", str(instance.state))
    assert f"in use by process {instance.process.pid}" in told
    assert "--state-dir" in told
    assert instance.ask("http://layers.example.com/").backend == "one"


def _manifests(folder: Path) -> Path:
    (folder / "manifests").mkdir()
    (folder / "manifests" / "one.yaml").write_text(_MANIFEST)
    return folder / "manifests"


def _complaint(folder: Path, manifests: Path, *options: str) -> str:
    """What is said on standard error; the exit code is 2 and there is no traceback."""
    free = [
        f"--map-port={port}={local}" for port, local in zip((80, 443), free_ports(2), strict=True)
    ]
    done = subprocess.run(
        [
            *(*CONTOUR, "run", str(manifests)),
            *("--state-dir", str(folder / "state"), *(options or free)),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr
