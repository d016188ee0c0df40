"""`contour doctor`: what it finds on this machine and in a cluster, and its exit codes."""

import json
import os
import resource
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contour import rundir
from contour.cli import main
from contour.doctor import cluster as cluster_checks
from contour.doctor import machine
from contour.host import state
from provisioning import names, rights
from tests.cluster.cluster import Cluster
from tests.cluster.double.faults import Rule
from tests.cluster.double.server import Double
from tests.cluster.fixtures import Start
from tests.kube.followed import At
from tests.testbed.commands import write_kubeconfig
from tests.testbed.ports import free_port, free_ports

LEASE = "leader-elect"
BUILT_FOR = names.ENVOY_IMAGE.rpartition("v")[2]
MAJOR, MINOR, _ = map(int, BUILT_FOR.split("."))


def doctor(*arguments: str | Path, env: Mapping[str, str] | None = None) -> Result:
    command = ["doctor", *map(str, arguments)]
    return CliRunner(env={"COLUMNS": None, **(env or {})}).invoke(main, command)


def found(result: Result) -> dict[str, tuple[str, str]]:
    """State and text of each check, by its name."""
    return {
        it["name"]: (it["state"], it["found"] + "; " + it["remedy"])
        for it in json.loads(result.stdout)
    }


# This machine


@pytest.fixture
def machine_options(tmp_path: Path) -> Sequence[str]:
    """Free ports and a state directory of its own, which is not there yet."""
    http, https = free_ports(2)
    return (
        *("--map-port", f"80={http}", "--map-port", f"443={https}"),
        *("--state-dir", str(tmp_path / "state"), "-o", "json"),
    )


def says(path: Path, text: str, code: int = 0) -> str:
    """A program that says something."""
    path.write_text(f"#!/bin/sh\necho '{text}'\nexit {code}\n")
    path.chmod(0o755)
    return str(path)


def version(minor: int) -> str:
    return f"envoy  version: 9e55/{MAJOR}.{minor}.3/Clean/RELEASE/BoringSSL"


@pytest.mark.envoy
def test_a_machine_on_which_all_is_well(machine_options: Sequence[str], tmp_path: Path) -> None:
    result = doctor(*machine_options)
    told = found(result)
    assert {it for it, _ in told.values()} == {"ok"}, told
    assert result.exit_code == 0
    assert told["Envoy"][1].startswith(f"{MAJOR}.{MINOR}.")
    assert "is free" in told["port 80"][1]
    assert not (tmp_path / "state").exists(), "it changes nothing"


@pytest.mark.parametrize(
    ("text", "code", "expected", "part"),
    [
        (version(MINOR), 0, "ok", f"{MAJOR}.{MINOR}.3"),
        (version(MINOR - 1), 0, "warning", f"older than {BUILT_FOR}"),
        (version(MINOR + 1), 0, "warning", f"newer than {BUILT_FOR}"),
        (version(MINOR), 1, "error", "install one"),
        ("GLIBC_2.31 not found", 1, "error", "GLIBC_2.31 not found"),
        ("something else", 0, "error", "does not say its version: something else"),
    ],
)
def test_the_release_of_envoy(
    tmp_path: Path, machine_options: Sequence[str], text: str, code: int, expected: str, part: str
) -> None:
    result = doctor(*machine_options, env={"ENVOY": says(tmp_path / "envoy", text, code)})
    told, why = found(result)["Envoy"]
    assert (told, result.exit_code) == (expected, int(expected == "error"))
    assert part in why


def test_an_envoy_that_is_missing_or_of_another_machine(
    tmp_path: Path, machine_options: Sequence[str]
) -> None:
    assert found(doctor(*machine_options, env={"ENVOY": "/nowhere"}))["Envoy"] == (
        "error", "ENVOY=/nowhere: there is no executable file of that name; ",
    )  # fmt: skip
    (tmp_path / "envoy").write_bytes(b"\xcf\xfa\xed\xfe")
    (tmp_path / "envoy").chmod(0o755)
    told, why = found(doctor(*machine_options, env={"ENVOY": str(tmp_path / "envoy")}))["Envoy"]
    assert told == "error"
    assert "does not run" in why


def test_a_port_in_use_is_told_with_its_owner(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        options = ("--map-port", f"80={port}", "--state-dir", tmp_path / "state", "-o", "json")
        result = doctor(*options)
        assert result.exit_code == 1
        told, why = found(result)["port 80"]
        assert told == "error"
        assert f"process {os.getpid()}" in why
        assert "--map-port 80=PORT" in why
        with (
            state.claimed(tmp_path / "state") as directory,
            socket.socket(socket.AF_UNIX) as inspection,
        ):
            inspection.bind(str(directory.socket(rundir.INSPECTION)))
            inspection.listen()
            told_while_running = found(doctor(*options))
    assert told_while_running["port 80"][0] == "warning"
    assert told_while_running["state directory"][0] == "ok"
    assert f"running (process {os.getpid()})" in told_while_running["state directory"][1]


def _file(path: Path) -> None:
    path.write_text("")


def _link(path: Path) -> None:
    path.symlink_to(path.parent)


def _full(path: Path) -> None:
    path.mkdir()
    (path / "thesis.tex").touch()


@pytest.mark.parametrize(
    ("make", "part"), [(_file, "Not a directory"), (_link, "symbolic link"), (_full, "thesis.tex")]
)
def test_a_state_directory_that_run_refuses(
    tmp_path: Path, make: Callable[[Path], None], part: str
) -> None:
    make(tmp_path / "state")
    result = doctor("--state-dir", tmp_path / "state", "-o", "json")
    told, why = found(result)["state directory"]
    assert (told, result.exit_code) == ("error", 1)
    assert part in why


def test_a_state_directory_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = doctor("--state-dir", tmp_path / "file" / "state", "-o", "json")
    assert found(result)["state directory"][0] == "error"


@pytest.mark.parametrize(
    ("free", "expected"),
    [(10**10, "ok"), (machine.LITTLE_SPACE - 1, "warning"), (machine.NO_SPACE - 1, "error")],
)
def test_the_space_for_logs(free: int, expected: str) -> None:
    assert machine.space(Path("/state"), free).state == expected


@pytest.mark.parametrize(
    ("most", "expected"),
    [(resource.RLIM_INFINITY, "ok"), (1 << 20, "ok"), (machine.FEWEST_FILES - 1, "warning")],
)
def test_the_limit_of_open_files(most: int, expected: str) -> None:
    assert machine.open_files(most).state == expected


def test_a_person_gets_a_line_for_each_check(machine_options: Sequence[str]) -> None:
    result = doctor(*machine_options[:-2], env={"ENVOY": "/nowhere"})
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["STATE", "CHECK", "FOUND"]
    assert len(lines) == 1 + len(found(doctor(*machine_options)))
    assert lines[2].split()[:2] == ["error", "Envoy"]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--map-port", "80"], "EXTERNAL=LOCAL"),
        (["--bind", "example.com"], "not an IP address"),
        (["--managed"], "--managed needs --kubeconfig or --incluster"),
        (["--namespace", "a"], "--namespace needs --kubeconfig"),
        (["--kubeconfig", "x", "--state-dir", "y"], "--state-dir cannot be used with --kubeconfig"),
        (["--nonsense"], "No such option"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(arguments: list[str], part: str) -> None:
    result = doctor(*arguments)
    assert result.exit_code == 2
    assert part in result.stderr


# A cluster


def test_an_api_server_that_cannot_be_reached(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "config", f"http://127.0.0.1:{free_port()}", "")
    for config, part in ((path, "check the address"), (tmp_path / "none", "no such file")):
        result = doctor("--kubeconfig", config, "-o", "json")
        told, why = found(result)["API server"]
        assert (told, result.exit_code) == ("error", 1)
        assert part in why


def test_outside_a_pod_there_is_no_service_account() -> None:
    result = doctor("--incluster", "-o", "json")
    assert result.exit_code == 1
    assert "service account" in found(result)["API server"][1]


@pytest.mark.parametrize(("git", "expected"), [("v1.28.3", "error"), ("v1.29.0-eks", "ok")])
async def test_the_oldest_release_of_kubernetes(git: str, expected: str) -> None:
    async with Double() as double:
        body = json.dumps({"gitVersion": git}).encode()
        double.script.add(Rule(body=body, times=1))
        first, *_ = await cluster_checks.checks(At(double.url), cluster_checks.Cluster())
    assert (first.name, first.state) == ("API server", expected)


ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
OURS = {"name": "contour", "labels": {"app.kubernetes.io/part-of": "contour"}}


@pytest.mark.parametrize(
    ("metadata", "bound", "watched", "expected"),
    [
        ({"name": "contour"}, "contour-certgen", [], ["ClusterRole", "RoleBinding"]),
        ({"name": "contour"}, "contour", ["shop"], []),
        (OURS, "contour", [], []),
        ({"name": "other"}, "", [], []),
    ],
)
async def test_objects_of_another_program_with_our_names_are_told(
    metadata: Mapping[str, object], bound: str, watched: Sequence[str], expected: Sequence[str]
) -> None:
    async with Double() as double:
        double.put({**ROLE, "metadata": metadata})
        if bound:
            name = {"name": "contour", "namespace": "default"}
            reference = {"roleRef": {"kind": "Role", "name": bound}}
            double.put({**ROLE, "kind": "RoleBinding", "metadata": name, **reference})
        asked = cluster_checks.Cluster("default", watched)
        found = await cluster_checks.checks(At(double.url), asked)
    told = [it for it in found if it.name.endswith(" contour")]
    assert [it.name.split()[0] for it in told] == expected
    assert {it.state for it in told} <= {"warning"}


def granted(*, managed: bool = False) -> dict[str, Sequence[rights.Rule]]:
    """What an installation grants its control plane."""
    home = rights.at_home(LEASE, watches_everything=True, makes_fleet=managed)
    return {"rules": home, "cluster_rules": rights.everywhere()}


@pytest.mark.cluster
def test_the_rights_of_an_installation_are_enough(cluster: Cluster, namespace: str) -> None:
    token = cluster.service_account(namespace, "contour", **granted())
    config = cluster.kubeconfig(token, namespace)
    result = doctor("--kubeconfig", config, "-o", "json")
    told = found(result)
    assert set(told) == {
        "versions", "API server", "CRDs", "Gateway API", "rights in all namespaces",
        f"rights in namespace {namespace}",
    }  # fmt: skip
    assert {it for it, _ in told.values()} == {"ok"}, told
    assert result.exit_code == 0
    assert told["Gateway API"][1].startswith("v1."), told
    result = doctor(
        "--kubeconfig", config, "--leader-election-resource-name", "other", "-o", "json"
    )
    assert "may not get, update leases.coordination.k8s.io/other" in result.stdout
    result = doctor("--kubeconfig", config, "--managed", "-o", "json")
    home, why = found(result)[f"rights in namespace {namespace}"]
    assert (home, result.exit_code) == ("error", 1)
    assert "may not get, list, watch, create, patch, delete" in why
    assert "daemonsets.apps" in why


@pytest.mark.cluster
@pytest.mark.parametrize("option", [(), ("--service-account", "contour")])
def test_a_right_that_is_missing_is_named(
    cluster: Cluster, namespace: str, option: Sequence[str]
) -> None:
    rules = [it for it in rights.everywhere() if it["resources"] != ["events"]]
    token = cluster.service_account(namespace, "contour", granted()["rules"], rules)
    config = cluster.admin if option else cluster.kubeconfig(token, namespace)
    result = doctor("--kubeconfig", config, "--namespace", namespace, *option, "-o", "json")
    told = found(result)
    assert result.exit_code == 1
    everywhere, why = told.pop("rights in all namespaces")
    assert everywhere == "error"
    assert "may not create, patch events.events.k8s.io;" in why
    assert {it for it, _ in told.values()} == {"ok"}, told


@pytest.mark.cluster
def test_an_instance_that_watches_one_namespace(cluster: Cluster, namespace: str) -> None:
    home = rights.at_home(LEASE, watches_everything=False, makes_fleet=False)
    rules = [*rights.in_a_watched_namespace(), *home]
    config = cluster.kubeconfig(cluster.service_account(namespace, "contour", rules), namespace)
    result = doctor("--kubeconfig", config, "--watch-namespaces", namespace, "-o", "json")
    assert result.exit_code == 0, result.stdout
    names_of_checks = [it["name"] for it in json.loads(result.stdout)]
    assert names_of_checks == ["versions", "API server", "CRDs", f"rights in namespace {namespace}"]
    result = doctor("--kubeconfig", config, "--watch-namespaces", "default", "-o", "json")
    assert found(result)["rights in namespace default"][0] == "error"


@pytest.mark.cluster
def test_definitions_that_are_not_installed(start_control_plane: Start) -> None:
    cluster = Cluster(start_control_plane().folder)
    result = doctor("--kubeconfig", cluster.admin, "-o", "json")
    told = found(result)
    assert result.exit_code == 1
    assert told["CRDs"][0] == "error"
    assert "httpproxies" in told["CRDs"][1]
    assert "contour manifests --crds" in told["CRDs"][1]
    assert told["Gateway API"] == (
        "warning",
        "not installed: no Gateway is served; to use Gateways, install the CRDs of the Gateway "
        "API, v1.5 to v1.7",
    )
    assert told["rights in all namespaces"][0] == "ok"
