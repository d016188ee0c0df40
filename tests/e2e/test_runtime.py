"""Settings that Envoy reads anew while it serves: no listener is replaced, no connection cut."""

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator

import pytest

from contour import host, rundir
from tests.e2e.standalone import Standalone, exchange, manifest, standalone
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_URL = "http://live.example.com/"


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    files = {name: manifest(name) for name in ("services.yaml", "live.yaml")}
    with standalone(tmp_path_factory.mktemp("tuned"), files) as running:
        yield running


def _configure(instance: Standalone, envoy: str) -> None:
    instance.write(
        "configuration.yaml",
        "apiVersion: projectcontour.io/v1alpha1\nkind: ContourConfiguration\n"
        f"metadata: {{name: contour}}\nspec: {{envoy: {envoy}}}\n",
    )


def _runtime(instance: Standalone) -> dict[str, str]:
    """What holds in Envoy now, whichever layer says it."""
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.connect(str(rundir.socket(instance.state, host.ADMIN)))
        client = http.client.HTTPConnection("envoy")
        client.sock = connection
        client.request("GET", "/runtime")
        entries = json.loads(client.getresponse().read())["entries"]
    return {key: it["final_value"] for key, it in entries.items()}


def test_a_listener_takes_so_many_connections_and_keeps_those_it_has(tuned: Standalone) -> None:
    with contextlib.closing(tuned.connection("http", "live.example.com")) as old:
        assert exchange(old, "live.example.com", "/").backend == "one"
        _configure(tuned, "{listener: {maxConnectionsPerListener: 1}}")
        wait(lambda: _is_turned_away(tuned), "a connection turned away")
        assert exchange(old, "live.example.com", "/").backend == "one"
        _configure(tuned, "{}")
        wait(lambda: not _is_turned_away(tuned), "a connection taken")
        assert exchange(old, "live.example.com", "/").backend == "one"


def _is_turned_away(instance: Standalone) -> bool:
    try:
        return instance.ask(_URL).backend != "one"
    except (ConnectionError, http.client.HTTPException):
        return True


def test_keys_of_users_hold_but_none_lets_larger_expressions_in(tuned: Standalone) -> None:
    wanted = {"upstream.healthy_panic_threshold": "7", "some.switch": "true", "some.text": "abc"}
    listener = {"maxRequestsPerIOCycle": 3}
    _configure(tuned, json.dumps({"runtimeSettings": wanted, "listener": listener}))
    wait(lambda: wanted.keys() <= _runtime(tuned).keys(), "the keys")
    assert wanted.items() <= _runtime(tuned).items()
    assert _runtime(tuned)["http.max_requests_per_io_cycle"] == "3"
    reserved = "re2.max_program_size.error_level"
    _configure(tuned, json.dumps({"runtimeSettings": {reserved: "1000000"}}))
    tuned.until_told("ContourConfiguration default/contour", reserved)
    assert _runtime(tuned)[reserved] == "1000"
    assert wanted.items() <= _runtime(tuned).items(), "the last good configuration holds"
    _configure(tuned, "{}")
    wait(lambda: not wanted.keys() & _runtime(tuned).keys(), "the end of the keys")


def test_options_of_sockets_wait_for_the_next_start_and_say_so(tuned: Standalone) -> None:
    _configure(tuned, "{listener: {socketOptions: {tos: 32}, maxRequestsPerConnection: 9}}")
    tuned.until_told(
        "ContourConfiguration default/contour", "socketOptions: takes effect at the next start"
    )
    wait(lambda: tuned.statistic("listener_manager.listener_modified") > 0, "another listener")
    told = tuned.reasons("ContourConfiguration default/contour")
    assert "Envoy refuses" not in told
    assert tuned.ask(_URL).backend == "one"
    _configure(tuned, "{}")
    wait(lambda: not tuned.reasons("ContourConfiguration default/contour"), "nothing to tell")
