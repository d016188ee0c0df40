"""Ingresses that are converted, and what becomes of requests to the HTTPProxies that come of it."""

from collections.abc import Mapping, Sequence

from contour.controller import Controller
from contour.conversion.ingressnginx import given, hosts
from contour.conversion.told import Converted
from dag.evaluation import evaluator, written
from dag.evaluation.trace import Answer
from dag.fleetnames import DEFAULT_FLEET
from tests.testbed import world
from tests.testbed.world import Document

HOST = "shop.example.com"
SERVICES = ("api", "other")


def ingress(
    annotations: Mapping[str, str] | None = None,
    path: str = "/",
    path_type: str = "Prefix",
    name: str = "web",
    service: str = "api",
    *,
    created: str = "2024-01-01T00:00:00Z",
    host: str = HOST,
    **spec: object,
) -> Document:
    """One path of one host; `spec` replaces parts of its specification."""
    backend = {"service": {"name": service, "port": {"number": 80}}}
    paths = [{"path": path, "pathType": path_type, "backend": backend}]
    made = {"rules": [{"host": host, "http": {"paths": paths}}], **spec}
    short = {f"{given.PREFIX}{key}": value for key, value in (annotations or {}).items()}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": short,
            "creationTimestamp": created,
        },
        "spec": made,
    }


def convert(*documents: Document, without: Sequence[str] = ()) -> Converted:
    """What comes of the Ingresses among manifests."""
    found = given.read(world.batch(*documents), "nginx", frozenset(without))
    return hosts.converted(found)


def answers(found: Converted, *requests: str) -> list[str]:
    """What becomes of requests, `URL` or `URL header: value`, in a few words each."""
    controller = Controller(None)
    services = [it for name in SERVICES for it in _service(name)]
    controller.take(world.batch(*found.documents, *services))
    return [_answer(controller, it) for it in requests]


def _answer(controller: Controller, asked: str) -> str:
    url, _, header = asked.partition(" ")
    if url.startswith("/"):
        url = f"http://{HOST}{url}"
    request = written.request(url, "GET", [header] if header else [])
    return _told(evaluator.evaluate(controller.engine, DEFAULT_FLEET, request).answer)


def _told(answer: Answer) -> str:
    if answer.location:
        return f"{answer.status} {answer.location}"
    if answer.status is not None:
        return str(answer.status)
    shares = [
        f"{it.cluster.port.service.name}{it.path}" + (f" {it.share:.0%}" if it.share < 1 else "")
        for it in answer.backends
        if it.cluster is not None
    ]
    return ", ".join(shares)


def _service(name: str) -> tuple[Document, Document]:
    labels = {"kubernetes.io/service-name": name}
    service: Document = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"ports": [{"name": "http", "port": 80}]},
    }
    slice_: Document = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}}],
        "ports": [{"name": "http", "port": 8080}],
    }
    return service, slice_
