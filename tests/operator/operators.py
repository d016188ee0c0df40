"""Operators as processes, and the configurations that a user writes for them."""

import dataclasses
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kube import lease as leases
from provisioning import installation, manifests
from provisioning.installation import Place
from tests.cluster.cluster import Cluster
from tests.operator.proxy import Proxy
from tests.testbed import processes
from tests.testbed.apiserver import RefusedError
from tests.testbed.commands import write_kubeconfig
from tests.testbed.processes import Process

Raw = dict[str, Any]

PROGRAM = Path(sys.executable).with_name("contour-operator")
FAST = leases.Timing(duration=4.0, renew_deadline=3.0, retry_period=0.3)
RBAC = {"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
OWNED = "projectcontour.io/owning-configuration-namespace"
KINDS = (
    ("apps/v1", "Deployment"),
    ("apps/v1", "DaemonSet"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("v1", "Secret"),
    ("policy/v1", "PodDisruptionBudget"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
)


@dataclass(slots=True)
class Rig:
    """An operator's home, with the shipped rights, and a namespace for instances."""

    cluster: Cluster
    home: str
    prefix: str
    """Of the names of the namespaces that its operators look at."""
    folder: Path
    namespace: str = ""
    operators: list[Process] = field(default_factory=list)

    def grant(self) -> None:
        """What `manifests/operator.yaml` grants, to an account of this home."""
        place = Place(namespace=self.home)
        for it in manifests.operator(installation.Operator(place=place)):
            if it["kind"] == "ClusterRoleBinding":
                it["metadata"]["name"] += f"-{self.home}"
            if it["kind"] in RBAC:
                self.cluster.apply(it)

    def revoke(self) -> None:
        """The rights that are not in its namespace."""
        name = f"contour-operator-{self.home}"
        self.cluster.delete(cluster_wide("ClusterRoleBinding", name))

    @contextmanager
    def lesser(self, group: str) -> Iterator[None]:
        """Without the rights to a group of kinds, while the block runs."""
        name, version = f"lesser-{self.home}", "rbac.authorization.k8s.io/v1"
        account = {"kind": "ServiceAccount", "name": "contour-operator", "namespace": self.home}
        rules = self.cluster.get(cluster_wide("ClusterRole", "contour-operator"))["rules"]
        lesser = cluster_wide("ClusterRole", name) | {
            "rules": [it for it in rules if group not in it["apiGroups"]]
        }
        reference = {"apiGroup": version.partition("/")[0], "kind": "ClusterRole", "name": name}
        binding = cluster_wide("ClusterRoleBinding", name) | {
            "roleRef": reference,
            "subjects": [account],
        }
        for it in (lesser, binding):
            self.cluster.create(it)
        self.revoke()
        try:
            yield
        finally:
            self.grant()
            for it in (binding, lesser):
                self.cluster.delete(it)

    def access(self, proxy: Proxy | None = None) -> str:
        """A kubeconfig of an operator."""
        token = self.cluster.token(self.home, "contour-operator")
        config = self.cluster.kubeconfig(token, self.home)
        if proxy is not None:
            write_kubeconfig(config, proxy.url, token, self.home, self.cluster.authority)
        return str(config)

    def start(self, *options: str, proxy: Proxy | None = None, pod: str = "") -> Process:
        """An operator, for the namespace unless told otherwise; in a pod of that name."""
        config = self.access(proxy)
        names = ("lease-duration", "renew-deadline", "retry-period")
        timing = [f"--leader-election-{k}={v}" for k, v in zip(names, FAST, strict=True)]
        command: tuple[str | Path, ...] = (
            PROGRAM,
            "run",
            f"--kubeconfig={config}",
            "--health-port=0",
            *timing,
        )
        started = processes.start(
            f"operator-{len(self.operators)}",
            (*command, f"--watch-namespaces={self.namespace}", *options),
            self.folder,
            os.environ | ({"POD_NAME": pod} if pod else {}),
        )
        self.operators.append(started)
        return started

    def pod(self, image: str) -> str:
        """A pod at home that runs that image, among others; its name."""
        containers = [
            {"name": "beside", "image": "registry.example.com/beside:1"},
            {"name": "operator", "image": image},
        ]
        made = self.cluster.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"generateName": "operator-", "name": "", "namespace": self.home},
                "spec": {"containers": containers},
            }
        )
        return str(made["metadata"]["name"])

    def configure(self, name: str = "contour", **spec: Any) -> Raw:
        """Writes a configuration of which an instance is to be made."""
        return self.cluster.apply(self.configuration(name, **spec))

    def configuration(self, name: str = "contour", **spec: Any) -> Raw:
        """What a user writes."""
        return {
            "apiVersion": "projectcontour.io/v1alpha1",
            "kind": "ContourConfiguration",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"contour": {}} | spec,
        }

    def condition(self, type_: str, name: str = "contour") -> Raw:
        """Of a configuration; empty if it has none of that type."""
        status = self.cluster.get(self.configuration(name)).get("status", {})
        return next((it for it in status.get("conditions", ()) if it["type"] == type_), {})

    def children(self) -> dict[tuple[str, str, str], Raw]:
        """Everything that is marked as of a configuration in the namespace, wherever it is."""
        found: dict[tuple[str, str, str], Raw] = {}
        for api_version, kind in (*KINDS, ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding")):
            sample = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "any"}}
            path = self.cluster.path(sample, of_collection=True)
            answer = self.cluster.ask(
                "GET",
                path.replace("/namespaces/default", ""),
                labelSelector=f"{OWNED}={self.namespace}",
            )
            for it in answer["items"]:
                metadata = it["metadata"]
                key = (kind, metadata.get("namespace", ""), metadata["name"])
                found[key] = it | {"apiVersion": api_version, "kind": kind}
        return found

    def reason(self, name: str = "contour") -> str:
        """Why not all is there; `Provisioned` if all is."""
        return str(self.condition("Provisioned", name).get("reason", ""))

    def finalizers(self) -> list[str]:
        """Of the configuration."""
        return list(self.cluster.get(self.configuration())["metadata"].get("finalizers", ()))

    def is_gone(self, obj: Raw) -> bool:
        """There is no such object."""
        try:
            self.cluster.get(obj)
        except RefusedError as error:
            return error.code == 404
        return False

    def until(self, is_so: Callable[[], object], seconds: float = 80.0) -> float:
        """Waits for something; the seconds it took."""

        def has_come() -> object:
            for it in self.operators:
                assert it.code in (None, -signal.SIGKILL), it.last_words
            return is_so()

        return processes.wait(has_come, "what is waited for", seconds, self.operators)

    def until_provisioned(self, name: str = "contour") -> float:
        """Waits until all is there."""
        return self.until(lambda: self.condition("Provisioned", name).get("status") == "True")


@contextmanager
def granted(cluster: Cluster, folder: Path) -> Iterator[Rig]:
    """A home with its rights; its operators end with the block."""
    home = cluster.namespace("home")
    found = Rig(cluster, home, home.replace("home", "instance"), folder)
    found.grant()
    try:
        yield found
    finally:
        for it in found.operators:
            it.kill()
        found.revoke()
        for it in cluster.ask("GET", "/api/v1/namespaces")["items"]:
            if it["metadata"]["name"].startswith(found.prefix):
                cluster.free(it["metadata"]["name"])
        cluster.delete_namespace(home)


@contextmanager
def in_a_namespace(rig: Rig) -> Iterator[Rig]:
    """The same home, with a fresh namespace for instances."""
    name = rig.cluster.namespace(rig.prefix)
    yield dataclasses.replace(rig, namespace=name)
    rig.cluster.delete(namespace(name))


def namespace(name: str) -> Raw:
    """The identity of a namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def lease(namespace: str, **spec: Any) -> Raw:
    """That of the replicas of an instance."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "leader-elect", "namespace": namespace},
        "spec": spec,
    }


def cluster_wide(kind: str, name: str) -> Raw:
    """The identity of a right that is in no namespace."""
    version = "rbac.authorization.k8s.io/v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


def shipped(kind: str) -> Raw:
    """An object of `manifests/operator.yaml`."""
    text = Path(__file__).parents[2].joinpath("manifests", "operator.yaml").read_text()
    found: list[Raw] = [it for it in yaml.load_all(text, yaml.CSafeLoader) if it["kind"] == kind]
    return found[-1]
