"""`contour translate` as scripts use it."""

import json
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from contour.cli import main
from tests import upstream
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


def test_the_output_does_not_depend_on_the_order_of_documents(tmp_path: Path) -> None:
    """Protobuf has the entries of a map in another order each time."""
    (path := tmp_path / "web.yaml").write_text("---".join(reversed(MANIFESTS.split("---"))))
    one, other = translate("-", stdin=MANIFESTS), translate(str(path))
    assert one.stdout == other.stdout
    maps = re.findall(r"^( *)typed_per_filter_config:\n((?:\1  .*\n)+)", one.stdout, re.MULTILINE)
    keys = [re.findall(rf"^{indent}  (\S.*):", body, re.MULTILINE) for indent, body in maps]
    assert max(map(len, keys)) > 5
    assert keys == [sorted(it) for it in keys]


def translate(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner(env={"COLUMNS": None}).invoke(main, ["translate", *arguments], input=stdin)


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
    (cluster,) = (it for it in shown["clusters"] if not it["name"].startswith("local/"))
    assert cluster["eds_cluster_config"]["service_name"] == "default/web/80"
    (assignment,) = shown["endpoints"]
    (locality,) = assignment["endpoints"]
    assert locality["lb_endpoints"][0]["endpoint"]["address"]["socket_address"] == {
        "address": "127.0.0.1",
        "port_value": 9101,
    }


TWO_HOSTS = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: one}
spec:
  virtualhost: {fqdn: one.example.com}
  routes:
  - conditions: [{prefix: /old}]
    requestRedirectPolicy: {hostname: two.example.com, statusCode: 301}
  - services: [{name: web, port: 80}]
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: two}
spec:
  virtualhost: {fqdn: two.example.com}
  routes: [{directResponsePolicy: {statusCode: 418}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
"""


def _shown(*arguments: str) -> dict[str, list[dict[str, Any]]]:
    result = translate("-", *arguments, stdin=TWO_HOSTS)
    assert result.exit_code == 0, result.output
    shown: dict[str, list[dict[str, Any]]] = yaml.load(result.stdout, yaml.CSafeLoader)
    return shown


def test_tables_without_hosts_are_left_out_and_all_else_is_as_sent() -> None:
    raw, shown = _shown("--raw", "-o", "json"), _shown("-o", "json")
    assert list(raw) == list(shown)
    full = [
        it
        for it in raw["routes"]
        if any(host["domains"] != ["*"] for host in it.get("virtual_hosts", ()))
    ]
    assert shown["routes"] == full
    kept = {it["name"] for it in full}
    assert shown["scoped_routes"] == [
        it for it in raw["scoped_routes"] if it["route_configuration_name"] in kept
    ]
    same = {name for name in raw if name not in ("routes", "scoped_routes")}
    assert {name: raw[name] for name in same} == {name: shown[name] for name in same}


def test_yaml_has_one_table_a_listener() -> None:
    shown = _shown()
    (table,) = shown["routes"]
    assert table["name"] == "ingress_http"
    assert [it["name"] for it in table["virtual_hosts"]] == ["one.example.com", "two.example.com"]
    assert shown["scoped_routes"] == []


def test_types_and_hosts_are_chosen() -> None:
    assert list(_shown("-t", "cluster", "-t", "secret")) == ["clusters", "secrets"]
    (table,) = _shown("--host", "TWO.example.com")["routes"]
    assert [it["name"] for it in table["virtual_hosts"]] == ["two.example.com"]
    assert _shown("--host", "three.example.com") == {"routes": []}


@pytest.mark.parametrize("to", ["xds", "routes"])
def test_a_host_that_nothing_serves_is_told(to: str) -> None:
    told = "contour: no virtual host serves three.example.com\n"
    asked = ("-", "--to", to, "--host")
    assert translate(*asked, "three.example.com", stdin=TWO_HOSTS).stderr == told
    assert not translate(*asked, "two.example.com", stdin=TWO_HOSTS).stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--to", "status", "--type", "cluster"), "--type is for `--to xds`"),
        (("--to", "routes", "-t", "route"), "--type is for `--to xds`"),
        (("--to", "routes", "--raw"), "--raw is for `--to xds`"),
        (("--to", "dag", "--host", "a.example"), "--host is for `--to xds` and `--to routes`"),
        (("--to", "fleets", "--fleet", "a/b"), "--fleet is for `--to xds` and `--to routes`"),
        (("--to", "objects", "-o", "table"), "-o table is for `--to routes`"),
        (("--host", "a.example", "-t", "route", "-t", "cluster"), "it goes with `route`"),
    ],
)
def test_options_that_do_not_concern_the_output_are_refused(
    arguments: tuple[str, ...], told: str
) -> None:
    refused = translate("-", *arguments, stdin=TWO_HOSTS)
    assert refused.exit_code == 2
    assert told in refused.stderr


def test_routes_are_shown_one_by_one_in_the_order_of_envoy() -> None:
    rows = json.loads(translate("-", "--to", "routes", "-o", "json", stdin=TWO_HOSTS).stdout)
    assert [(it["host"], it["match"].split(",")[0], it["object"]) for it in rows] == [
        ("one.example.com", "prefix /old", "HTTPProxy/default/one"),
        ("one.example.com", "prefix /", "HTTPProxy/default/one"),
        ("two.example.com", "prefix /", "HTTPProxy/default/two"),
    ]
    assert rows[0]["action"].startswith("redirect")
    assert rows[1]["action"].startswith("default/web/80")
    assert rows[2]["action"] == "answer 418"
    table = translate("-", "--to", "routes", stdin=TWO_HOSTS).stdout
    assert len(table.splitlines()) == 4
    assert "answer 418" in table


def test_private_keys_are_never_shown(folder: Path) -> None:
    _, key = pairs.pair()
    for format_ in ("json", "yaml"):
        result = translate("-f", str(folder), "-o", format_)
        assert "PRIVATE KEY" not in result.output
        assert b64encode(key).decode()[:40] not in result.output
    (secret,) = json.loads(translate("-f", str(folder), "-o", "json").stdout)["secrets"]
    assert secret["tls_certificate"]["private_key"] == {"inline_string": "[redacted]"}


GUARDED = """
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: contour},
 spec: {controllerName: projectcontour.io/gateway-controller}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: gw},
 spec: {gatewayClassName: contour, listeners: [{name: http, port: 80, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r},
 spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: web, port: 80}]}]}}
---
{apiVersion: v1, kind: Secret, metadata: {name: secrets},
 stringData: {me: my-hidden-key, .htpasswd: "me:{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk="}}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: {name: it}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]
  apiKeyAuth: {credentialRefs: [{name: secrets}], extractFrom: [{headers: [x-key]}]}
  basicAuth: {users: {name: secrets}}
"""


def test_keys_and_passwords_of_policies_are_never_shown(tmp_path: Path) -> None:
    (path := tmp_path / "web.yaml").write_text(MANIFESTS + GUARDED)
    for format_ in ("json", "yaml"):
        shown = translate(str(path), "-o", format_).output
        assert "my-hidden-key" not in shown
        assert "2jmj7l5rSw0yVb" not in shown
        assert shown.count("[redacted]") > 3
        assert "x-key" in shown


JWKS = """
---
{apiVersion: v1, kind: Secret, metadata: {name: keys}, stringData: {jwks: '{"keys": [KEY]}'}}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: {name: it}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]
  jwt:
    providers:
    - name: p
      localJWKS: {type: ValueRef, valueRef: {group: "", kind: Secret, name: keys}}
"""
PUBLIC = '{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"%s}'


@pytest.mark.parametrize(
    ("key", "is_shown"),
    [
        (PUBLIC % "", True),
        (PUBLIC % ', "d": "c2VjcmV0"', False),
        ('{"kty": "oct", "k": "c2VjcmV0"}', False),
    ],
)
def test_keys_by_which_tokens_are_signed_are_never_shown(key: str, is_shown: bool) -> None:
    guarded = GUARDED.partition("---\napiVersion")[0] + JWKS.replace("KEY", key)
    result = translate("-", "-o", "json", stdin=MANIFESTS + guarded)
    assert "JwtAuthentication" in result.stdout, result.output
    assert "c2VjcmV0" not in result.output
    assert ("11qYAYK" in result.stdout) is is_shown
    assert ("[redacted]" in result.stdout) is not is_shown


def test_statuses_are_a_stream_of_objects_with_the_generation_seen(folder: Path) -> None:
    (shown,) = yaml.load_all(
        translate("-f", str(folder), "--to", "status").stdout, yaml.CSafeLoader
    )
    assert (shown["apiVersion"], shown["kind"]) == ("projectcontour.io/v1", "HTTPProxy")
    assert shown["status"]["currentStatus"] == "valid"
    assert shown["status"]["conditions"][0]["observedGeneration"] == 7
    result = translate("-f", str(folder), "--to", "status", "-o", "json")
    assert json.loads(result.stdout) == {"items": [shown]}


def test_objects_are_as_their_files_have_them_with_their_status(tmp_path: Path) -> None:
    documents = list(yaml.load_all(MANIFESTS, yaml.CSafeLoader))
    listed = {"apiVersion": "v1", "kind": "List", "items": documents}
    (tmp_path / "listed.yaml").write_text(yaml.safe_dump(listed))
    (shown,) = yaml.load_all(translate(str(tmp_path), "--to", "objects").stdout, yaml.CSafeLoader)
    assert shown["metadata"] == {**documents[-1]["metadata"], "namespace": "default"}
    assert shown["spec"] == documents[-1]["spec"]
    assert shown["status"]["currentStatus"] == "invalid"
    (without,) = yaml.load_all(
        translate("-", "--to", "objects", stdin=MANIFESTS).stdout, yaml.CSafeLoader
    )
    assert without["status"] == shown["status"]
    assert "spec" not in without  # standard input is read once


def test_standard_input_and_lists_are_read() -> None:
    documents = list(yaml.load_all(MANIFESTS, yaml.CSafeLoader))
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


PER_GATEWAY = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec: {gateway: {mode: PerGateway, only: true}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: contour}
spec: {controllerName: projectcontour.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: default}
spec: {gatewayClassName: contour, listeners: [{name: http, protocol: HTTP, port: 80}]}
"""


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--fleet", "none"], 2, "there is no fleet 'none'; there are: default/edge"),
        (["--to", "routes", "--fleet", "none"], 2, "there are: default/edge"),
        ([], 0, "there is no fleet 'contour'; choose with --fleet one of default/edge"),
        (["--fleet", "default/edge"], 0, ""),
    ],
)
def test_a_fleet_that_is_not_there_is_told_with_those_that_are(
    arguments: list[str], code: int, told: str
) -> None:
    result = translate("-f", "-", *arguments, stdin=PER_GATEWAY)
    assert (result.exit_code, told in result.stderr) == (code, True), result.output
    assert bool(result.stderr) == bool(told)


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


def test_every_manifest_people_have_is_translated_and_told_a_status() -> None:
    told = ("Ingress", "HTTPProxy", "Gateway", "HTTPRoute", "TLSCertificateDelegation")
    for path in sorted(upstream.folder("manifests").rglob("*.yaml")):
        result = translate("-f", str(path), "--to", "status", "-o", "json", "--controller-name",
                           "example.com/gateway-controller")  # fmt: skip
        assert result.exception is None or isinstance(result.exception, SystemExit), path
        assert "Traceback" not in result.output, path
        statuses = {
            (it["kind"], it["metadata"]["name"]) for it in json.loads(result.stdout)["items"]
        }
        for raw in yaml.load_all(path.read_text(), yaml.CSafeLoader):
            if raw and raw.get("kind") in told and "refused" not in result.stderr:
                is_ours = raw["kind"] not in ("Gateway", "HTTPRoute")
                is_there = (raw["kind"], raw["metadata"]["name"]) in statuses
                assert is_there or not is_ours or raw["metadata"]["name"] in result.stderr, path
