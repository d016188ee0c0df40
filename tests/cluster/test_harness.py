"""The guarantees of the test cluster to the tests that use it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests import golang
from tests.cluster import assets, controlplane, prepared
from tests.cluster.cluster import Cluster
from tests.cluster.fixtures import Start
from tests.testbed import processes
from tests.testbed.apiserver import RefusedError

pytestmark = pytest.mark.cluster

READ_SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}


def secrets_of(cluster: Cluster, namespace: str, token: str) -> dict[str, object]:
    return cluster.ask("GET", f"/api/v1/namespaces/{namespace}/secrets", token=token)


def test_rights_are_those_of_the_role_and_no_more(cluster: Cluster, namespace: str) -> None:
    token = cluster.service_account(namespace, "reader", [READ_SECRETS])
    assert secrets_of(cluster, namespace, token)["kind"] == "SecretList"
    with pytest.raises(RefusedError) as refused:
        secrets_of(cluster, "default", token)
    assert refused.value.code == 403


def test_rights_may_be_given_everywhere(cluster: Cluster, namespace: str) -> None:
    token = cluster.service_account(namespace, "everywhere", cluster_rules=[READ_SECRETS])
    assert secrets_of(cluster, "default", token)["kind"] == "SecretList"


def test_kubectl_speaks_to_it_and_knows_our_kinds(cluster: Cluster, namespace: str) -> None:
    found = cluster.kubectl("get", "httpproxies,gateways", "--namespace", namespace)
    assert found.returncode == 0, found.stderr
    assert "No resources found" in found.stderr


def test_a_write_that_means_nothing_fails(cluster: Cluster, namespace: str) -> None:
    """A test that went on after writing a field that does not exist could not fail."""
    space: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": namespace},
    }
    path, merge = cluster.path(space), "application/merge-patch+json"
    labels = {"metadata": {"labels": {"a": "b"}}}
    assert cluster.ask("PATCH", path, labels, merge)["metadata"]["labels"]["a"] == "b"
    with pytest.raises(AssertionError):
        cluster.ask("PATCH", path, labels, merge)
    with pytest.raises(RefusedError):
        cluster.ask("PATCH", path, {"spec": {"no": "such"}}, merge)
    with pytest.raises(RefusedError):
        cluster.apply(space | {"spec": {"no": "such"}})
    what = ("patch", "namespace", namespace, "--type=merge", "-p")
    for patch in (labels, {"spec": {"no": "such"}}):
        with pytest.raises(AssertionError):
            cluster.kubectl(*what, json.dumps(patch))
    done = cluster.kubectl("apply", "-f", "-", stdin=json.dumps(space | {"spec": {"no": "such"}}))
    assert "unknown field" in done.stderr


async def test_the_projects_own_client_speaks_to_it(cluster: Cluster, namespace: str) -> None:
    async with cluster.client() as client:
        found = await client.get(f"/api/v1/namespaces/{namespace}")
    assert found["metadata"]["name"] == namespace


def test_controllers_run(cluster: Cluster, namespace: str) -> None:
    """A Deployment gets its Pods; a Service gets its EndpointSlice, which is still empty."""
    metadata = {"name": "web", "namespace": namespace}
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": pod}
    of = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    cluster.create(of | {"spec": spec})
    ports = [{"name": "http", "port": 80}]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    cluster.create(service | {"spec": {"selector": labels, "ports": ports}})
    found = awaited(cluster, f"/api/v1/namespaces/{namespace}/pods", 2)
    assert {it["status"]["phase"] for it in found} == {"Pending"}
    path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    (slice_,) = awaited(cluster, path, 1)
    assert slice_["metadata"]["labels"]["kubernetes.io/service-name"] == "web"


def awaited(cluster: Cluster, path: str, count: int) -> list[dict[str, Any]]:
    """The objects at a path, once there are this many."""
    deadline = time.monotonic() + 60
    while len(found := list(cluster.ask("GET", path)["items"])) < count:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def test_a_namespace_goes_with_what_nobody_takes_the_finalizers_of(cluster: Cluster) -> None:
    name = cluster.namespace("left")
    metadata = {"name": "held", "namespace": name, "finalizers": ["example.com/held"]}
    listeners = [{"name": "http", "port": 80, "protocol": "HTTP"}]
    cluster.create({
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": metadata,
        "spec": {"gatewayClassName": "nobodys", "listeners": listeners},
    })  # fmt: skip
    cluster.delete_namespace(name)
    processes.wait(lambda: name not in names_of_namespaces(cluster), "the end of it", 60)


def test_a_control_plane_of_ones_own_restarts_and_rewinds(
    start_control_plane: Start, tmp_path: Path
) -> None:
    running = start_control_plane()
    cluster = Cluster(running.folder)
    before = cluster.namespace("before")
    running.save(tmp_path / "saved")
    after = cluster.namespace("after")
    assert {before, after} <= names_of_namespaces(cluster)
    running.rewind_to(tmp_path / "saved")
    assert names_of_namespaces(cluster) & {before, after} == {before}


def names_of_namespaces(cluster: Cluster) -> set[str]:
    return {it["metadata"]["name"] for it in cluster.ask("GET", "/api/v1/namespaces")["items"]}


_USER = """
import sys
from pathlib import Path
from tests.cluster import shared
with shared.joined(Path(sys.argv[1])) as cluster:
    print(cluster.url, flush=True)
    sys.stdin.read()
"""


def user(folder: Path) -> subprocess.Popen[str]:
    """A process that uses the control plane of a folder, until it is killed."""
    return subprocess.Popen(
        [sys.executable, "-c", _USER, str(folder)],
        cwd=assets.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline()


def test_users_share_a_control_plane_which_goes_with_the_last_of_them_however_they_end(
    cluster: Cluster, tmp_path: Path
) -> None:
    with user(tmp_path) as one, user(tmp_path) as two:
        assert said(one) == said(two) != ""
        one.kill()
        with user(tmp_path) as three:
            assert said(three).startswith("https://")
            assert Cluster(tmp_path).ask("GET", "/version")["major"] == "1"
            two.kill()
            three.kill()
    deadline = time.monotonic() + 20
    while (tmp_path / "etcd").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not (tmp_path / "ready").exists()


def test_by_hand_it_runs_until_it_is_interrupted_and_leaves_nothing(
    cluster: Cluster, tmp_path: Path
) -> None:
    config = tmp_path / "kubeconfig"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.cluster", "--bare", "--kubeconfig", str(config)],
        cwd=assets.ROOT, env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        assert "is ready" in said(running)
        kubectl = Path(sys.executable).with_name("kubectl")
        command = [str(kubectl), "--kubeconfig", str(config), "get", "namespaces"]
        assert "kube-system" in subprocess.check_output(command, text=True)
        running.send_signal(signal.SIGINT)
    assert running.returncode == 0
    assert list(tmp_path.iterdir()) == [config]


_PARENT = """
import sys
from pathlib import Path
from tests.testbed import processes
print(processes.start("sleep", ["sleep", "600"], Path(sys.argv[1])).pid, flush=True)
sys.stdin.read()
"""


def test_parts_die_with_whoever_started_them_even_by_sigkill(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(tmp_path)],
        cwd=assets.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert parent.stdin
    assert parent.stdout
    with parent, os.fdopen(os.pidfd_open(int(parent.stdout.readline()))) as child:
        parent.kill()
        assert processes.has_ended(child.fileno(), seconds=10)


def test_a_part_that_does_not_come_up_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assets, "commands", lambda: {it: ["false"] for it in assets.PARTS})
    with pytest.raises(AssertionError, match="etcd has ended"):
        controlplane.ControlPlane(tmp_path).__enter__()


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "etcd").touch()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(golang.MissingError, match="no kube-apiserver, kube-controller-manager:"):
        assets.commands()


@pytest.mark.parametrize("groups", [set(), {"gateway.networking.k8s.io"}])
def test_one_that_is_prepared_has_the_crds_that_are_asked_for(
    tmp_path: Path, groups: set[str]
) -> None:
    crds = [assets.gateway_api_crds()] if groups else []
    with prepared.running(tmp_path, *crds) as cluster:
        found = cluster.kubectl("get", "crds", "--output=name").stdout.split()
    assert {it.split("/")[1].partition(".")[2] for it in found} == groups


def test_one_is_prepared_for_the_very_crds_that_are_asked_for(tmp_path: Path) -> None:
    crd = tmp_path / "crd.yaml"
    crd.write_text("a: 1")
    first = prepared.hash_of([tmp_path])
    assert prepared.hash_of([tmp_path]) == first
    crd.write_text("a: 2")
    assert prepared.hash_of([tmp_path]) != first
    assert prepared.hash_of([]) != first
