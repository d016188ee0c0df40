"""`kubectl contour`: what it offers, how it is completed, and that kubectl finds it."""

import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from contour.cli import kubectl
from tests.tidy.test_house import ROOT

SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
PROGRAM = Path(sys.executable).with_name("kubectl")


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with the scripts of the plugin as an installation of the package has them."""
    for name, target in SCRIPTS.items():
        if name.startswith("kubectl"):
            module, _, function = target.partition(":")
            script = tmp_path / name
            script.write_text(
                f"#!{sys.executable}\nfrom {module} import {function}\n{function}()\n"
            )
            script.chmod(0o755)
    return f"{tmp_path}:/usr/bin:/bin"


def run(path: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": path, "HOME": "/nowhere", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [PROGRAM, *arguments], env=environment, capture_output=True, text=True, check=False
    )


def test_the_scripts_of_the_package_lead_somewhere() -> None:
    for target in SCRIPTS.values():
        module, _, function = target.partition(":")
        assert callable(getattr(importlib.import_module(module), function))


def test_kubectl_runs_it(path: str) -> None:
    found = run(path, "contour", "explain", "--help")
    assert found.stdout.startswith("Usage: kubectl contour explain [OPTIONS] URL\n"), found


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        (["ex"], "explain\tSays which objects serve a request, which do not, and why."),
        (["config", "--con"], "--context\tContext of the kubeconfig."),
        (["config", "-o", ""], "table\njson\nyaml"),
    ],
)
def test_kubectl_completes_it(path: str, typed: list[str], wanted: str) -> None:
    found = run(path, "__complete", "contour", *typed)
    assert found.stdout == f"{wanted}\n:4\n", found


def test_nothing_in_its_help_is_for_one_machine() -> None:
    for command in kubectl.group.list_commands(click.Context(kubectl.group)):
        told = CliRunner().invoke(kubectl.group, [command, "--help"]).output
        assert "--state-dir" not in told
        assert "--cluster" not in told.replace("--from-cluster", "")
        assert "contour run" not in told, told


def test_it_asks_the_cluster_and_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "KUBECONFIG", str(tmp_path / "none"))
    for before, after in ([], ["--kubeconfig", "/nowhere"]), (["--kubeconfig", "/nowhere"], []):
        found = CliRunner().invoke(kubectl.group, [*before, "config", *after])
        assert (found.exit_code, found.stderr) == (
            2,
            "contour: kubeconfig /nowhere: no such file\n",
        )
    found = CliRunner().invoke(kubectl.group, ["config"])
    assert found.stderr == f"contour: kubeconfig {tmp_path / 'none'}: no such file\n"


def test_manifests_are_evaluated_offline_as_by_contour(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    named = ["status", "-f", str(file)]
    assert CliRunner().invoke(kubectl.group, named).exit_code == 0
    found = CliRunner().invoke(kubectl.group, ["-n", "a", *named])
    assert (found.exit_code, "leave out --namespace" in found.stderr) == (2, True), found.output
