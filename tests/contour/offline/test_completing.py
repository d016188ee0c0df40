"""Objects that manifests refer to and do not have are added for `contour translate`."""

import json

import pytest
from click.testing import CliRunner, Result

from contour.cli import main

SERVICE = "---\napiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec: {ports: [%s]}\n"
CLASS = (
    "---\napiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: mine}\n"
    "spec: {controllerName: a.example.com/b}\n"
)
GATEWAY = (
    "---\napiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: edge}\n"
    "spec: {gatewayClassName: mine, listeners: [{name: one, port: 80, protocol: HTTP}]}\n"
)
PROXY = (
    "---\napiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: it}\nspec:\n"
    "  virtualhost: {fqdn: a.example.com}\n  routes: [{services: [{name: web, port: 80}]}]\n"
)
INGRESS = (
    "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: it}\n"
    "spec: {defaultBackend: {service: {name: web, port: {name: http}}}}\n"
)


def route(kind: str, backend: str, parent: str = "name: edge") -> str:
    return (
        f"---\napiVersion: gateway.networking.k8s.io/v1\nkind: {kind}\nmetadata: {{name: it}}\n"
        f"spec: {{parentRefs: [{{{parent}}}], rules: [{{backendRefs: [{{{backend}}}]}}]}}\n"
    )


def translate(text: str, *options: str) -> Result:
    return CliRunner(env={"COLUMNS": None}).invoke(main, ["translate", "-", *options], input=text)


def completed(text: str, *options: str) -> Result:
    return translate(text, "--add-missing-resources", *options)


def clusters(result: Result) -> str:
    return json.dumps(json.loads(result.stdout)["clusters"])


def added(result: Result) -> list[str]:
    lines = result.stderr.splitlines()
    return [it.removeprefix("added: ") for it in lines if it.startswith("added: ")]


WEB = "name: web, port: 8080"
EVERYTHING = ["Gateway default/edge", "GatewayClass added", "Service default/web"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((route(it, WEB), EVERYTHING) for it in ("HTTPRoute", "GRPCRoute", "TCPRoute")),
        (route("UDPRoute", WEB), EVERYTHING),
        (route("TLSRoute", WEB).replace("rules:", "hostnames: [a.example.com], rules:"),
         EVERYTHING),
        (route("HTTPRoute", WEB, "name: edge, namespace: team"),
         ["Gateway team/edge", "GatewayClass added", "Service default/web"]),
        (route("HTTPRoute", WEB) + GATEWAY, ["GatewayClass mine", "Service default/web"]),
        (route("HTTPRoute", WEB) + GATEWAY + CLASS, ["Service default/web"]),
        (route("HTTPRoute", WEB) + SERVICE % ("web", "{port: 8080}"),
         ["Gateway default/edge", "GatewayClass added"]),
        (route("HTTPRoute", "name: x, kind: Other, group: example.com, port: 1"),
         ["Gateway default/edge", "GatewayClass added"]),
        (PROXY, ["Service default/web"]),
        (INGRESS, ["Service default/web"]),
        (PROXY + SERVICE % ("web", "{port: 80}"), []),
    ],
)  # fmt: skip
def test_what_is_added(text: str, expected: list[str]) -> None:
    assert added(completed(text)) == expected
    assert added(translate(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        *(route(it, WEB) for it in ("HTTPRoute", "GRPCRoute", "TCPRoute", "UDPRoute")),
        route("TLSRoute", WEB).replace("rules:", "hostnames: [a.example.com], rules:"),
        route("HTTPRoute", WEB, "name: edge, namespace: team"),
        route("HTTPRoute", WEB, "name: edge, sectionName: mine, port: 9090"),
        PROXY,
        INGRESS,
    ],
)
def test_then_everything_is_served(text: str) -> None:
    result = completed(text, "--to", "status", "-o", "json", "--strict")
    assert result.exit_code == 0, result.output
    assert "default/web" in clusters(completed(text, "-o", "json"))
    assert "default/web" not in clusters(translate(text, "-o", "json"))


def test_what_is_there_is_not_changed() -> None:
    """A Service that lacks the port keeps lacking it."""
    text = route("HTTPRoute", WEB) + SERVICE % ("web", "{port: 1}")
    assert completed(text, "--strict").exit_code == 1


def test_a_class_that_is_added_is_of_the_controller_that_is_served() -> None:
    text = route("HTTPRoute", WEB)
    assert completed(text, "--strict", "--controller-name", "a.example.com/b").exit_code == 0
    own = (
        "---\napiVersion: projectcontour.io/v1alpha1\nkind: ContourConfiguration\n"
        "metadata: {name: it}\nspec: {gateway: {controllerName: a.example.com/b}}\n"
    )
    assert completed(text + own, "--strict").exit_code == 0
