"""`contour analyze` of manifests; that of a running instance is in the end-to-end tests."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from contour.cli import main
from tests.dag.gateway.manifests import (
    gateway,
    gateway_class,
    host,
    http,
    https,
    listener,
    listener_set,
    route,
)

SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
"""
PROXY = """
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: shop}
spec:
  virtualhost: {fqdn: shop.example.com}
  routes:
  - services: [{name: web, port: 80}]
"""
GOOD = SERVICE + PROXY
TYPO = SERVICE + PROXY.replace("name: web", "name: wep")
SHADOWED = """
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: old}
spec:
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
"""
SLICE = """
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: []
"""
GATEWAY = gateway_class() + gateway("web", https(secret="gone"))
OTHER = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
OVERLAPPING = gateway_class() + gateway(
    "gw",
    *(
        listener(name, 443, "TLS", f"{host(names)}, tls: {{mode: Passthrough}}")
        for name, names in (("a", "*.a.com"), ("b", "b.a.com"))
    ),
)


def analyze(manifests: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["analyze", "-", *arguments], input=manifests)


def found(manifests: str, *arguments: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(analyze(manifests, "-o", "json", *arguments).stdout)
    return listed


CODES = {
    "nothing": (GOOD, {}),
    "a typing error in a Service": (TYPO, {"ServiceUnresolvedReference": "error"}),
    "a route that gets nothing": (GOOD + SHADOWED, {"RouteShadowed": "warning"}),
    "a Service without endpoints": (GOOD + SLICE, {"ServiceWithoutEndpoints": "warning"}),
    "a kind that is not read": (GOOD + OTHER, {"UnknownKind": "warning"}),
    "a field of the wrong type": (
        GOOD.replace("port: 80}]\n", "port: high}]\n"), {"InvalidDocument": "error"}
    ),
    "hosts that overlap": (OVERLAPPING, {"OverlappingHostnames": "warning"}),
    "no YAML": ("a: [", {"UnreadableFile": "error"}),
    "a Gateway without its Secret, once and without consequences": (
        GATEWAY, {"InvalidCertificateRef": "error"}
    ),
    "another class": (
        GOOD.replace("spec:\n  virt", "spec:\n  ingressClassName: nginx\n  virt"),
        {"NotServed": "warning"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CODES)
def test_what_is_found(name: str) -> None:
    manifests, wanted = CODES[name]
    listed = found(manifests)
    assert {it["code"]: it["severity"] for it in listed} == wanted
    assert len(listed) == len({(it["code"], it["field"]) for it in listed})


EXITS = [
    (GOOD, (), 0),
    (GOOD + SHADOWED, (), 0),
    (GOOD + SHADOWED, ("--fail-on", "warning"), 1),
    (OVERLAPPING, (), 0),
    (TYPO, (), 1),
    (TYPO, ("--fail-on", "never"), 0),
    (TYPO, ("--ignore", "ServiceUnresolvedReference"), 0),
    (GOOD, ("-f", "/nowhere"), 2),
    ("a: [", (), 2),
    ("a: [", ("--fail-on", "never"), 2),
    ("a: [", ("--ignore", "UnreadableFile"), 2),
    (GOOD + SHADOWED, ("--fail-on", "warning", "--severity", "error"), 1),
    (GOOD + SHADOWED, ("--fail-on", "warning", "--ignore", "RouteShadowed"), 0),
]


def test_a_code_that_nothing_has_is_not_ignored_in_silence() -> None:
    result = analyze(GOOD, "--ignore", "RouteShadowed", "--ignore", "HostShard")
    assert result.exit_code == 2
    assert "no finding has the code HostShard; did you mean HostShared?" in result.stderr


@pytest.mark.parametrize(("manifests", "arguments", "code"), EXITS)
def test_the_exit_code(manifests: str, arguments: tuple[str, ...], code: int) -> None:
    assert analyze(manifests, *arguments).exit_code == code


def test_a_parent_that_is_there_and_not_served_does_not_have_to_be_created() -> None:
    attached = route("r", parents="{kind: ListenerSet, name: own}")
    given = found(OVERLAPPING + listener_set("own", http("x")) + attached)
    (told,) = (it for it in given if it["code"] == "NoMatchingParent")
    assert told["message"] == "ListenerSet default/own is not served; its status says why"
    assert "its status says what is wrong" in told["remedy"]
    assert "Create" not in told["remedy"]


def test_a_finding_says_where_why_and_what_to_do() -> None:
    (shadowed,) = found(GOOD + SHADOWED)
    assert shadowed["object"] == {"kind": "Ingress", "namespace": "default", "name": "old"}
    assert shadowed["line"] == 17
    assert "shop.example.com" in shadowed["message"]
    assert shadowed["why"]
    assert shadowed["remedy"]


def test_only_severe_ones_are_shown() -> None:
    assert {it["code"] for it in found(TYPO + SHADOWED + OTHER, "--severity", "error")} == {
        "ServiceUnresolvedReference"
    }


def test_text_for_people() -> None:
    lines = analyze(GOOD + SHADOWED).stdout.splitlines()
    assert lines[0].startswith("warning RouteShadowed: Ingress default/old (")
    assert lines[-1] == "1 warning"
    assert analyze(GOOD).stdout == "no findings\n"


def test_manifests_without_objects_are_told() -> None:
    result = analyze("---\n# Source: chart/templates/ingress.yaml\n")
    assert (result.exit_code, result.stdout) == (0, "no findings\n")
    assert result.stderr == "contour: there are no objects in -\n"
    assert not analyze(GOOD).stderr


def test_sarif() -> None:
    (run,) = json.loads(analyze(TYPO + OTHER, "-o", "sarif").stdout)["runs"]
    rules = {it["id"] for it in run["tool"]["driver"]["rules"]}
    assert rules == {it["ruleId"] for it in run["results"]}
    assert [it["level"] for it in run["results"]] == ["error", "warning"]
    (place,) = run["results"][0]["locations"]
    assert place["physicalLocation"]["region"]["startLine"] == 8


def test_a_file_in_sarif_is_a_uri(tmp_path: Path) -> None:
    file = tmp_path / "a b" / "100%25#1.yaml"
    file.parent.mkdir()
    file.write_text(TYPO)
    shown = CliRunner().invoke(main, ["analyze", "-o", "sarif", str(file)]).stdout
    (found,) = json.loads(shown)["runs"][0]["results"]
    (place,) = found["locations"]
    uri = place["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == f"{tmp_path}/a%20b/100%2525%231.yaml"


def test_annotations_escape_what_ends_a_property() -> None:
    line = analyze(TYPO, "-o", "github").stdout
    assert line.startswith("::error file=")
    assert ",line=8,title=ServiceUnresolvedReference::" in line
    assert line.count("\n") == 1


UPSTREAM = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourDeployment
metadata: {name: edge}
spec:
  contour: {kubernetesLogLevel: 4}
  envoy: {workloadType: Deployment}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: contour}
data:
  contour.yaml: |
    tls: {fallback-certificate: {name: a, namespace: b}}
    policy: {applyToIngress: true}
"""


def test_settings_of_upstream_are_told_with_the_field_that_does_the_same() -> None:
    told = {it["message"] for it in found(UPSTREAM) if it["code"] == "NoEffect"}
    assert told == {
        "has no counterpart here",
        "is not read; spec.envoy.workload.type of a ContourConfiguration does the same",
        "tls.fallback-certificate: is not read; "
        "spec.httpproxy.fallbackCertificate of a ContourConfiguration does the same",
        "policy: is not read; spec.policy of a ContourConfiguration does the same",
    }
