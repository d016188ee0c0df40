"""The charts say what `contour manifests` says for equal settings, and refuse the same mistakes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from contour.cli import main
from provisioning import manifests, names
from tests.testbed import helm
from tests.testbed.processes import ROOT

CHARTS = ROOT / "charts"
Objects = dict[tuple[str, str, str], dict[str, Any]]
Settings = dict[str, tuple[list[str], list[str]]]
SETTINGS: Settings = {
    "usual": ([], []),
    "images": (
        ["image=example.com/contour:1", "envoyImage=example.com/envoy@sha256:ab"],
        ["--image=example.com/contour:1", "--envoy-image=example.com/envoy@sha256:ab"],
    ),
    "managed": (["managed=true"], ["--managed"]),
    "gateways": (["managed=true", "gatewayFleets=true"], ["--managed", "--gateway-fleets"]),
    "gateways by hand": (["gatewayFleets=true"], ["--gateway-fleets"]),
    "outer class": (["managed=true", "outerClass=true"], ["--managed", "--outer-class"]),
    "everything": (
        ["managed=true", "gatewayFleets=true", "outerClass=true"],
        ["--managed", "--gateway-fleets", "--outer-class"],
    ),
    "host ports": (["hostPorts=true"], ["--host-ports"]),
    "namespaces": (["watchNamespaces={shop,blog}"], ["--watch-namespaces=shop,blog"]),
    "managed namespaces": (
        ["watchNamespaces={shop}", "managed=true"], ["--watch-namespaces=shop", "--managed"]
    ),
}  # fmt: skip
OF_OPERATOR: Settings = {
    "usual": ([], []),
    "image": (["image=a/b:1", "envoyImage=c:2"], ["--image=a/b:1", "--envoy-image=c:2"]),
    "trusted": (["trustedNamespaces={a,b-*}"], ["--trusted-namespaces=a,b-*"]),
    "nobody trusted": (["trustedNamespaces=[]"], ["--trusted-namespaces="]),
}
CLUSTER_ROLES: Objects = {
    (it["kind"], "", it["metadata"]["name"]): it for it in manifests.cluster_roles()
}
"""The ClusterRoles of all instances, which one release has for the others."""


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("namespace", ["projectcontour", "123"])
def test_an_instance_is_that_of_the_command(tmp_path: Path, name: str, namespace: str) -> None:
    values, options = SETTINGS[name]
    found = rendered(tmp_path, "contour", namespace, values)
    wanted = printed(namespace, options)
    if not any("watchNamespaces" in it for it in values):
        wanted |= CLUSTER_ROLES
    assert found == wanted


@pytest.mark.parametrize("name", OF_OPERATOR)
def test_the_operator_is_that_of_the_command(tmp_path: Path, name: str) -> None:
    values, options = OF_OPERATOR[name]
    found = rendered(tmp_path, "contour-operator", "operators", values)
    assert found == printed("operators", ["--operator", *options])


def rendered(folder: Path, chart: str, namespace: str, values: list[str]) -> Objects:
    done = template(folder, chart, namespace, values)
    assert done.returncode == 0, done.stderr
    return _objects(done.stdout)


def template(folder: Path, chart: str, namespace: str, values: list[str]) -> Any:
    given = [it for value in values for it in (_option(value), value)]
    return helm.run(folder, "template", "x", CHARTS / chart, "--namespace", namespace, *given)


def _option(value: str) -> str:
    return "--set-json" if value.endswith("=[]") else "--set"


def printed(namespace: str, options: list[str]) -> Objects:
    """What the command prints, but for the namespace itself, which Helm does not own."""
    done = CliRunner().invoke(main, ["manifests", "--namespace", namespace, *options])
    assert done.exit_code == 0, done.output
    return {key: it for key, it in _objects(done.stdout).items() if key[0] != "Namespace"}


def _objects(text: str) -> Objects:
    found = [it for it in yaml.safe_load_all(text) if it]
    keys = [
        (it["kind"], it["metadata"].get("namespace", ""), it["metadata"]["name"]) for it in found
    ]
    assert len(keys) == len(set(keys))
    return dict(zip(keys, found, strict=True))


@pytest.mark.parametrize(
    ("chart", "values"),
    [
        ("contour", ["outerClass=true"]),
        ("contour", ["watchNamespaces={a}", "gatewayFleets=true"]),
        ("contour", ["managed=true", "hostPorts=true"]),
        ("contour", ["watchNamespaces={A}"]),
        ("contour", ["image="]),
        ("contour", ["replicas=3"]),
        ("contour", ["managed=yes"]),
        ("contour", ["managed=null"]),
        ("contour", ["envoyImage=null"]),
        ("contour-operator", ["image=null"]),
        ("contour-operator", ["clusterRoles=null"]),
    ],
)
def test_values_that_the_command_would_refuse_are_refused(
    tmp_path: Path, chart: str, values: list[str]
) -> None:
    done = template(tmp_path, chart, "projectcontour", values)
    assert done.returncode
    assert "values don't meet the specifications of the schema" in done.stderr


@pytest.mark.parametrize("value", ["watchNamespaces", "configuration"])
def test_a_list_or_an_object_that_is_null_is_empty(tmp_path: Path, value: str) -> None:
    usual = rendered(tmp_path, "contour", "a", [])
    assert rendered(tmp_path, "contour", "a", [f"{value}=null"]) == usual


def test_the_configuration_can_be_given(tmp_path: Path) -> None:
    found = rendered(tmp_path, "contour", "a", ["configuration.envoy.logging.accessLogFormat=json"])
    written = found["ContourConfiguration", "a", "contour"]["spec"]
    assert written == {"envoy": {"logging": {"accessLogFormat": "json"}}}


@pytest.mark.parametrize("name", SETTINGS)
def test_cluster_roles_can_be_left_to_another_release(tmp_path: Path, name: str) -> None:
    """Whatever the settings of the release that has them, nothing is bound to one that is not
    there."""
    values = [*SETTINGS[name][0], "clusterRoles=false"]
    found = rendered(tmp_path, "contour", "a", values)
    assert not any(kind == "ClusterRole" for kind, *_ in found)
    bound = {it["roleRef"]["name"] for it in found.values() if it["kind"] == "ClusterRoleBinding"}
    other = rendered(tmp_path, "contour", "b", [])
    assert bound <= {name for kind, _, name in other if kind == "ClusterRole"}


@pytest.mark.parametrize("chart", ["contour", "contour-operator"])
def test_a_chart_is_clean_and_its_values_are_documented(tmp_path: Path, chart: str) -> None:
    done = helm.run(tmp_path, "lint", "--strict", CHARTS / chart)
    assert done.returncode == 0, done.stdout
    text = (CHARTS / chart / "values.yaml").read_text()
    values = yaml.safe_load(text)
    schema = json.loads((CHARTS / chart / "values.schema.json").read_text())["properties"]
    assert set(values) == set(schema) - {"global"}
    assert values["image"] == names.IMAGE
    assert values["envoyImage"] == names.ENVOY_IMAGE
    for name in values:
        assert re.search(rf"^# .*\.\n{name}:", text, re.MULTILINE), f"{name} has no comment"
