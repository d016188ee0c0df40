"""`contour translate` as scripts use it."""

import json
import os
import re
from base64 import b64encode
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from contour.cli import main
from tests.testbed import pairs

MANIFESTS = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{port: 9101}]
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: web, generation: 7}
spec:
  virtualhost: {fqdn: web.example.com, tls: {secretName: web}}
  routes: [{services: [{name: web, port: 80}]}]
"""


def translate(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["translate", *arguments], input=stdin)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("manifests")
    Path(path, "web.yaml").write_text(MANIFESTS + pairs.secret("web"))
    return path


def test_xds_is_one_object_of_sections_in_the_protobuf_json_mapping(folder: Path) -> None:
    result = translate("-f", str(folder), "--to", "xds", "-o", "json")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert list(shown) == [
        "listeners",
        "routes",
        "clusters",
        "endpoints",
        "secrets",
        "scoped_routes",
        "extension_configs",
        "runtime",
    ]
    assert {it["name"] for it in shown["listeners"]} == {"ingress_http", "ingress_https"}
    hosts = [host for it in shown["routes"] for host in it.get("virtual_hosts", ())]
    named = [it["domains"] for it in hosts if it["domains"] != ["*"]]
    assert named == [["web.example.com"]] * 2
    (cluster,) = shown["clusters"]
    assert cluster["eds_cluster_config"]["service_name"] == "default/web/80"
    (assignment,) = shown["endpoints"]
    (locality,) = assignment["endpoints"]
    assert locality["lb_endpoints"][0]["endpoint"]["address"]["socket_address"] == {
        "address": "127.0.0.1",
        "port_value": 9101,
    }


def test_private_keys_are_never_shown(folder: Path) -> None:
    _, key = pairs.pair()
    for format_ in ("json", "yaml"):
        result = translate("-f", str(folder), "-o", format_)
        assert "PRIVATE KEY" not in result.output
        assert b64encode(key).decode()[:40] not in result.output
    (secret,) = json.loads(translate("-f", str(folder), "-o", "json").stdout)["secrets"]
    assert secret["tls_certificate"]["private_key"] == {"inline_string": "[redacted]"}


def test_statuses_are_a_stream_of_objects_with_the_generation_seen(folder: Path) -> None:
    (shown,) = yaml.safe_load_all(translate("-f", str(folder), "--to", "status").stdout)
    assert (shown["apiVersion"], shown["kind"]) == ("projectcontour.io/v1", "HTTPProxy")
    assert shown["status"]["currentStatus"] == "valid"
    assert shown["status"]["conditions"][0]["observedGeneration"] == 7
    result = translate("-f", str(folder), "--to", "status", "-o", "json")
    assert json.loads(result.stdout) == {"items": [shown]}


def test_standard_input_and_lists_are_read() -> None:
    documents = list(yaml.safe_load_all(MANIFESTS))
    text = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": documents})
    result = translate("-f", "-", "-o", "json", stdin=text)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["listeners"]


def test_the_graph_and_the_fleets_are_shown(folder: Path) -> None:
    graph = json.loads(translate("-f", str(folder), "--to", "dag", "-o", "json").stdout)
    assert [it["host"] for it in graph["hosts"]] == ["web.example.com"] * 2
    assert [it["host"] for it in graph["secure_hosts"]] == ["web.example.com"]
    fleets = json.loads(translate("-f", str(folder), "--to", "fleets", "-o", "json").stdout)
    assert fleets == ["contour"]


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
"""


def test_the_acceptance_by_envoy_is_assumed_and_the_status_says_so() -> None:
    result = translate("-f", "-", "--to", "status", "-o", "json", stdin=GATEWAY)
    (gateway,) = (it for it in json.loads(result.stdout)["items"] if it["kind"] == "Gateway")
    (listener,) = gateway["status"]["listeners"]
    for conditions in (gateway["status"]["conditions"], listener["conditions"]):
        (told,) = (it for it in conditions if it["type"] == "Programmed")
        assert told["status"] == "True"
        assert "no Envoy was asked" in told["message"]


@pytest.mark.parametrize(
    ("old", "new", "told", "code"),
    [
        ("{fqdn: web.example.com, tls: {secretName: web}}", "[]", "spec.virtualhost", 0),
        ("routes: [", "routes: 3 #", "spec.routes", 0),
        ("fqdn:", "fqnd:", "did you mean fqdn?", 0),
        # Nobody knows what these say.
        ("projectcontour.io/v1\n", "projectcontour.io/v1alpha7\n", "v1alpha7", 2),
        ("HTTPProxy", "HTTPProxi", "did you mean HTTPProxy?", 2),
    ],
)
def test_an_object_that_is_refused_is_among_the_statuses(
    old: str, new: str, told: str, code: int
) -> None:
    text = MANIFESTS.replace(old, new)
    result = translate("-f", "-", "--to", "status", "-o", "json", stdin=text)
    assert result.exit_code == code, result.output
    (shown,) = json.loads(result.stdout)["items"]
    assert (shown["kind"], shown["metadata"]["name"]) == ("HTTPProxy", "web")
    assert told in " ".join(shown["problems"])
    assert re.search(r"^error: <stdin>:\d+: HTTPProxy default/web: ", result.stderr, re.M)
    assert translate("-f", "-", "--strict", stdin=text).exit_code == (code or 1)


def test_errors_of_objects_count_only_if_strict() -> None:
    assert translate("-f", "-", "--to", "status", stdin=MANIFESTS).exit_code == 0
    assert translate("-f", "-", "--to", "status", "--strict", stdin=MANIFESTS).exit_code == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [", "<stdin>:22: "),
        ("a: b\n---\n- not an object\n", "must be an object"),
        ("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: no}]}", "port"),
    ],
)
def test_what_cannot_be_read_names_its_place_and_hides_nothing(text: str, told: str) -> None:
    result = translate("-f", "-", "-o", "json", stdin=f"{MANIFESTS}---\n{text}")
    assert told in result.stderr
    assert "Traceback" not in result.output
    assert json.loads(result.stdout)["clusters"] is not None


def test_a_missing_path_is_unreadable_input() -> None:
    result = translate("-f", "/there/is/no/such/file")
    assert result.exit_code == 2
    assert "/there/is/no/such/file" in result.stderr


_SHARED = Path(
    os.environ.get(
        "EXAMPLE_MANIFESTS", Path(__file__).parents[3].parent / "shared" / "data" / "manifests"
    )
)


@pytest.mark.skipif(not _SHARED.is_dir(), reason="set EXAMPLE_MANIFESTS to a folder of manifests")
def test_every_manifest_people_have_is_translated_and_told_a_status() -> None:
    told = ("Ingress", "HTTPProxy", "Gateway", "HTTPRoute", "TLSCertificateDelegation")
    for path in sorted(_SHARED.rglob("*.yaml")):
        result = translate("-f", str(path), "--to", "status", "-o", "json", "--controller-name",
                           "example.com/gateway-controller")  # fmt: skip
        assert result.exception is None or isinstance(result.exception, SystemExit), path
        assert "Traceback" not in result.output, path
        statuses = {
            (it["kind"], it["metadata"]["name"]) for it in json.loads(result.stdout)["items"]
        }
        for raw in yaml.safe_load_all(path.read_text()):
            if raw and raw.get("kind") in told and "refused" not in result.stderr:
                is_ours = raw["kind"] not in ("Gateway", "HTTPRoute")
                is_there = (raw["kind"], raw["metadata"]["name"]) in statuses
                assert is_there or not is_ours or raw["metadata"]["name"] in result.stderr, path
