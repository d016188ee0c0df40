"""Our CRDs in a real API server: accepted, effective, and kind to what older ones left behind."""

import copy
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3
import yaml

from crds import kinds, schema
from crds.decode import Decoded, decode
from tests import upstream
from tests.cluster.cluster import Cluster
from tests.cluster.fixtures import Start
from tests.crds import documents, openapi, unreleased
from tests.testbed.apiserver import MEDIA, RefusedError

pytestmark = pytest.mark.cluster

OURS = [it for it in kinds.KINDS.values() if it.ours]
CONTOURS = [it for it in OURS if it.group == kinds.CONTOUR]
EXAMPLES = Path(__file__).parents[2] / "manifests" / "examples"


@pytest.mark.parametrize("kind", OURS, ids=lambda it: str(it.kind))
def test_a_crd_is_accepted_without_complaint(cluster: Cluster, kind: kinds.Kind) -> None:
    crd = cluster.get(schema.crd(kind))
    conditions = {it["type"]: it["status"] for it in crd["status"]["conditions"]}
    assert conditions.items() >= {"NamesAccepted": "True", "Established": "True"}.items()
    assert "NonStructuralSchema" not in conditions
    assert set(crd["status"]["acceptedNames"].get("shortNames", [])) == set(kind.short_names)


@pytest.mark.parametrize("kind", OURS, ids=lambda it: str(it.kind))
def test_what_the_api_server_serves_is_what_we_wrote(cluster: Cluster, kind: kinds.Kind) -> None:
    served = cluster.get(schema.crd(kind))["spec"]["versions"]
    for written, found in zip(schema.crd(kind)["spec"]["versions"], served, strict=True):
        assert found["schema"] == written["schema"]
        assert found["subresources"] == written["subresources"]


NOT_OF_TODAY = {
    "response-timeout",  # in a version that upstream serves no more
    "lb-request-hash",  # with a field that upstream does not know either
}


def examples() -> Iterator[Any]:
    """Every object of our kinds in the examples, ours and (where they are at hand) upstream's."""
    files = sorted([*EXAMPLES.rglob("*.yaml"), *upstream.manifests("manifests/contour")])
    for file in files:
        for document in yaml.load_all(file.read_text(), yaml.CSafeLoader):
            if document and document["apiVersion"].startswith("projectcontour.io/"):
                name = document["metadata"]["name"]
                if name not in NOT_OF_TODAY:
                    yield pytest.param(document, id=f"{file.name}:{name}")


@pytest.mark.parametrize("document", list(examples()))
def test_an_example_is_accepted_to_the_letter(
    cluster: Cluster, empty_namespace: str, document: documents.Document
) -> None:
    document["metadata"]["namespace"] = empty_namespace
    cluster.create(document, dryRun="All", fieldValidation="Strict")


@pytest.mark.parametrize(
    "document",
    [it for it in documents.of_every_kind() if it["kind"] in {kind.kind for kind in OURS}],
    ids=lambda it: str(it["kind"]),
)
def test_what_was_stored_means_what_was_written(
    cluster: Cluster, namespace: str, document: documents.Document
) -> None:
    document = document | {"metadata": {"name": "it", "namespace": namespace}}
    stored = cluster.create(document)
    assert meaning(stored).spec == meaning(document).spec


def meaning(document: documents.Document) -> Any:
    found = decode(copy.deepcopy(document))
    assert isinstance(found, Decoded)
    assert found.errors == ()
    return found.object


def _of_nobody(namespace: str) -> documents.Document:
    """An HTTPProxy of a class that no instance has which other tests run in the same cluster."""
    document = documents.httpproxy()
    document["metadata"] = {"name": "it", "namespace": namespace}
    document["spec"] = document["spec"] | {"ingressClassName": namespace}
    return document


def test_a_new_httpproxy_says_that_it_waits(cluster: Cluster, namespace: str) -> None:
    document = _of_nobody(namespace)
    assert cluster.create(document)["status"]["currentStatus"] == "NotReconciled"


def test_kubectl_shows_the_columns_of_upstream_first(cluster: Cluster, namespace: str) -> None:
    document = _of_nobody(namespace)
    cluster.create(document)
    shown = cluster.kubectl("get", "proxies", "--namespace", namespace).stdout.splitlines()
    titles = "NAME   FQDN          TLS SECRET    STATUS          STATUS DESCRIPTION"
    assert shown[0].split() == [*titles.split(), "ERROR", "AGE"]
    assert shown[1].split()[:4] == ["it", "example.com", "certificate", "NotReconciled"]


def test_status_is_written_apart_from_the_rest(cluster: Cluster, namespace: str) -> None:
    document = _of_nobody(namespace)
    cluster.create(document)
    status = {"currentStatus": "valid", "description": "all is well"}
    written = cluster.apply(
        {it: document[it] for it in ("apiVersion", "kind", "metadata")} | {"status": status},
        subresource="status",
    )
    assert written["metadata"]["generation"] == 1
    assert written["status"].items() >= status.items()


def test_an_object_of_an_older_crd_is_read_and_its_status_written(
    start_control_plane: Start,
) -> None:
    """One that has a field which is gone, one that breaks a rule which is new."""
    old = Cluster(start_control_plane().folder)
    crd = schema.crd(next(it for it in OURS if it.kind == "HTTPProxy"))
    install(old, older(crd))
    gone = documents.httpproxy()
    gone["spec"] = gone["spec"] | {"retired": {"a": 1}}
    laxer = documents.httpproxy(virtualhost={"fqdn": "Example.com"}, routes=[])
    for name, document in (("gone", gone), ("laxer", laxer)):
        old.create(document | {"metadata": {"name": name, "namespace": "default"}})
    install(old, crd)
    read = {it: old.ask("GET", f"{PROXIES}/{it}") for it in ("gone", "laxer")}
    assert "retired" not in read["gone"]["spec"]
    assert meaning(read["gone"]).spec == meaning(documents.httpproxy()).spec
    found = decode(read["laxer"])
    assert isinstance(found, Decoded)
    assert [it.path[-1] for it in found.errors] == ["fqdn"]
    for name, document in read.items():
        status = {"currentStatus": "invalid", "description": "older"}
        written = old.ask("PUT", f"{PROXIES}/{name}/status", document | {"status": status})
        assert written["status"]["description"] == "older"


DISCOVERY = "/apis/projectcontour.io/v1"
PROXIES = f"{DISCOVERY}/namespaces/default/httpproxies"


def older(crd: schema.Schema) -> schema.Schema:
    """A CRD as it might have been: a field more, and hosts without a pattern."""
    crd = copy.deepcopy(crd)
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    retired = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec["properties"]["retired"] = retired
    del spec["properties"]["virtualhost"]["properties"]["fqdn"]["pattern"]
    return crd


def install(cluster: Cluster, crd: schema.Schema) -> None:
    """Returns when the API server acts by it."""
    cluster.apply(crd)
    wanted = "retired" in json.dumps(crd)
    probe = documents.httpproxy(retired={"a": 1}, virtualhost={"fqdn": "a.b"})
    probe["metadata"] = {"name": "probe", "namespace": "default"}
    for _ in range(2000):
        try:
            cluster.ask("GET", DISCOVERY)  # follows later than the objects on a busy machine
            cluster.ask("POST", PROXIES, probe, dryRun="All", fieldValidation="Strict")
            is_older = True
        except RefusedError as error:
            if error.code == 404:
                continue
            is_older = False
        except urllib3.exceptions.HTTPError:
            continue
        if is_older == wanted:
            return
    raise AssertionError("the CRD has no effect")


EXTENSIONS = {
    "ContourConfiguration": {
        *(".spec.contour", ".spec.envoy.externalPorts", ".spec.envoy.managed"),
        *(".status.availableContours", ".status.availableEnvoys"),
        *(".spec.envoy.networkPublishing", ".spec.envoy.workload", ".spec.envoy.listener.http3"),
        *(".spec.envoy.listener.routing", ".spec.gateway.controllerName", ".spec.gateway.mode"),
        *(".spec.gateway.parametersNamespaces", ".spec.discovery", ".spec.rateLimitFilters"),
        *(".spec.gateway.name", ".spec.gateway.namespace", ".spec.xdsServer.grpcClients"),
        *(".spec.extensions", ".spec.foreignGuards", ".spec.gateway.only"),
        *(".spec.enableBackend", ".spec.gateway.envoyPatchPolicies"),
        *(".spec.envoy.bootstrap", ".spec.envoy.listener.disablePathNormalization"),
        *(".spec.envoy.listener.escapedSlashes", ".spec.envoy.listener.headersWithUnderscores"),
        *(".spec.envoy.listener.maxHeadersCount", ".spec.envoy.timeouts.requestHeadersTimeout"),
        *(".spec.envoy.timeouts.tlsHandshakeTimeout", ".spec.envoy.timeouts.tcpIdleTimeout"),
        *(
            f".spec.envoy.{of}.http2{what}WindowBytes"
            for of in ("listener", "cluster")
            for what in ("Connection", "Stream")
        ),
    },
    "ExtensionService": set(),
    "HTTPProxy": {
        *(".spec.virtualhost.aliases", ".spec.virtualhost.errorPages"),
        *(".spec.virtualhost.jwtProviders[].claimsToHeaders", ".spec.virtualhost.maxRequestBytes"),
        *(".spec.routes[].conditions[].cookie", ".spec.routes[].conditions[].method"),
        *(".spec.includes[].conditions[].cookie", ".spec.includes[].conditions[].method"),
        *(".spec.routes[].errorPages", ".spec.routes[].maxRequestBytes"),
        ".spec.routes[].outlierDetection",
    },
    "TLSCertificateDelegation": set(),
}  # fmt: skip


@pytest.mark.parametrize("kind", CONTOURS, ids=lambda it: str(it.kind))
def test_our_fields_beside_upstreams_are_these_and_none_is_required(
    cluster: Cluster, kind: kinds.Kind
) -> None:
    theirs = openapi.upstream("projectcontour/upstream-crds.yaml")[kind.kind]["versions"][0]
    known = dict(openapi.parts(theirs["schema"]["openAPIV3Schema"]))
    served = cluster.get(schema.crd(kind))["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    added = {
        f"{path}.{name}"
        for path, node in openapi.parts(served)
        for name in node.get("properties", {})
        if path in known and f"{path}.{name}" not in known
    } - set(unreleased.ADDED.get(kind.kind, ()))
    assert added == EXTENSIONS[kind.kind], "an extension of ours belongs into this list"
    required = {
        f"{path}.{name}"
        for path, node in openapi.parts(served)
        for name in node.get("required", [])
    }
    assert not added & required


ERRORS = [
    {"type": "RouteError", "status": "True", "reason": "Bad", "message": "spec.routes[0]: bad"},
    {"type": "TLSError", "status": "True", "reason": "Bad", "message": "spec.tls: bad"},
]
NOT_VALID = {
    "type": "Valid",
    "status": "False",
    "reason": "ErrorPresent",
    "message": "At least one error present, see Errors for details",
    "lastTransitionTime": "2024-01-31T12:00:00Z",
    "errors": ERRORS,
}
AVAILABLE = NOT_VALID | {
    "type": "Available",
    "status": "True",
    "reason": "ContourAvailable",
    "message": "The instance serves",
    "errors": [],
}


@pytest.mark.parametrize(
    ("kind", "spec", "status", "columns"),
    [
        (
            "HTTPProxy",
            {"virtualhost": {"fqdn": "a.example.com", "tls": {"secretName": "web"}}},
            {
                "currentStatus": "invalid",
                "description": NOT_VALID["message"],
                "loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]},
                "conditions": [NOT_VALID],
            },
            {
                "FQDN": "a.example.com",
                "Status": "invalid",
                "Error": "spec.routes[0]: bad",
                "Address": "192.0.2.7",
            },
        ),
        (
            "ContourConfiguration",
            {},
            {
                "availableContours": 2,
                "availableEnvoys": 3,
                "conditions": [AVAILABLE, NOT_VALID],
            },
            {
                "Available": "True",
                "Reason": "ContourAvailable",
                "Contours": 2,
                "Envoys": 3,
                "Valid": "False",
                "Error": "spec.routes[0]: bad",
            },
        ),
        (
            "ExtensionService",
            {"services": [{"name": "a", "port": 80}]},
            {"conditions": [NOT_VALID]},
            {"Valid": "False", "Error": "spec.routes[0]: bad"},
        ),
        (
            "TLSCertificateDelegation",
            {"delegations": [{"secretName": "a", "targetNamespaces": ["b"]}]},
            {"conditions": [NOT_VALID]},
            {"Valid": "False", "Error": "spec.routes[0]: bad"},
        ),
    ],
)
def test_columns_show_how_an_object_is(
    cluster: Cluster, namespace: str, kind: str, spec: Any, status: Any, columns: dict[str, Any]
) -> None:
    (found,) = [it for it in OURS if it.kind == kind]
    obj = {
        "apiVersion": found.api_version,
        "kind": kind,
        "metadata": {"name": "web", "namespace": namespace},
    }
    cluster.create(obj | {"spec": spec})
    table = _table(cluster, obj | {"status": status})
    named = [it["name"] for it in table["columnDefinitions"]]
    cells = dict(zip(named, table["rows"][0]["cells"], strict=True))
    assert columns.items() <= cells.items()
    assert named[-1] == "Age"
    assert cells["Age"]


def _table(cluster: Cluster, obj: dict[str, Any]) -> dict[str, Any]:
    """What `kubectl get` shows of an object with this status: the answer to who writes it, because
    an instance of another test may write its own a moment later."""
    where = cluster.url.removeprefix("https://")
    connection = http.client.HTTPSConnection(where, timeout=30, context=cluster.tls)
    headers = {
        "Authorization": f"Bearer {cluster.admin_token}",
        "Accept": "application/json;as=Table;v=v1;g=meta.k8s.io",
        "Content-Type": MEDIA["apply"],
    }
    path = f"{cluster.path(obj)}/status?fieldManager=tests&force=true"
    connection.request("PATCH", path, json.dumps(obj), headers)
    answer: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return answer
