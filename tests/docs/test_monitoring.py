"""Alert rules and the dashboard: Prometheus reads them, and what they select is exported."""

import http.client
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from provisioning import installation, manifests
from provisioning.installation import Operator, Place
from tests.docs.test_observability import exported
from tests.e2e.standalone import manifest, standalone
from tests.testbed import promql
from tests.testbed.processes import ROOT

FOLDER = ROOT / "manifests" / "monitoring"
RULES = FOLDER / "alerts.yaml"
RUNBOOKS = (ROOT / "docs" / "runbooks.md").read_text()
OPERATOR = {"contour_operator_leader", "contour_operator_unsynced_kinds"}
USUAL = {"process_resident_memory_bytes"}


def alerts() -> Iterator[dict[str, Any]]:
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        yield from group["rules"]


def queries() -> list[str]:
    panels = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    return [target["expr"] for it in panels for target in it.get("targets", ())]


def selected() -> set[str]:
    found = promql.read([RULES], queries())
    assert found.errors == []
    return {re.sub("_bucket$", "", name) for it in found.metrics.values() for name in it}


def test_rules_and_queries_are_read_and_the_control_plane_exports_what_they_select() -> None:
    known = exported() | OPERATOR | USUAL
    ours = {it for it in selected() if not it.startswith("envoy_")}
    assert ours
    assert ours <= known


def test_an_error_in_a_rule_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(RULES.read_text().replace("max(contour_leader) == 0", "max(contour_leader"))
    assert promql.read([wrong], []).errors
    assert promql.read([], ["rate(contour_leader)"]).errors


@pytest.mark.envoy
def test_an_envoy_exports_what_is_selected_of_it(tmp_path: Path) -> None:
    wanted = {it for it in selected() if it.startswith("envoy_")}
    files = {name: manifest(name) for name in ("services.yaml", "live.yaml")}
    with standalone(tmp_path, files) as running:
        text = _stats(next(running.state.rglob("admin.sock")))
    found = {re.sub("_bucket$", "", it) for it in re.findall(r"^(\w+)\{", text, re.MULTILINE)}
    assert wanted
    assert wanted <= found


def _stats(socket_path: Path) -> str:
    with socket.socket(socket.AF_UNIX) as connected:
        connected.connect(str(socket_path))
        asked = http.client.HTTPConnection("envoy", timeout=30)
        asked.sock = connected
        asked.request("GET", "/stats/prometheus")
        return asked.getresponse().read().decode()


def test_every_alert_has_a_runbook_and_a_severity_and_no_runbook_is_left_over() -> None:
    named = [it["alert"] for it in alerts()]
    assert re.findall(r"^## (\w+)$", RUNBOOKS, re.MULTILINE) == named
    for it in alerts():
        assert it["annotations"]["runbook"] == f"docs/runbooks.md#{it['alert'].lower()}"
        assert it["labels"]["severity"] in {"critical", "warning", "info"}


def test_the_object_of_the_prometheus_operator_has_the_same_rules() -> None:
    made = yaml.safe_load((FOLDER / "prometheusrule.yaml").read_text())
    assert made["spec"] == yaml.safe_load(RULES.read_text())


def test_the_pod_monitors_select_the_pods_and_name_ports_that_they_have() -> None:
    given = installation.installation(Place())
    objects = [*manifests.everything(given), *manifests.operator(Operator())]
    pods = [it["spec"]["template"] for it in objects if it["kind"] in {"Deployment", "DaemonSet"}]
    for monitor in yaml.safe_load_all((FOLDER / "podmonitors.yaml").read_text()):
        wanted = monitor["spec"]["selector"]["matchLabels"].items()
        (pod,) = (it for it in pods if wanted <= it["metadata"]["labels"].items())
        (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
        names = [port["name"] for it in pod["spec"]["containers"] for port in it.get("ports", ())]
        assert endpoint["port"] in names
        scraped = pod["metadata"]["annotations"]["prometheus.io/path"]
        assert endpoint["path"] == scraped
