"""`contour status` of manifests, offline; that of a running instance is in the end-to-end tests."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from contour.cli import main
from tests.contour.cli.test_analyze import OVERLAPPING

GOOD = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: good}
spec:
  virtualhost: {fqdn: good.example.com}
  routes:
  - directResponsePolicy: {statusCode: 200}
"""
BROKEN = GOOD.replace("good", "broken").replace(
    "directResponsePolicy: {statusCode: 200}", "services: [{name: nowhere, port: 80}]"
)


def status(*arguments: str) -> Result:
    # What runs the tests may have set the width of its own output.
    return CliRunner(env={"COLUMNS": None}).invoke(main, ["status", *arguments])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Path(tmp_path, "manifests.yaml").write_text(f"{GOOD}---{BROKEN}")
    return tmp_path


def test_the_table_names_each_object_and_why_it_is_not_fine(folder: Path) -> None:
    result = status("-f", str(folder))
    assert result.exit_code == 0
    good, broken = sorted(result.stdout.splitlines()[1:3], key=lambda it: "broken" in it)
    assert "default/good" in good
    assert "default/broken" in broken
    assert "nowhere" in result.stdout


def test_machines_get_the_same(folder: Path) -> None:
    Path(folder, "idle.yaml").write_text(IDLE.replace("good", "idle"))
    rows = json.loads(status("-f", str(folder), "--all", "-o", "json").stdout)
    shown = status("-f", str(folder), "--all", "-o", "yaml")
    assert shown.exit_code == 0, shown.output
    assert yaml.load(shown.stdout, yaml.CSafeLoader) == rows
    states = {row["subject"]["name"]: row["state"] for row in rows}
    assert states == {"good": "ok", "broken": "error", "idle": "ok", "empty": "ok"}


def test_strict_makes_an_error_the_exit_code(folder: Path) -> None:
    assert status("-f", str(folder), "--strict").exit_code == 1
    Path(folder, "manifests.yaml").write_text(GOOD)
    assert status("-f", str(folder), "--strict").exit_code == 0


@pytest.mark.parametrize("option", ["-f", "--state-dir"])
def test_what_is_not_there_is_told(tmp_path: Path, option: str) -> None:
    result = status(option, str(tmp_path / "nowhere"))
    assert result.exit_code == 2
    assert "nowhere" in result.stderr


def rows(folder: Path, *arguments: str, code: int = 0) -> dict[str, dict[str, Any]]:
    """The rows by kind and name, as programs get them."""
    result = status("-f", str(folder), "-o", "json", *arguments)
    assert result.exit_code == code, result.output
    found = json.loads(result.stdout)
    return {"{kind} {name}".format_map(it["subject"]): it for it in found}


def test_programs_get_what_is_told_as_fields(folder: Path) -> None:
    row = rows(folder)["HTTPProxy broken"]
    (problem,) = row["problems"]
    assert problem == {
        "severity": "error",
        "type": "ServiceError",
        "reason": "ServiceUnresolvedReference",
        "field": "spec.routes[0].services[0]",
        "file": str(folder / "manifests.yaml"),
        "line": 16,
        "message": "Service default/nowhere not found",
    }
    assert len(row["reasons"]) == 1
    assert problem["message"] in row["reasons"][0]


GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: contour}
spec: {controllerName: projectcontour.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: contour, listeners: [{name: http, protocol: HTTP, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec: {gatewayClassName: countour, listeners: [{name: http, protocol: HTTP, port: 80}]}
---
"""


def _route(parent: str) -> str:
    return (
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: it}\n"
        f"spec: {{parentRefs: [{parent}]}}\n"
    )


NGINX = """
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx, annotations: {ingressclass.kubernetes.io/is-default-class: 'true'}}
spec: {controller: k8s.io/ingress-nginx}
"""
ONLY = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour}
spec: {gateway: {controllerName: projectcontour.io/gateway-controller, only: true}}
"""


def _ingress(class_name: str) -> str:
    return (
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: it}\n"
        f"spec: {{ingressClassName: {class_name}, rules: [{{host: a.example.com}}]}}\n"
    )


@pytest.mark.parametrize(
    ("text", "name", "field", "told"),
    [
        (GATEWAY, "Gateway edge", "spec.gatewayClassName",
         "GatewayClass countour not found (did you mean contour?)"),
        (GATEWAY.replace("io/gateway", "io/getaway"), "GatewayClass contour", "spec.controllerName",
         "another controller"),
        (GATEWAY + _route("{name: wbe}"), "HTTPRoute it", "spec.parentRefs[0].name",
         "Gateway default/wbe not found (did you mean web?)"),
        (GATEWAY + _route("{name: edge}"), "HTTPRoute it", "spec.parentRefs[0]",
         "Gateway default/edge is not served: GatewayClass countour not found"),
        (_route(""), "HTTPRoute it", "spec.parentRefs", "names no Gateway"),
        (_route("{kind: Service, group: '', name: mesh}"), "HTTPRoute it", "spec.parentRefs[0]",
         "kind Service"),
        (_ingress("nginx"), "Ingress it", "spec.ingressClassName", "only contour"),
        (f"{NGINX}---\n{_ingress('')}", "Ingress it", "spec.ingressClassName",
         "the default IngressClass nginx is of controller k8s.io/ingress-nginx"),
        (f"{ONLY}---\n{_ingress('contour')}", "Ingress it", "", "serves Gateways alone"),
        (_ingress("contuor"), "Ingress it", "spec.ingressClassName", "did you mean contour?"),
    ],
)  # fmt: skip
def test_what_is_for_another_controller_has_a_row_that_says_why(
    tmp_path: Path, text: str, name: str, field: str, told: str
) -> None:
    Path(tmp_path, "it.yaml").write_text(text)
    row = rows(tmp_path)[name]
    assert (row["state"], row["summary"]) == ("warning", "not served")
    (problem,) = row["problems"]
    assert problem["field"] == field
    assert told in problem["message"]
    assert problem["line"]


def test_a_parent_that_is_not_there_is_told_beside_one_that_takes_the_route(
    tmp_path: Path,
) -> None:
    parents = "{name: web}, {name: wbe}, {name: edge}, {name: mesh, kind: Service, group: ''}"
    Path(tmp_path, "it.yaml").write_text(GATEWAY + _route(parents))
    row = rows(tmp_path)["HTTPRoute it"]
    assert row["state"] == "warning"
    (problem,) = [it for it in row["problems"] if it["reason"] == "NotServed"]
    assert (problem["field"], problem["message"]) == (
        "spec.parentRefs[1].name",
        "Gateway default/wbe not found (did you mean web?)",
    )


@pytest.mark.parametrize(
    ("controller", "is_misspelt"),
    [
        ("projectcontour.io/getaway-controller", True),
        ("projectcontuor.io/gateway-controller", True),
        ("istio.io/gateway-controller", False),
        ("gateway.envoyproxy.io/gatewayclass-controller", False),
    ],
)
def test_only_what_is_almost_our_controller_is_taken_for_a_typing_error(
    tmp_path: Path, controller: str, *, is_misspelt: bool
) -> None:
    text = GATEWAY.replace("projectcontour.io/gateway-controller", controller)
    Path(tmp_path, "it.yaml").write_text(text)
    (problem,) = rows(tmp_path)["GatewayClass contour"]["problems"]
    assert problem["message"].endswith("(a typing error?)") == is_misspelt


@pytest.mark.parametrize(
    ("text", "name", "code"),
    [
        ("kind: Foo\n", "File {}", 2),
        ("just text\n", "File {}", 2),
        ("a: [\n", "File {}", 2),
        (GOOD.replace("kind: HTTPProxy", "kind: HTTPProxi"), "HTTPProxy good", 2),
        (GOOD.replace("io/v1", "io/v7"), "HTTPProxy good", 2),
        (GOOD.replace("\n  virtual", "\n\tvirtual"), "File {}", 2),
        (GOOD.replace("routes", "rotues"), "HTTPProxy good", 0),
        ("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n", "File {}", 0),
    ],
)
def test_every_file_that_is_not_as_it_should_be_has_a_row(
    tmp_path: Path, text: str, name: str, code: int
) -> None:
    file = tmp_path / "it.yaml"
    file.write_text(text)
    row = rows(tmp_path, code=code)[name.format(file)]
    assert row["state"] == ("warning" if "Deployment" in text else "error")
    assert row["problems"][0]["file"] == str(file)
    assert row["problems"][0]["line"]
    translated = CliRunner().invoke(main, ["translate", "-f", str(tmp_path), "--to", "fleets"])
    assert translated.exit_code == code


def test_objects_without_a_status_are_listed_if_they_are_asked_for(folder: Path) -> None:
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}]}\n"
    Path(folder, "service.yaml").write_text(service)
    assert "Service a" not in rows(folder)
    assert rows(folder, "--all")["Service a"]["summary"] == "read"


def test_hosts_that_overlap_are_a_warning(folder: Path) -> None:
    Path(folder, "gateway.yaml").write_text(OVERLAPPING)
    row = rows(folder)["Gateway gw"]
    served = "Accepted, Programmed, ResolvedRefs"
    assert (row["state"], row["summary"]) == ("warning", served)
    assert [it["reason"] for it in row["problems"]] == ["OverlappingHostnames"] * 2


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    result = status("-f", str(tmp_path))
    assert (result.exit_code, result.stdout.splitlines()[1:]) == (0, [])
    assert f"there are no objects in {tmp_path}" in result.stderr


def test_objects_without_a_status_are_not_said_to_be_missing(tmp_path: Path) -> None:
    Path(tmp_path, "service.yaml").write_text(
        "{apiVersion: v1, kind: Service, metadata: {name: one}, spec: {ports: [{port: 80}]}}"
    )
    told = f"contour: no object in {tmp_path} has a status of its own; --all shows them\n"
    assert status("-f", str(tmp_path)).stderr == told
    assert not status("-f", str(tmp_path), "--all").stderr


def test_an_unknown_field_is_an_error_unless_it_is_to_be_left_out(tmp_path: Path) -> None:
    Path(tmp_path, "it.yaml").write_text(GOOD.replace("routes:", "rutes: []\n  routes:"))
    assert rows(tmp_path)["HTTPProxy good"]["summary"] == "invalid"
    assert rows(tmp_path, "--lenient")["HTTPProxy good"]["state"] == "warning"


IDLE = (
    GOOD.replace("directResponsePolicy: {statusCode: 200}", "services: [{name: empty, port: 80}]")
    + """---
apiVersion: v1
kind: Service
metadata: {name: empty}
spec: {ports: [{port: 80}]}
---
"""
)
ENDPOINTS = """apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: empty-1, labels: {kubernetes.io/service-name: empty}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{port: 9101}]
"""
UNREADY = ENDPOINTS.replace("]}]", "], conditions: {ready: false}}]", 1)


@pytest.mark.parametrize(
    ("endpoints", "is_told"),
    [("", True), (ENDPOINTS, False), (UNREADY, True)],
)
def test_a_service_without_endpoints_is_told_where_it_is_used(
    tmp_path: Path, endpoints: str, is_told: bool
) -> None:
    Path(tmp_path, "it.yaml").write_text(IDLE + endpoints)
    row = rows(tmp_path)["HTTPProxy good"]
    assert (row["state"], row["summary"]) == ("ok", "valid")
    assert ["has no ready endpoints" in it for it in row["reasons"]] == [True] * is_told
