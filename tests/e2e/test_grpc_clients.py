"""gRPC clients of `contour serve`, with certificates that it makes in their namespaces."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from contour.bootstrap import grpcclients
from contour.bootstrap.grpcclients import Files, GrpcClient
from dag import exports
from provisioning import certificates, identities, pem
from provisioning import grpcclients as grpcclients_manifest
from provisioning.certificates import Subject
from provisioning.grpcclients import CERTIFICATES_ROLE
from provisioning.installation import Place
from provisioning.names import LONGEST_LEAF_LIFETIME
from tests.cluster.cluster import Cluster
from tests.contour.infrastructure.test_of_gateways import keep_authority, write_certificates
from tests.e2e import incluster
from tests.e2e.incluster import Instance, Served
from tests.testbed.apiserver import RefusedError
from tests.testbed.grpcpeers import peer
from tests.testbed.ports import free_port

pytestmark = pytest.mark.cluster

CONFIGURATION = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour}
spec:
  gateway: {controllerName: $controller}
  xdsServer:
    grpcClients:
      certificateNamespaces: [NAMESPACES]
      exports: [{namespaces: [$namespace], clientNamespaces: [CLIENTS], transport: TRANSPORT}]
"""

ECHO = """
apiVersion: v1
kind: Service
metadata: {name: echo}
spec: {ports: [{name: grpc, port: 50051}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: echo, labels: {kubernetes.io/service-name: echo}}
addressType: IPv4
endpoints: [{addresses: [$ip], zone: a}]
ports: [{name: grpc, port: $grpc}]
"""


@pytest.fixture
def instance(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Instance]:
    with incluster.instance(cluster, namespace, tmp_path) as found:
        found.ports["grpc"] = free_port()
        keep_authority(found)
        _name_localhost(found.folder / "certificates")
        with peer() as servers:
            servers.serve(("one", found.ports["grpc"]), address=incluster.own_address())
            yield found


@pytest.fixture
def elsewhere(cluster: Cluster) -> Iterator[str]:
    """The namespace of a client."""
    name = cluster.namespace()
    yield name
    cluster.delete_namespace(name)


def test_a_client_calls_with_the_certificate_that_is_made_for_its_namespace(
    instance: Instance, elsewhere: str, tmp_path: Path
) -> None:
    home = instance.namespace
    instance.apply(ECHO + "---" + configuration(instance, elsewhere, "default"))
    instance.apply(rights(home, elsewhere))
    replica = instance.start_replica("--watch-namespaces", f"{home},{elsewhere}")
    instance.until(lambda: bool(found(instance, elsewhere)), "the Secret of the clients")
    # Where it may not, it says so, and the others have theirs.
    told = instance.until_condition("ContourConfiguration", "contour", "Valid", status="False")
    assert "certificateNamespaces" in str(told)
    assert "secrets" in str(told)
    write_certificates(found(instance, elsewhere), tmp_path / "clients")
    with peer(bootstrap(replica, elsewhere, tmp_path / "clients")) as client:
        said = client.call(f"xds:///echo.{home}:50051", timeout=20)
        assert (said.replies, said.errors) == ({"one": 1}, {})
        assert f"echo.{home}:50051" in replica.page("debug", "/debug/config")[1]
    # A client that only says that it is of the namespace.
    with peer(bootstrap(replica, home, tmp_path / "clients")) as stranger:
        said = stranger.call(f"xds:///echo.{home}:50051", timeout=5)
        assert not said.replies
    instance.apply(configuration(instance, elsewhere))
    instance.until_condition("ContourConfiguration", "contour", "Valid", status="True")


def test_a_certificate_that_is_spoilt_is_made_anew(instance: Instance, elsewhere: str) -> None:
    instance.apply(ECHO + "---" + configuration(instance, elsewhere))
    instance.apply(rights(instance.namespace, elsewhere))
    instance.start_replica("--watch-namespaces", f"{instance.namespace},{elsewhere}")
    instance.until(lambda: bool(found(instance, elsewhere)), "the Secret of the clients")
    before = found(instance, elsewhere)
    spoilt = before | {"data": before["data"] | {"tls.key": before["data"]["ca.crt"]}}
    spoilt["metadata"] = {k: it for k, it in before["metadata"].items() if k != "managedFields"}
    instance.cluster.ask("PUT", instance.cluster.path(before), spoilt)
    instance.apply(configuration(instance, elsewhere, clients='"*"'))
    instance.until(
        lambda: bool(found(instance, elsewhere)["data"]["tls.key"] != spoilt["data"]["tls.key"]),
        "another certificate",
    )
    data = found(instance, elsewhere)["data"]
    leaf = pem.leaf(*(base64.b64decode(data[it]) for it in ("tls.crt", "tls.key")))
    assert leaf is not None
    assert certificates.names(leaf.certificate) == {
        identities.grpc_client(elsewhere), identities.grpc_server(elsewhere)
    }  # fmt: skip


def test_what_a_client_refuses_is_an_event_of_the_service(
    instance: Instance, elsewhere: str, tmp_path: Path
) -> None:
    home = instance.namespace
    instance.apply(ECHO + "---" + configuration(instance, elsewhere, transport="MutualTLS"))
    instance.apply(rights(home, elsewhere))
    replica = instance.start_replica("--watch-namespaces", f"{home},{elsewhere}")
    instance.until(lambda: bool(found(instance, elsewhere)), "the Secret of the clients")
    instance.until_ready()  # the client waits five seconds for its first answer
    write_certificates(found(instance, elsewhere), tmp_path / "clients")
    given = {**bootstrap(replica, elsewhere, tmp_path / "clients")}
    del given["certificate_providers"]  # so that gRPC refuses what it is told of TLS
    with peer(given) as client:
        said = client.call(f"xds:///echo.{home}:50051", timeout=5)
        assert not said.replies
        instance.until(lambda: told(instance) == [("Warning", "Refused")], "the Event")
        refusals = str(events(instance))
        assert "gRPC clients refuse it" in refusals
        assert f"echo.{home}" in refusals
    instance.until(
        lambda: told(instance) == [("Normal", "Valid"), ("Warning", "Refused")], "its end"
    )


def told(of: Instance) -> list[tuple[str, str]]:
    """The types and reasons of the Events of the Service."""
    return sorted((it["type"], it["reason"]) for it in events(of))


def events(of: Instance) -> list[dict[str, Any]]:
    path = f"/apis/events.k8s.io/v1/namespaces/{of.namespace}/events"
    every = of.cluster.ask("GET", path)["items"]
    return [it for it in every if it["regarding"]["kind"] == "Service"]


def configuration(
    of: Instance, *namespaces: str, clients: str = "", transport: str = "Plaintext"
) -> str:
    text = CONFIGURATION.replace("NAMESPACES", ", ".join(namespaces))
    text = text.replace("TRANSPORT", transport)
    return text.replace("CLIENTS", clients or namespaces[0])


def bootstrap(replica: Served, namespace: str, pems: Path) -> Mapping[str, Any]:
    """Of a client that shows this certificate."""
    names = ("envoycert.pem", "envoykey.pem", "CAcert.pem")
    return grpcclients.document(
        GrpcClient(
            node="client",
            cluster=f"{exports.FLEET}/{namespace}",
            servers=(f"localhost:{replica.ports['xds']}",),
            files=Files(*(pems / it for it in names)),
        )
    )


def _name_localhost(folder: Path) -> None:
    """gRPC compares the name that it dials with those of the control plane."""
    (authority,) = pem.authorities(
        (folder / "CAcert.pem").read_bytes(), keys=(folder / "CAkey.pem").read_bytes()
    )
    names = (identities.CONTROL_PLANE, "localhost")
    subject, now = Subject(names, ("server", "client")), datetime.now(UTC)
    made = certificates.leaf(authority, subject, LONGEST_LEAF_LIFETIME, now)
    (folder / "contourcert.pem").write_bytes(pem.certificate(made.certificate))
    (folder / "contourkey.pem").write_bytes(pem.key(made.key))


def rights(home: str, elsewhere: str) -> str:
    """As an administrator gives them: the file, and what the documentation says beside it."""
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": CERTIFICATES_ROLE, "namespace": elsewhere},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": CERTIFICATES_ROLE,
        },
        "subjects": [{"kind": "ServiceAccount", "name": "contour", "namespace": home}],
    }
    return yaml.safe_dump_all([*grpcclients_manifest.documents(Place(namespace=home)), binding])


def found(of: Instance, namespace: str) -> dict[str, Any]:
    """The Secret; empty if there is none."""
    metadata = {"name": "grpccert", "namespace": namespace}
    with suppress(RefusedError):
        return of.cluster.get({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    return {}
