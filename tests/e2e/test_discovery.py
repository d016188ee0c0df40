"""EnvoyConfigs of a cluster: a real API server, replicas with the shipped rights, real Envoys."""

import base64
import contextlib
import http.client
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contour.host import installation
from crds.kinds import MARIN3R
from provisioning import rights, secrets
from tests.cluster.cluster import Cluster
from tests.e2e import incluster
from tests.e2e.incluster import Instance, Served
from tests.e2e.standalone import exchange
from tests.testbed import processes

pytestmark = [pytest.mark.envoy, pytest.mark.cluster]

CONFIGURATION = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour}
spec:
  envoy: {http: {address: 127.0.0.1, port: $https}}
  discovery: {}
"""

CONFIG = """
apiVersion: marin3r.3scale.net/v1alpha1
kind: EnvoyConfig
metadata: {name: edge}
spec:
  nodeID: edge
  resources:
    - type: route
      value:
        name: all
        virtual_hosts:
          - name: all
            domains: ["*"]
            response_headers_to_add: [{header: {key: x-version, value: "VERSION"}}]
            routes: [{match: {prefix: /}, direct_response: {status: 200}}]
    - type: listener
      value:
        name: http
        address: {socket_address: {address: 127.0.0.1, port_value: $http}}
        enable_reuse_port: true
        filter_chains:
          - filters:
              - name: envoy.filters.network.http_connection_manager
                typed_config:
                  "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                  stat_prefix: http
                  rds: {route_config_name: all, config_source: {ads: {}, resource_api_version: V3}}
                  http_filters:
                    - name: envoy.filters.http.router
                      typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
"""  # noqa: E501

REFUSED = CONFIG.replace('domains: ["*"]', 'domains: ["*", "*"]')


class Edge:
    """An instance that serves EnvoyConfigs, and what is there of one of them."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        authority = secrets.AUTHORITY_TYPE
        folder = instance.folder / "certificates"
        keys = {"ca.crt": "CAcert.pem", "ca.key": "CAkey.pem"}
        data = {
            it: base64.b64encode((folder / name).read_bytes()).decode() for it, name in keys.items()
        }
        metadata = {"name": "contour-authority", "namespace": instance.namespace}
        instance.cluster.create(
            {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": authority}
            | {"data": data}
        )
        instance.apply(CONFIGURATION)

    def write(self, version: str, text: str = CONFIG) -> None:
        """Edits the EnvoyConfig."""
        self.instance.apply(text.replace("VERSION", version))

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.instance.get("EnvoyConfig", "edge").get("status", {})
        return found

    def until_state(self, *states: str) -> dict[str, Any]:
        """Waits until it says so of the newest generation and of all revisions; its status."""

        def is_so() -> bool:
            whole = self.instance.get("EnvoyConfig", "edge")
            status = whole.get("status", {})
            newest = whole["metadata"]["generation"]
            told = {it.get("observedGeneration") for it in status.get("conditions", ())}
            # The leader writes a status before it has made the new revision, then its reference.
            are_there = all("ref" in it for it in status.get("revisions", ()))
            return status.get("cacheState") in states and told == {newest} and are_there

        self.instance.until(is_so, f"the state {states}")
        return self.status()

    def revisions(self) -> list[dict[str, Any]]:
        """Those that there are."""
        path = f"/apis/marin3r.3scale.net/v1alpha1/namespaces/{self.instance.namespace}"
        found: list[dict[str, Any]] = self.instance.cluster.ask(
            "GET", f"{path}/envoyconfigrevisions"
        )["items"]
        return found

    def published(self) -> list[str]:
        """The versions of those that are published."""
        return [it["spec"]["version"] for it in self.revisions() if _is(it, "RevisionPublished")]

    def remove_revision(self, version: str) -> None:
        """Deletes one, as a user would."""
        self.instance.cluster.delete(
            next(it for it in self.revisions() if it["spec"]["version"] == version)
            | {"apiVersion": "marin3r.3scale.net/v1alpha1", "kind": "EnvoyConfigRevision"}
        )

    def out_of_sync(self) -> str:
        """Why what is written is not served as it is."""
        return str(self.instance.condition("EnvoyConfig", "edge", "CacheOutOfSync").get("message"))

    def version_of_secrets(self) -> str:
        """Of those of the published revision; empty if it has none."""
        found = [it["status"].get("providesVersions", {}) for it in self.revisions()]
        return str(next((it["secrets"] for it in found if "secrets" in it), ""))

    def start_envoy(self, of: Served, name: str = "edge") -> Served:
        """An Envoy with the certificate of the node ID, on a replica."""
        here = self.instance.folder / f"{name}-{len(self.instance.processes)}"
        here.mkdir()
        self.instance.until(lambda: bool(self.certificate()), "the certificate")
        for file, data in self.certificate().items():
            (here / file).write_bytes(base64.b64decode(data))
        path = here / "envoy.json"
        processes.called(
            *("bootstrap", str(path), "--node-id", name, "--namespace", self.instance.namespace),
            *("--xds-address", "127.0.0.1", "--xds-port", str(of.ports["xds"])),
            *("--admin-address", str(here / "admin.sock"), "--resources-dir", str(here)),
            *("--envoy-cafile", str(here / "ca.crt"), "--envoy-cert-file", str(here / "tls.crt")),
            *("--envoy-key-file", str(here / "tls.key")),
        )
        arguments = ("--concurrency", "1", "--use-dynamic-base-id", "--drain-time-s", "1")
        command = (str(installation.binary()), "-c", str(path), *arguments)
        it = processes.start(here.name, command, here)
        ports = {"http": self.instance.ports["http"]}
        self.instance.processes.append(Served(it.name, it.popen, it.log, ports))
        return self.instance.processes[-1]

    def certificate(self) -> dict[str, str]:
        """What the Secret of the node ID holds; empty as long as there is none."""
        instance = self.instance
        found = instance.cluster.look_up("secret", instance.namespace, "envoy-node-edge")
        data: dict[str, str] = found.get("data", {})
        return data

    def answer(self) -> str:
        """The version that Envoy answers with."""
        connection = http.client.HTTPConnection("127.0.0.1", self.instance.ports["http"])
        with contextlib.closing(connection):
            try:
                return exchange(connection, "any.example.com", "/").headers.get("x-version", "")
            except OSError:
                return ""

    def until(self, version: str) -> None:
        """Waits until every Envoy answers so (they share a port)."""
        self.instance.until(lambda: {self.answer() for _ in range(8)} == {version}, version)


def _is(found: dict[str, Any], type_: str) -> bool:
    conditions = found.get("status", {}).get("conditions", ())
    return any(it["type"] == type_ and it["status"] == "True" for it in conditions)


@pytest.fixture
def edge(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Edge]:
    further = [*rights.of_group(MARIN3R), *rights.of_node_certificates()]
    with incluster.instance(cluster, namespace, tmp_path, further) as found:
        yield Edge(found)


def test_what_envoys_refuse_is_taken_back_on_all_replicas(edge: Edge) -> None:
    first, second = edge.instance.start_replica(), edge.instance.start_replica()
    edge.write("one")
    envoys = {it.name: edge.start_envoy(it) for it in (first, second)}
    edge.until("one")
    good = edge.until_state("InSync")
    assert edge.published() == [good["publishedVersion"]]
    assert good["revisions"][0]["ref"]["name"] == edge.revisions()[0]["metadata"]["name"]
    # The words of Envoy, the revision before, and its marks.
    edge.write("two", REFUSED)
    bad = edge.until_state("Rollback")
    assert bad["publishedVersion"] == good["publishedVersion"] != bad["desiredVersion"]
    assert [it["version"] for it in bad["revisions"]] == [
        good["publishedVersion"],
        bad["desiredVersion"],
    ]
    told = {it["type"]: it for it in bad["conditions"]}
    assert "Only a single wildcard domain" in told["CacheOutOfSync"]["message"]
    edge.instance.until(lambda: edge.published() == [good["publishedVersion"]], "the one before")
    (tainted,) = [it for it in edge.revisions() if it["status"]["tainted"]]
    assert tainted["spec"]["version"] == bad["desiredVersion"]
    edge.until("one")
    # Another leader, and a process that has heard nothing, know of it.
    leader = edge.instance.leader
    assert leader is not None
    leader.stop()
    envoys[leader.name].stop()  # nobody would tell it anything any more
    third = edge.instance.start_replica()
    edge.instance.until(lambda: third.is_ready, "the third replica")
    edge.start_envoy(third)
    edge.until("one")
    assert edge.until_state("Rollback") == bad
    edge.write("three")
    edge.until("three")
    edge.until_state("InSync")


OPAQUE = """
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {password: VALUE, unused: other}
"""


def test_any_value_of_an_opaque_secret_is_served_and_followed(edge: Edge) -> None:
    edge.instance.start_replica()
    edge.write("one", CONFIG + """
    - type: secret
      generateFromOpaqueSecret: {name: token, key: password, alias: token}
""")  # fmt: skip
    edge.until_state("InSync")
    edge.instance.until(lambda: "token has no value password" in edge.out_of_sync(), "a wait")
    edge.instance.apply(OPAQUE.replace("VALUE", "not JSON"))
    edge.instance.until(lambda: not edge.out_of_sync().startswith("Secret"), "no wait")
    edge.instance.until(lambda: bool(edge.version_of_secrets()), "a secret")
    first = edge.version_of_secrets()
    edge.instance.apply(OPAQUE.replace("VALUE", "another one"))
    edge.instance.until(lambda: edge.version_of_secrets() not in {"", first}, "the other value")
    assert len(edge.revisions()) == 1


OF_MARIN3R = """
apiVersion: marin3r.3scale.net/v1alpha1
kind: EnvoyConfigRevision
metadata: {name: edge-v3-7966f8f4b7}
spec: {nodeID: edge, version: 7966f8f4b7, envoyAPI: v3, resources: []}
"""


def test_a_namespace_is_moved_from_marin3r_as_the_page_says(edge: Edge) -> None:
    edge.instance.apply(OF_MARIN3R)
    replica = edge.instance.start_replica()
    edge.write("one")

    def told() -> str:
        return str(edge.instance.get("ContourConfiguration", "contour").get("status"))

    edge.instance.until(lambda: "EnvoyConfigRevisions of somebody else" in told(), "a warning")
    assert edge.status() == {}
    assert [it["spec"]["version"] for it in edge.revisions()] == ["7966f8f4b7"]
    edge.instance.delete(OF_MARIN3R)
    found = edge.until_state("InSync")
    edge.instance.until(lambda: edge.published() == [found["publishedVersion"]], "a revision")
    edge.instance.until(lambda: "of somebody else" not in told(), "no warning")
    edge.start_envoy(replica)
    edge.until("one")
