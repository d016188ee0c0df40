"""Fleets whose Envoys start with a bootstrap of one's own."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from contour import bootstrap, custombootstrap
from contour.cli import main
from contour.infrastructure import bootstraps, desired
from contour.infrastructure.desired import Release
from crds.custombootstrap import CustomBootstrap
from dag.envoyproxy.asked import OwnBootstrap
from dag.fleets import Fleet
from provisioning import commands, installation
from provisioning.keeping.ownership import Owner
from provisioning.templating import Document
from tests.cluster.cluster import Cluster
from tests.contour.infrastructure import rig as rigs
from tests.contour.infrastructure.rig import AS_A_DEPLOYMENT, SHARED, Rig, leading, of

_RELEASE = Release(Owner("system", "contour"))


def _merge(value: object) -> CustomBootstrap:
    return CustomBootstrap(type="Merge", value=json.dumps(value))


_ADMIN = {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 19000}}}
_GOOD = _merge({"admin": _ADMIN, "node": {"metadata": {"price": "$(POD_NAME)"}}})
_BAD = _merge({"node": {"id": "mine"}})


def _with(custom: CustomBootstrap | None, fleet: Fleet = SHARED) -> Fleet:
    written = OwnBootstrap(custom, "spec.envoy.bootstrap") if custom is not None else None
    return replace(fleet, bootstrap=written)


def _containers(fleet: Fleet) -> dict[str, Document]:
    every = desired.documents(_RELEASE, fleet, "contour")
    (workload,) = (it for it in every if it["kind"] in ("Deployment", "DaemonSet"))
    pod = workload["spec"]["template"]["spec"]
    return {it["name"]: it for it in (*pod["initContainers"], *pod["containers"])}


def test_pods_write_it_when_they_start_and_drain_envoy_where_it_says() -> None:
    usual, found = _containers(_with(None)), _containers(_with(_GOOD))
    assert "--custom=env:CONTOUR_BOOTSTRAP" in str(found["envoy-initconfig"]["args"])
    assert "--admin-address=127.0.0.1:19000" in str(found["shutdown-manager"]["args"])
    assert "CONTOUR_BOOTSTRAP" not in str(usual)
    assert "--admin-address=/admin/admin.sock" in str(usual["shutdown-manager"]["args"])


def test_what_a_pod_writes_is_what_was_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judged here with settings, and written there with arguments: both mean the same bootstrap."""
    environment = _containers(_with(_GOOD))["envoy-initconfig"]["env"]
    (variable,) = (it["value"] for it in environment if it["name"] == commands.BOOTSTRAP)
    assert "$" not in variable
    monkeypatch.setenv(commands.BOOTSTRAP, variable)
    monkeypatch.setenv("ENVOY", "/nowhere/envoy")
    given = installation.Fleet(control_plane="contour.system", bootstrap=variable)
    rendered = commands.bootstrap(given)
    arguments = [
        it.replace("/config/envoy.json", "-").replace("/config/resources", str(tmp_path))
        for it in rendered
    ]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    written = json.loads(result.stdout)
    judged = bootstrap.document(bootstraps.settings(given))
    assert written["node"].pop("metadata") == {"price": "$(POD_NAME)"}
    for part in ("node", "dynamic_resources", "layered_runtime"):
        assert written[part] == judged[part]
    ours, expected = (it["static_resources"]["clusters"][0] for it in (written, judged))
    assert json.dumps(ours).replace(str(tmp_path), "/config/resources") == json.dumps(expected)
    assert written["static_resources"]["listeners"] == judged["static_resources"]["listeners"]


def test_a_pod_needs_no_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its root is read-only, and it has none."""
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    monkeypatch.setenv("ENVOY", "/nowhere/envoy")
    monkeypatch.setenv(commands.BOOTSTRAP, custombootstrap.as_text(_GOOD))
    rendered = commands.bootstrap(installation.Fleet(control_plane="a.b", bootstrap="x"))
    result = CliRunner().invoke(main, [it.replace("/config", str(tmp_path)) for it in rendered])
    assert result.exit_code == 0, result.output
    assert "19000" in (tmp_path / "envoy.json").read_text()


@pytest.mark.parametrize(
    ("custom", "told"),
    [
        (None, ""),
        (_GOOD, ""),
        (_BAD, "node.id must stay '$(POD_NAME)', not 'mine'"),
        (
            _merge({"static_resources": {"listeners": [{"name": "x", "address": {
                "socket_address": {"address": "0.0.0.0", "port_value": 8443}}}]}}),
            "TCP port 8443 is used by port https",
        ),
        (
            _merge({"static_resources": {"listeners": [{"name": "x", "address": {
                "socket_address": {"address": "127.0.0.1", "port_value": 8090}}}]}}),
            "TCP port 8090 is used by the shutdown manager",
        ),
        (_merge({"node": {"metadata": {"a": "x" * 100_000}}}), "at most 100,000 are allowed in"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told(custom: CustomBootstrap | None, told: str) -> None:
    refusal = desired.bootstrap_refusal(_RELEASE, _with(custom), "contour")
    assert told in refusal
    assert bool(told) == bool(refusal)


@pytest.fixture
def rig(cluster: Cluster, namespace: str) -> Rig:
    return rigs.rig(cluster, namespace)


@pytest.mark.cluster
async def test_a_bad_one_leaves_envoys_as_they_are_and_what_is_in_front_of_them_follows(
    rig: Rig,
) -> None:
    fleet = of(type="Deployment")
    rig.want(_with(_BAD, fleet))
    async with leading(rig):
        await rig.until_told("node.id must stay")
        assert rig.made() == {}
        rig.want(_with(_GOOD, fleet))
        await rig.until_kinds(AS_A_DEPLOYMENT)
        await rig.until_told("")
        before = rig.made()["Deployment"]["spec"]
        rig.want(replace(_with(_BAD, fleet), ports=SHARED.ports[:1]))
        await rig.until_told("node.id must stay")
        assert rig.made()["Deployment"]["spec"] == before
        assert len(rig.made()["Service"]["spec"]["ports"]) == 1
