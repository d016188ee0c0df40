"""A mutating admission webhook with one patch for every object of a kind in a namespace."""

import base64
import itertools
import json
import secrets
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.cluster.cluster import Cluster
from tests.testbed import certificates
from tests.testbed.apiserver import RefusedError

Raw = dict[str, Any]

ADDRESS = "127.0.0.1"
_VERSION = "admissionregistration.k8s.io/v1"


@contextmanager
def adding(cluster: Cluster, namespace: str, plural: str, patch: Sequence[Raw]) -> Iterator[None]:
    """Runs the webhook during the block. `patch` is a JSON patch of objects of `apps/v1` that adds
    an environment to the second container; `COUNT` in it becomes another number each time.
    """
    authority = certificates.authority("webhook")
    with _serving(certificates.issued(authority, ADDRESS), patch) as port:
        configuration = _configuration(namespace, plural, authority.pem, port)
        cluster.create(configuration)
        try:
            _until_it_is_asked(cluster, namespace)
            yield
        finally:
            cluster.delete(configuration)


def _until_it_is_asked(cluster: Cluster, namespace: str) -> None:
    """API servers notice new webhooks a moment after their creation."""
    labels = {"app": "probe"}
    container = {"name": "it", "image": "it", "env": [{"name": "A"}]}
    pod = {
        "metadata": {"labels": labels},
        "spec": {"containers": [container, container | {"name": "b"}]},
    }
    sample = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "probe", "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": pod},
    }  # fmt: skip
    for _ in range(600):
        try:
            made = cluster.create(sample, dryRun="All")
        except RefusedError:
            continue
        if "INJECTED" in json.dumps(made["spec"]):
            return
    raise AssertionError("the webhook is never asked")


def _configuration(namespace: str, plural: str, authority: bytes, port: int) -> Raw:
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": [plural],
    }
    webhook = {
        "name": "adds.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {
            "url": f"https://{ADDRESS}:{port}/",
            "caBundle": base64.b64encode(authority).decode(),
        },
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "rules": [rule],
    }
    return {
        "apiVersion": _VERSION,
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": f"adds-{secrets.token_hex(4)}"},
        "webhooks": [webhook],
    }


@contextmanager
def _serving(shown: certificates.Pair, patch: Sequence[Raw]) -> Iterator[int]:
    """Yields the port of the webhook's server."""
    numbers = itertools.count(1)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            text = json.dumps(patch).replace("COUNT", str(next(numbers)))
            packed = base64.b64encode(text.encode()).decode()
            asked = json.loads(self.rfile.read(length))["request"]["uid"]
            response = {"uid": asked, "allowed": True, "patchType": "JSONPatch", "patch": packed}
            review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
            body = json.dumps(review | {"response": response}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    context = certificates.show(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), shown)
    server = ThreadingHTTPServer((ADDRESS, 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
