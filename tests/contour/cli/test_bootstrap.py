"""`contour bootstrap`: what it writes is what an Envoy starts with."""

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contour.bootstrap.control_plane import FEDERATION
from contour.cli import main
from contour.host import installation
from tests.testbed import certificates


def bootstrap(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["bootstrap", *arguments])


def test_without_options_it_leads_to_the_control_plane_beside_envoy() -> None:
    result = bootstrap()
    assert result.exit_code == 0
    shown = json.loads(result.stdout)
    assert shown["node"] == {"id": "envoy", "cluster": "contour"}
    assert "ads_config" in shown["dynamic_resources"]
    assert '"port_value": 8001' in result.stdout


def test_what_the_init_container_of_a_pod_asks_for_is_in_it(tmp_path: Path) -> None:
    path, resources = tmp_path / "envoy.json", tmp_path / "resources"
    result = bootstrap(
        *(str(path), "--xds-address", "contour", "--stats-port", "8002", "--node", "envoy-x"),
        *("--envoy-cafile", "/certs/ca.crt", "--envoy-cert-file", "/certs/tls.crt"),
        *("--envoy-key-file", "/certs/tls.key", "--resources-dir", str(resources)),
        *("--overload-downstream-max-conn", "7", "--dns-lookup-family", "v4"),
    )
    assert result.exit_code == 0, result.output
    shown = json.loads(path.read_text())
    (monitoring,) = shown["static_resources"]["listeners"]
    address = {"address": "0.0.0.0", "port_value": 8002}
    assert monitoring["address"]["socket_address"] == address
    assert shown["static_resources"]["clusters"][0]["dns_lookup_family"] == "V4_ONLY"
    assert '"max_active_downstream_connections": "7"' in path.read_text()
    assert {it.name for it in resources.iterdir()} == {
        "xds-authority.json", "xds-certificate.json",
    }  # fmt: skip


def test_bootstraps_written_for_contour_are_understood() -> None:
    """Flags that say nothing here are passed over."""
    result = bootstrap("-", "--namespace", "projectcontour", "--xds-resource-version", "v3")
    assert result.exit_code == 0, result.output


GRPC = ("--grpc", "--namespace", "shop")
AT = ("--authority", "a.example=unix:/a")
EDGE = ("--node-id", "edge")


@pytest.mark.parametrize(
    ("arguments", "servers", "authorities"),
    [
        (("--xds-socket", "/x"), ["unix:/x"], {}),
        (("--xds-address", "10.0.0.7"), ["10.0.0.7:8001"], {}),
        (("--xds-address", "fd00::7"), ["[fd00::7]:8001"], {}),
        (("--xds-address", "[fd00::7]"), ["[fd00::7]:8001"], {}),
        (AT, ["unix:/a"], {"a.example": ["unix:/a"]}),
        ((*AT, "--xds-socket", "/x"), ["unix:/x"], {"a.example": ["unix:/a"]}),
        (
            (*AT, "--authority", "b=h:1,i:2"),
            ["unix:/a"],
            {"a.example": ["unix:/a"], "b": ["h:1", "i:2"]},
        ),
        (
            ("--authority", "a.example=fd00::7:1,[fd00::8]:2"),
            ["[fd00::7]:1", "[fd00::8]:2"],
            {"a.example": ["[fd00::7]:1", "[fd00::8]:2"]},
        ),
    ],
)
def test_a_grpc_application_is_told_its_control_planes(
    arguments: tuple[str, ...], servers: list[str], authorities: dict[str, list[str]]
) -> None:
    result = bootstrap(*GRPC, *arguments)
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert [it["server_uri"] for it in shown["xds_servers"]] == servers
    assert {
        name: [it["server_uri"] for it in found["xds_servers"]]
        for name, found in shown.get("authorities", {}).items()
    } == authorities
    default = shown.get("client_default_listener_resource_name_template", "")
    assert default.startswith("xdstp://a.example/") == bool(authorities)
    assert shown["node"] == {"id": "grpc", "cluster": "grpc:clients/shop"}


def test_a_grpc_application_says_where_it_is() -> None:
    shown = json.loads(bootstrap(*GRPC, *AT, "--zone", "eu-west-1a").stdout)
    assert shown["node"]["locality"] == {"zone": "eu-west-1a"}


@pytest.mark.parametrize(
    ("address", "socket"),
    [
        ("unix:/b", {"pipe": {"path": "/b"}}),
        ("10.0.0.7:8001", {"socket_address": {"address": "10.0.0.7", "port_value": 8001}}),
        ("[::1]:1", {"socket_address": {"address": "::1", "port_value": 1}}),
    ],
)
def test_an_envoy_is_told_whom_to_ask_for_names_of_an_authority(
    address: str, socket: dict[str, object]
) -> None:
    result = bootstrap(*EDGE, "--authority", f"b.example={address}")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    clusters = {it["name"]: it for it in shown["static_resources"]["clusters"]}
    (group,) = clusters["contour:b.example"]["load_assignment"]["endpoints"]
    assert group["lb_endpoints"][0]["endpoint"]["address"] == socket
    (source,) = shown["config_sources"]
    assert source["authorities"] == [{"name": "b.example"}]
    (asked,) = source["api_config_source"]["grpc_services"]
    assert asked["envoy_grpc"]["cluster_name"] == "contour:b.example"
    layers = shown["layered_runtime"]["layers"]
    assert any(FEDERATION in it.get("static_layer", {}) for it in layers)
    plain = bootstrap(*EDGE).stdout
    assert FEDERATION not in plain
    assert "config_sources" not in plain


FILES = ("--envoy-cafile", "a", "--envoy-cert-file", "c", "--envoy-key-file", "k")
SOCKET = ("--xds-socket", "/x")


@pytest.mark.parametrize(
    ("own", "other", "encrypted"),
    [
        (SOCKET, "h:1", {"contour:b"}),
        (("--xds-address", "g"), "unix:/y", {"contour"}),
        (("--xds-address", "g"), "h:1", {"contour", "contour:b"}),
    ],
)
def test_an_envoy_speaks_tls_with_control_planes_that_are_not_on_a_socket(
    own: tuple[str, ...], other: str, encrypted: set[str], tmp_path: Path
) -> None:
    files = (*FILES, "--resources-dir", str(tmp_path))
    result = bootstrap(*EDGE, *own, "--authority", f"b={other}", *files)
    assert result.exit_code == 0, result.output
    clusters = json.loads(result.stdout)["static_resources"]["clusters"]
    assert {it["name"] for it in clusters if "transport_socket" in it} == encrypted


@pytest.mark.parametrize(
    ("arguments", "template"),
    [
        (("--xds-socket", "/x"), "server/echo.shop/%s"),
        (AT, "xdstp://a.example/envoy.config.listener.v3.Listener/server/echo.shop/%s"),
    ],
)
def test_a_grpc_server_is_told_what_to_ask_for(arguments: tuple[str, ...], template: str) -> None:
    shown = json.loads(bootstrap(*GRPC, *arguments, "--server", "echo", *FILES).stdout)
    assert shown["server_listener_resource_name_template"] == template
    assert shown["certificate_providers"]["contour"]["config"]["certificate_file"] == "c"
    assert shown["xds_servers"][0]["channel_creds"] == [{"type": "insecure"}]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--grpc", *AT), "--namespace"),
        (GRPC, "--xds-address"),
        ((*GRPC, "--authority", "a.example"), "NAME=ADDRESS"),
        ((*GRPC, *AT, *AT), "twice"),
        ((*GRPC, *AT, "--envoy-cafile", "x"), "together"),
        (AT, "one control"),
        ((*EDGE, "--authority", "a.example=h:1,i:2"), "one address"),
        *(
            ((*kind, "--authority", f"a.example={address}"), "HOST:PORT or unix:PATH")
            for kind in (EDGE, GRPC)
            for address in ("h", "h:70000", "unix:", "dns:///h:1", "h_1 :1")
        ),
        ((*EDGE, *AT, *AT), "twice"),
        ((*EDGE, *AT, *SOCKET, *FILES, "--resources-dir", "/proc/r"), "on a Unix socket"),
        ((*SOCKET, *FILES, "--resources-dir", "/proc/r"), "on a Unix socket"),
        (("--server", "echo"), "--grpc"),
        (("--zone", "a"), "--grpc"),
    ],
)
def test_what_makes_no_sense_of_other_control_planes_is_refused(
    arguments: tuple[str, ...], words: str
) -> None:
    result = bootstrap(*arguments)
    assert result.exit_code == 2
    assert words in result.output


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


@pytest.mark.envoy
@pytest.mark.parametrize(
    ("cluster", "told"),
    [
        ("{name: extra, connect_timeout: 1s}", ""),
        ("{name: contour}", "static_resources.clusters has 2 clusters called 'contour'"),
        (
            "{name: extra, connect_timeout: 1s, transport_socket: {name: none}}",
            "Envoy refuses it: error initializing configuration 'the bootstrap': Didn't find a "
            "registered implementation for 'none'",
        ),
    ],
)
def test_a_custom_one_is_validated_here_and_by_envoy(
    cluster: str, told: str, tmp_path: Path
) -> None:
    (custom := tmp_path / "custom.yaml").write_text(
        f"{{type: Merge, value: '{{static_resources: {{clusters: [{cluster}]}}}}'}}"
    )
    result = bootstrap("--xds-socket", str(tmp_path / "xds.sock"), "--custom", str(custom))
    assert (result.exit_code, told in result.stderr) == (2 if told else 0, True), result.output
    assert told or "extra" in result.stdout


@pytest.mark.parametrize(
    ("mode", "code", "told"),
    [
        (0o755, 2, "contour: cannot execute {envoy}: Exec format error\n"),
        (0o644, 0, "warning: no Envoy validates it: ENVOY={envoy}: there is no executable file"),
    ],
)
def test_an_envoy_that_cannot_be_executed_is_told(
    mode: int, code: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (envoy := tmp_path / "envoy").touch(mode)
    monkeypatch.setenv("ENVOY", str(envoy))
    (custom := tmp_path / "custom.yaml").write_text(
        "{type: Merge, value: '{static_resources: {clusters: []}}'}"
    )
    result = bootstrap("--custom", str(custom))
    assert (result.exit_code, told.format(envoy=envoy) in result.stderr) == (code, True), (
        result.output
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--envoy-cafile", "ca.crt"], "must be given together"),
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
