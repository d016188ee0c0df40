"""An instance from its configuration to its end: made, repaired, changed, removed."""

import base64
import json
import urllib.request
from typing import Any

import pytest
from cryptography import x509
from prometheus_client.parser import text_string_to_metric_families as parser

from provisioning import names
from tests.operator.operators import Rig
from tests.testbed.ports import free_port

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]


def test_an_instance_is_made_and_goes_with_its_configuration(operated: Rig) -> None:
    operated.configure()
    operated.until_provisioned()
    found = operated.children()
    kinds = sorted(kind for kind, _, _ in found)
    assert kinds == [
        *("ClusterRoleBinding", "ClusterRoleBinding", "Deployment", "NetworkPolicy"),
        *("PodDisruptionBudget", "Role", "RoleBinding", "Secret", "Secret", "Secret"),
        *("Service", "ServiceAccount"),
    ]
    assert all(not it["metadata"].get("ownerReferences") for it in found.values())
    secret = found["Secret", operated.namespace, "contourcert"]
    certificate = x509.load_pem_x509_certificate(base64.b64decode(secret["data"]["tls.crt"]))
    assert certificate.subject.rfc4514_string() == "CN=contour"
    stored = operated.cluster.get(operated.configuration())
    assert stored["metadata"]["finalizers"] == ["operator.projectcontour.io/finalizer"]
    assert not stored["metadata"].get("annotations", {}).keys() - {"kubectl.kubernetes.io"}
    operated.until(lambda: "Provisioned" in _told(operated))
    operated.cluster.delete(operated.configuration())
    operated.until(lambda: operated.is_gone(operated.configuration()))
    assert operated.children() == {}


def _told(rig: Rig) -> set[str]:
    """The reasons of Events about the configuration."""
    path = f"/apis/events.k8s.io/v1/namespaces/{rig.namespace}/events"
    found = rig.cluster.ask("GET", path)["items"]
    return {it["reason"] for it in found if it["regarding"]["kind"] == "ContourConfiguration"}


def test_a_newer_operator_rolls_the_control_plane_and_nothing_else(rig: Rig) -> None:
    older = rig.start()
    rig.configure()
    rig.until_provisioned()
    older.stop()
    rig.operators.clear()
    before = rig.children()
    rig.start("--contour-image=registry.example.com:5000/contour-ingress:2")
    rig.until(lambda: _image(rig) == "registry.example.com:5000/contour-ingress:2")
    rig.until(lambda: rig.condition("Progressing").get("reason") == "RollingOut")
    after = rig.children()
    changed = {
        key
        for key, it in after.items()
        if it["metadata"]["resourceVersion"] != before[key]["metadata"]["resourceVersion"]
    }
    # The disruption controller counts pods in the status of the budget.
    assert changed - {("PodDisruptionBudget", rig.namespace, "contour")} == {
        ("Deployment", rig.namespace, "contour")
    }
    deployment = ("Deployment", rig.namespace, "contour")
    assert after[deployment]["metadata"]["uid"] == before[deployment]["metadata"]["uid"]


@pytest.mark.parametrize(
    ("options", "image"),
    [
        ((), "registry.example.com/mine:7"),
        (("--contour-image=registry.example.com/other:8",), "registry.example.com/other:8"),
    ],
)
def test_control_planes_run_the_image_of_the_operators_pod_unless_told_otherwise(
    rig: Rig, options: tuple[str, ...], image: str
) -> None:
    rig.start(*options, pod=rig.pod("registry.example.com/mine:7"))
    rig.configure()
    rig.until_provisioned()
    assert _image(rig) == image


def test_an_operator_that_does_not_find_its_pod_runs_the_image_of_its_release(rig: Rig) -> None:
    rig.start(pod="nobody")
    rig.configure()
    rig.until_provisioned()
    assert _image(rig) == names.IMAGE


def _image(rig: Rig) -> str:
    deployment = rig.children()["Deployment", rig.namespace, "contour"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return str(container["image"])


def test_it_shows_how_it_does_by_metrics_and_lines_of_json(rig: Rig) -> None:
    port = free_port()
    place = ("--health-address=127.0.0.1", f"--health-port={port}")
    operator = rig.start(*place, "--log-format=json")
    rig.configure()
    rig.until_provisioned()
    measured = _metrics(port)
    assert measured["contour_operator_leader"] == 1
    assert measured["contour_operator_configurations"] == 1
    assert measured["contour_operator_objects"] >= len(rig.children())  # and those of others
    assert measured["contour_operator_reconciles_total"] > 0
    assert measured["contour_operator_unsynced_kinds"] == 0
    # Of another operator that waits for its turn.
    other = free_port()
    rig.start("--health-address=127.0.0.1", f"--health-port={other}")
    rig.until(lambda: _is_answered(other))
    assert _metrics(other)["contour_operator_leader"] == 0
    assert _metrics(other)["contour_operator_configurations"] == 0
    lines = [json.loads(it) for it in operator.log.read_text().splitlines()]
    assert "kube.election" in {it["logger"] for it in lines}
    assert not [it for it in lines if "namespace=" in it["message"]]


def _metrics(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return {it.name: it.value for of in parser(text) for it in of.samples}


def _is_answered(port: int) -> bool:
    try:
        return bool(_metrics(port))
    except OSError:
        return False
