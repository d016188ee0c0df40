"""A mutating admission webhook that adds the same to every object of a kind in a namespace."""

import base64
import ipaddress
import itertools
import json
import secrets
import ssl
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.cluster.cluster import Cluster, RefusedError

Raw = dict[str, Any]

ADDRESS = "127.0.0.1"
_VERSION = "admissionregistration.k8s.io/v1"


@contextmanager
def adding(cluster: Cluster, namespace: str, plural: str, patch: Sequence[Raw]) -> Iterator[None]:
    """While the block runs. The patch is one of JSON, for objects of `apps/v1` whose second
    container gets an environment; `COUNT` in it is another number each time.
    """
    authority, keys = _certificate()
    with _serving(keys, patch) as port:
        configuration = _configuration(namespace, plural, authority, port)
        cluster.create(configuration)
        try:
            _until_it_is_asked(cluster, namespace)
            yield
        finally:
            cluster.delete(configuration)


def _until_it_is_asked(cluster: Cluster, namespace: str) -> None:
    """API servers look at webhooks a moment after they are there."""
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
def _serving(keys: bytes, patch: Sequence[Raw]) -> Iterator[int]:
    """The port where it answers."""
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

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(keys)
        context.load_cert_chain(file.name)
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


def _certificate() -> tuple[bytes, bytes]:
    """One that signs itself, and the same with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "webhook")])
    now, address = datetime.now(UTC), ipaddress.ip_address(ADDRESS)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(address)]), critical=False)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return made, made + private
