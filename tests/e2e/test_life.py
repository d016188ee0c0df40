"""The life of `contour run`: its beginning, its end, and the deaths on the way."""

import contextlib
import http.client
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import processes
from tests.testbed.patience import PATIENCE
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_FILES = {name: manifest(name) for name in ("services.yaml", "live.yaml")}
_URL = "http://live.example.com/"


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Standalone]:
    with standalone(tmp_path, _FILES) as running:
        yield running


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[Standalone]:
    """One that waits for open requests for longer than the test lasts."""
    with standalone(tmp_path, _FILES, drain_seconds=100) as running:
        yield running


def test_requests_that_go_on_are_finished_and_new_ones_refused(patient: Standalone) -> None:
    instance, [envoy] = patient, _children(patient)
    connection = http.client.HTTPConnection("127.0.0.1", instance.ports["http"], timeout=10)
    with contextlib.closing(connection):
        connection.request("GET", "/stream?seconds=0.5", headers={"Host": "live.example.com"})
        response = connection.getresponse()
        assert response.readline()
        instance.process.send(signal.SIGTERM)
        _wait_until_refused(instance)
        assert len(response.read().splitlines()) == 9
    assert instance.process.wait() == 0
    assert not Path(f"/proc/{envoy}").exists()
    assert "Traceback" not in instance.log.read_text()
    left = {path.name for path in instance.state.iterdir()}
    assert "ready" not in left
    assert not [name for name in left if name.endswith(".sock")]


def test_a_second_ctrl_c_ends_at_once_without_a_traceback(patient: Standalone) -> None:
    instance, [envoy] = patient, _children(patient)
    connection = http.client.HTTPConnection("127.0.0.1", instance.ports["http"], timeout=10)
    with contextlib.closing(connection), open(os.pidfd_open(envoy)) as ended:
        connection.request("GET", "/stream?seconds=25", headers={"Host": "live.example.com"})
        assert connection.getresponse().readline()
        instance.process.send(signal.SIGINT)
        instance.until_logged("draining: 1 request is still open; waiting up to 100 s")
        instance.process.send(signal.SIGINT)
        assert instance.process.wait() == 130
        assert processes.has_ended(ended.fileno(), PATIENCE)
    assert "Traceback" not in instance.log.read_text()


def test_a_run_that_is_killed_leaves_no_envoy_and_can_start_again(
    instance: Standalone, tmp_path: Path
) -> None:
    [envoy] = _children(instance)
    with open(os.pidfd_open(envoy)) as ended:
        instance.process.kill()
        assert processes.has_ended(ended.fileno(), PATIENCE)
    instance.process.wait()
    assert not (instance.state / "ready").exists()
    (tmp_path / "again").mkdir()
    (instance.state).rename(tmp_path / "again" / "state")
    with standalone(tmp_path / "again", _FILES) as again:
        assert again.ask(_URL).backend == "one"


def test_an_envoy_that_is_killed_serves_again_at_once(instance: Standalone) -> None:
    [envoy] = _children(instance)
    os.kill(envoy, signal.SIGKILL)
    wait(lambda: _children(instance) != [envoy], "its end")
    wait(lambda: _answer(instance) == 200, "another Envoy")
    assert instance.process.code is None
    assert "killed by SIGKILL" in instance.log.read_text()


def test_no_request_is_lost_while_a_host_is_edited_again_and_again(instance: Standalone) -> None:
    one = manifest("live.yaml")
    two = one.replace("name: one,", "name: two,")
    for text, backend in [(two, "two"), (one, "one")] * 5:
        (instance.manifests / "live.yaml").write_text(text)
        deadline = monotonic() + PATIENCE
        answer = instance.ask(_URL)
        while answer.backend != backend:
            assert answer.status == 200
            assert monotonic() < deadline
            answer = instance.ask(_URL)


def _wait_until_refused(instance: Standalone) -> None:
    wait(lambda: _answer(instance) is None, "new requests to be refused")


def _answer(instance: Standalone) -> int | None:
    """The status, or None if there is nobody who answers."""
    try:
        return instance.ask(_URL).status
    except (ConnectionError, http.client.HTTPException):
        return None


def _children(instance: Standalone) -> list[int]:
    children = Path(f"/proc/{instance.process.pid}/task/{instance.process.pid}/children")
    return [int(child) for child in children.read_text().split()]
