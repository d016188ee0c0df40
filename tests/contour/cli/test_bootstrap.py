"""`contour bootstrap`: what it writes is what an Envoy starts with."""

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contour.cli import main
from contour.host import installation
from tests.contour.xds import certificates


def bootstrap(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["bootstrap", *arguments])


def test_without_options_it_leads_to_the_control_plane_beside_envoy() -> None:
    result = bootstrap()
    assert result.exit_code == 0
    shown = json.loads(result.stdout)
    assert shown["node"] == {"id": "envoy", "cluster": "contour"}
    assert "ads_config" in shown["dynamic_resources"]
    assert '"port_value": 8001' in result.stdout


@pytest.mark.envoy
def test_envoy_accepts_it_over_a_socket(tmp_path: Path) -> None:
    path = tmp_path / "envoy.json"
    result = bootstrap(str(path), "--xds-socket", str(tmp_path / "xds.sock"), "--node", "one")
    assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads(path.read_text())["node"]["id"] == "one"
    _require_valid(path)


@pytest.mark.envoy
def test_envoy_accepts_it_with_certificates(tmp_path: Path) -> None:
    authority = certificates.authority()
    pair = certificates.issued(authority, "envoy")
    certificate, key, trusted = certificates.write(pair, authority, tmp_path)
    path = tmp_path / "envoy.json"
    result = bootstrap(
        *(str(path), "--xds-address", "contour.example.com", "--overload-max-heap", "500000000"),
        *("--envoy-cert-file", str(certificate), "--envoy-key-file", str(key)),
        *("--envoy-cafile", str(trusted), "--resources-dir", str(tmp_path)),
    )
    assert result.exit_code == 0, result.output
    _require_valid(path)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--envoy-cafile", "ca.crt"], "go together"),
        (["--xds-port", "0"], "--xds-port"),
        (["/nowhere/at/all.json"], "/nowhere/at/all.json"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], told: str) -> None:
    result = bootstrap(*arguments)
    assert result.exit_code == 2
    assert told in result.stderr


def _require_valid(path: Path) -> None:
    done = subprocess.run(
        [str(installation.binary()), "--mode", "validate", "--config-path", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
