"""The commands that ask an instance in a cluster, through a real API server and port-forward."""

import json
import tarfile
from pathlib import Path

import pytest
import yaml

from contour import packages
from tests.contour.remote.conftest import HOST, NAMESPACE, Site, proxy
from tests.pods import written

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]


def test_a_request_is_explained_by_the_leader(site: Site) -> None:
    found = site.contour("explain", f"http://{HOST}/cart")
    assert found.exit_code == 0, found.output
    assert found.stdout.startswith(f"answered by Service {site.namespace}/web:80\n")
    assert f"HTTPProxy {site.namespace}/web" in found.stdout
    assert found.stderr == (
        f"contour: no `contour run` runs here; this is the instance {NAMESPACE}/contour of the "
        "kubeconfig's cluster\n"
    )


def test_who_names_the_cluster_is_not_told_of_it(site: Site) -> None:
    found = site.contour("explain", "--cluster", f"http://{HOST}/", "-o", "json")
    assert (found.exit_code, found.stderr) == (0, "")
    assert json.loads(found.stdout)["backends"][0]["service"] == f"{site.namespace}/web:80"


def test_the_status_of_every_object_is_shown(site: Site) -> None:
    found = site.contour("status", "--cluster", "-o", "json")
    assert found.exit_code == 0, found.output
    states = {
        (it["subject"]["kind"], it["subject"]["namespace"], it["subject"]["name"]): it["state"]
        for it in json.loads(found.stdout)
    }
    assert states["HTTPProxy", site.namespace, "web"] == "ok"


def test_findings_are_listed(site: Site) -> None:
    found = site.contour("analyze", "--cluster", "-o", "json", "--fail-on", "never")
    assert found.exit_code == 0, found.output
    assert isinstance(json.loads(found.stdout), list)


def test_the_envoys_of_all_replicas_are_shown_with_their_replica(site: Site) -> None:
    found = site.contour("config", "--cluster", "-o", "json")
    assert found.exit_code == 0, found.output
    (fleet,) = (it for it in json.loads(found.stdout) if it["fleet"] == "contour")
    envoys = {it["id"] for it in fleet["envoys"]}
    assert envoys == {it["metadata"]["name"] for it in site.pods.all(NAMESPACE, "app=envoy")}
    replicas = {it["metadata"]["name"] for it in site.pods.all(NAMESPACE, "app=contour")}
    assert {it["replica"] for it in fleet["envoys"]} <= replicas


def test_a_change_is_compared_with_what_the_cluster_has(site: Site) -> None:
    route = {"services": [{"name": "other", "port": 80}]}
    changed = yaml.safe_dump(proxy(site.namespace, routes=[route]))
    found = site.contour("diff", "--cluster", "-f", "-", stdin=changed)
    assert found.exit_code == 1, found.output
    assert HOST in found.stdout
    same = site.contour("diff", "--cluster", "-f", "-", stdin=yaml.safe_dump(proxy(site.namespace)))
    assert (same.exit_code, same.stdout) == (0, "no request is answered differently\n")


SEES = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "get"]}
FORWARDS = {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["create", "get"]}


@pytest.mark.parametrize(
    ("rules", "arguments", "told"),
    [
        ([], [], "name that of the instance with --namespace"),
        ([], ["-n", NAMESPACE], 'cannot list resource "pods"'),
        ([SEES], ["-n", NAMESPACE], "may not be forwarded"),
    ],
    ids=["nothing", "nothing-there", "no-port"],
)
def test_what_rights_are_missing_is_told_in_one_line(
    site: Site, rules: list[dict[str, list[str]]], arguments: list[str], told: str
) -> None:
    account = f"u{len(rules)}{len(arguments)}"
    token = site.pods.cluster.service_account(NAMESPACE, account, rules)
    found = site.contour("status", *arguments, token=token)
    assert found.exit_code == 2, found.output
    last = found.stderr.splitlines()[-1]
    assert last.startswith("contour: "), last
    assert told in last


def test_the_rights_to_see_pods_and_forward_ports_are_enough(site: Site) -> None:
    token = site.pods.cluster.service_account(NAMESPACE, "enough", [SEES, FORWARDS])
    found = site.contour("explain", "-n", NAMESPACE, f"http://{HOST}/", token=token)
    assert found.exit_code == 0, found.output
    assert "which replica leads cannot be told" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--instance", "other"], f"there is {NAMESPACE}/contour"),
        (["-n", "default"], "no pod of `contour serve` in namespace default"),
        (["--context", "other"], "other"),
        (["--kubeconfig", "/nowhere"], "no such file"),
        (["--state-dir", "/nowhere"], "no instance runs with the state directory"),
        (["--state-dir", "/nowhere", "--cluster"], "--state-dir asks a `contour run`"),
    ],
)
def test_who_cannot_be_asked_is_told(site: Site, arguments: list[str], told: str) -> None:
    found = site.contour("config", *arguments)
    assert found.exit_code == 2, found.output
    assert told in found.stderr
    assert "Traceback" not in found.output


def test_an_instance_of_another_version_is_not_asked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = {**packages.versions(), packages.OURS: "99.0"}
    monkeypatch.setattr(packages, "versions", lambda: versions)
    found = site.contour("explain", "--cluster", f"http://{HOST}/")
    assert found.exit_code == 2, found.output
    (line,) = found.stderr.splitlines()
    assert line.endswith("and this is 99.0: ask with its version"), line


def test_versions_of_the_replicas_are_told(site: Site) -> None:
    found = site.contour("version", "--cluster", "-o", "json")
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    ours = packages.versions()
    assert told["client"] == ours
    assert {it["pod"] for it in told["replicas"]} == {
        it["metadata"]["name"] for it in site.pods.all(NAMESPACE, "app=contour")
    }
    assert all(it["versions"][packages.OURS] == ours[packages.OURS] for it in told["replicas"])


def test_the_objects_of_a_cluster_are_translated(site: Site) -> None:
    found = site.contour("translate", "--from-cluster", "--to", "routes", "-o", "json")
    assert (found.exit_code, found.stderr) == (0, "")
    hosts = {it["Host"] if "Host" in it else it["host"] for it in json.loads(found.stdout)}
    assert HOST in hosts


def test_what_may_not_be_read_is_left_out_and_told(site: Site) -> None:
    some = ("namespaces", "services", "endpointslices", "httpproxies", "contourconfigurations")
    rules = [{"apiGroups": ["*"], "resources": [it], "verbs": ["list"]} for it in some]
    token = site.pods.cluster.service_account(NAMESPACE, "reader", [SEES], rules)
    found = site.contour(
        "translate", "--from-cluster", "-n", NAMESPACE, "--to", "routes", token=token
    )
    assert found.exit_code == 0, found.output
    assert HOST in found.stdout
    lines = [it for it in found.stderr.splitlines() if it.startswith("warning: secrets may not be")]
    assert [it.endswith("as if their Secrets were missing") for it in lines] == [True]


PLANTED = "pl4nt3d-S3cret"
WANTED = {
    "versions.json",
    "events.json",
    "objects/httpproxies.projectcontour.io.json",
    "objects/services.json",
}


def test_the_archive_of_a_cluster_has_what_a_report_needs_and_nothing_that_was_planted(
    site: Site, tmp_path: Path
) -> None:
    cluster, space = site.pods.cluster, site.namespace
    cluster.create(written.configuration(space, "hidden", "Secret", password=PLANTED))
    cluster.create(written.configuration(space, "hidden", **{"ca.crt": PLANTED}))
    header = {"name": "authorization", "value": f"Basic {PLANTED}"}
    route = {"services": [{"name": "web", "port": 80}], "requestHeadersPolicy": {"set": [header]}}
    other = proxy(space, virtualhost={"fqdn": "hidden.example.com"}, routes=[route])
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(other)}
    other["metadata"] = {"namespace": space, "name": "hidden", "annotations": applied}
    cluster.create(other)
    path = tmp_path / "report.tar.gz"
    found = site.contour("collect", "--cluster", "-o", str(path))
    assert found.exit_code == 0, found.output
    with tarfile.open(path) as tar:
        files = {
            it.name.removeprefix("contour/"): opened.read()
            for it in tar
            if (opened := tar.extractfile(it))
        }
    assert not [name for name, content in files.items() if PLANTED.encode() in content]
    assert not [name for name in files if "secrets" in name]
    wanted = set(WANTED)
    for label, container in (("contour", "contour"), ("envoy", "envoy")):
        for pod in site.pods.all(NAMESPACE, f"app={label}"):
            name = pod["metadata"]["name"]
            wanted |= {f"pods/{name}/{it}" for it in ("pod.json", "metrics.txt")}
            wanted.add(f"pods/{name}/{container}.log")
            if label == "contour":
                wanted |= {f"replicas/{name}/{it}.json" for it in ("config", "objects", "findings")}
    assert wanted <= files.keys(), (wanted - files.keys(), files.get("missing.txt"))
    assert b"hidden.example.com" in files["objects/httpproxies.projectcontour.io.json"]
    numbers = [content for name, content in files.items() if name.endswith("metrics.txt")]
    assert any(b"envoy_server_live" in it for it in numbers)
    assert any(b"contour_" in it for it in numbers)
