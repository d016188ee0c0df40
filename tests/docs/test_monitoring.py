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

from contour import monitoring
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


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    return found


def queries() -> list[str]:
    return [target["expr"] for it in panels() for target in it.get("targets", ())]


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
    wrong.write_text(RULES.read_text().replace("(contour_leader) == 0", "(contour_leader"))
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


def test_probes_and_scrapes_are_no_requests_of_clients() -> None:
    every = " ".join([*queries(), *(it["expr"] for it in alerts())])
    of_http = re.findall(r"envoy_http_downstream_\w+(.{,60})", every)
    assert len(of_http) == 7
    for it in of_http:
        assert it.startswith(f'{{envoy_http_conn_manager_prefix!~"admin|{monitoring.NAME}"')


def test_a_certificate_is_shown_once_and_also_after_its_end() -> None:
    (panel,) = (it for it in panels() if it["title"] == "Days until certificates expire")
    (target,) = panel["targets"]
    assert "min by (namespace, name)" in target["expr"]  # over the replicas, which all have it
    assert panel["fieldConfig"]["defaults"]["min"] is None


def test_what_is_well_in_one_instance_hides_nothing_in_another() -> None:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    several = [it for it in groups if it["name"] != "contour-operator"]
    joined = " ".join(rule["expr"] for it in several for rule in it["rules"])
    aggregated = re.findall(r"\b(?:sum|min|max)\b(.{,15})", joined)
    assert aggregated
    assert {it for it in aggregated if not it.startswith(" by (namespace")} == set()


def test_an_operator_of_which_nothing_is_scraped_does_not_act_either() -> None:
    (rule,) = (it for it in alerts() if it["alert"] == "ContourOperatorWithoutLeader")
    seen, _, acting = rule["expr"].partition(" unless ")
    assert "present_over_time(contour_operator_leader[" in seen
    assert acting == "max(contour_operator_leader) == 1"


def test_the_object_of_the_prometheus_operator_has_the_same_rules() -> None:
    made = yaml.safe_load((FOLDER / "prometheusrule.yaml").read_text())
    assert made["spec"] == yaml.safe_load(RULES.read_text())


def pods() -> list[dict[str, Any]]:
    given = installation.installation(Place())
    objects = [*manifests.everything(given), *manifests.operator(Operator())]
    return [it["spec"]["template"] for it in objects if it["kind"] in {"Deployment", "DaemonSet"}]


def test_the_pod_monitors_select_the_pods_and_name_ports_that_they_have() -> None:
    for monitor in yaml.safe_load_all((FOLDER / "podmonitors.yaml").read_text()):
        wanted = monitor["spec"]["selector"]["matchLabels"].items()
        (pod,) = (it for it in pods() if wanted <= it["metadata"]["labels"].items())
        (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
        names = [port["name"] for it in pod["spec"]["containers"] for port in it.get("ports", ())]
        assert endpoint["port"] in names
        scraped = pod["metadata"]["annotations"]["prometheus.io/path"]
        assert endpoint["path"] == scraped


def test_prometheus_without_the_operator_scrapes_each_pod_once_and_knows_whose_metrics_it_has() -> (
    None
):
    (job,) = scrape_configs()
    assert job["honor_labels"]
    for pod in pods():
        targets = [relabelled(job["relabel_configs"], it) for it in ports(pod)]
        (target,) = (it for it in targets if it)
        assert target["namespace"] == "somewhere"
        assert target["pod"] == "some-pod"
        scraped = pod["metadata"]["annotations"]["prometheus.io/path"]
        assert target.get("__metrics_path__", "/metrics") == scraped


def scrape_configs() -> list[dict[str, Any]]:
    page = (ROOT / "docs" / "how-to" / "monitoring.md").read_text()
    (block,) = re.findall(r"```yaml\n(rule_files.*?)```", page, re.DOTALL)
    found: list[dict[str, Any]] = yaml.safe_load(block)["scrape_configs"]
    return found


def ports(pod: dict[str, Any]) -> Iterator[dict[str, str]]:
    """The labels of each container port, as Prometheus finds it."""
    found = {"__meta_kubernetes_namespace": "somewhere", "__meta_kubernetes_pod_name": "some-pod"}
    for name, value in pod["metadata"]["labels"].items():
        found[f"__meta_kubernetes_pod_label_{re.sub('[^a-z0-9]', '_', name)}"] = value
    for container in pod["spec"]["containers"]:
        for port in container.get("ports", ()):
            yield found | {"__meta_kubernetes_pod_container_port_name": port["name"]}


def relabelled(steps: list[dict[str, Any]], labels: dict[str, str]) -> dict[str, str]:
    """The labels after these steps; empty if the port is not kept."""
    for it in steps:
        text = ";".join(labels.get(name, "") for name in it["source_labels"])
        found = re.fullmatch(it.get("regex", "(.*)"), text)
        if it.get("action") == "keep":
            if found is None:
                return {}
        elif found is not None:
            labels = labels | {it["target_label"]: it.get("replacement", text)}
    return labels
