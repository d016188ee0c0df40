"""What the operator makes is enough for an instance to run, and neither is in the other's way.

The control plane's container is run as its Deployment says, as a process with the token and the
certificates that its pod would have.
"""

import base64
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.operator.operators import Rig
from tests.testbed import processes
from tests.testbed.apiserver import MEDIA, RefusedError
from tests.testbed.ports import free_ports

pytestmark = pytest.mark.cluster


def test_an_instance_runs_with_what_was_made_and_each_tells_its_own_conditions(
    operated: Rig, tmp_path: Path
) -> None:
    operated.configure()
    operated.until_provisioned()
    with _running(operated, tmp_path):
        operated.until(lambda: operated.condition("Valid").get("status") == "True")
        assert operated.condition("Provisioned")["status"] == "True"
        told = operated.cluster.get(operated.configuration())["status"]
        edit = {"spec": {"enableExternalNameService": True}}
        path = operated.cluster.path(operated.configuration())
        generation = operated.cluster.ask("PATCH", path, edit, MEDIA["merge"])["metadata"]
        operated.until(lambda: _generations(operated) == {generation["generation"]})
        again = operated.cluster.get(operated.configuration())["status"]
        assert [it["type"] for it in again["conditions"]] == [
            it["type"] for it in told["conditions"]
        ]


def test_the_rights_of_an_instance_end_where_it_does_not_watch(operated: Rig) -> None:
    cluster, watched = operated.cluster, operated.cluster.namespace("watched")
    operated.configure(contour={"watchNamespaces": [watched]})
    operated.until_provisioned()
    token = cluster.token(operated.namespace, "contour")
    for namespace in (watched, operated.namespace):
        for path in (f"/api/v1/namespaces/{namespace}/secrets", _proxies(namespace)):
            cluster.ask("GET", path, token=token)
    for path in ("/api/v1/namespaces/kube-system/secrets", _proxies("default")):
        with pytest.raises(RefusedError, match="403"):
            cluster.ask("GET", path, token=token)
    operated.configure()
    operated.until(lambda: operated.condition("Provisioned")["observedGeneration"] == 2)
    cluster.ask("GET", _proxies("default"), token=token)


def _proxies(namespace: str) -> str:
    return f"/apis/projectcontour.io/v1/namespaces/{namespace}/httpproxies"


def _generations(rig: Rig) -> set[int]:
    """The generations of the configuration that its conditions speak of."""
    found = rig.cluster.get(rig.configuration())["status"]["conditions"]
    return {it["observedGeneration"] for it in found}


@contextmanager
def _running(rig: Rig, folder: Path) -> Iterator[None]:
    """The container of the Deployment."""
    deployment = rig.children()["Deployment", rig.namespace, "contour"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    for key, text in rig.children()["Secret", rig.namespace, "contourcert"]["data"].items():
        (folder / key).write_bytes(base64.b64decode(text))
    config = rig.cluster.kubeconfig(rig.cluster.token(rig.namespace, "contour"), rig.namespace)
    pages, debug, xds = free_ports(3)
    arguments = [
        it.replace("--incluster", f"--kubeconfig={config}")
        .replace("/certs/", f"{folder}/")
        .replace("0.0.0.0", "127.0.0.1")
        .replace("8001", str(xds))
        for it in container["args"]
    ]
    program = Path(sys.executable).with_name(container["command"][0])
    ports = [f"--health-port={pages}", f"--http-port={pages}", f"--debug-http-port={debug}"]
    environment = {"CONTOUR_NAMESPACE": rig.namespace, "POD_IP": "127.0.0.1"}
    process = processes.start("contour", (program, *arguments, *ports), folder, environment)
    try:
        yield
        assert process.code is None, process.last_words
    finally:
        process.kill()
