"""The Services, Secrets and ConfigMaps that a row mentions by name, in the row's own namespace.

A Service stands for the peer of its name, `many` for three backends; of `asleep` there is no
endpoint, and behind `closed` nobody listens. What a row defines itself is not made again.
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from tests.features import certificates, keys
from tests.features.rows import DOMAIN, Document

_MANY = ("one", "two", "three")
_UDP = ("packets", "other-packets")


def props(documents: list[Document], ports: Mapping[str, int]) -> Iterator[Document]:
    """What has to be there beside the objects of a variant."""
    made = {
        (it["kind"], it["metadata"].get("namespace"), it["metadata"]["name"]) for it in documents
    }
    for namespace in sorted({it["metadata"].get("namespace") or "" for it in documents} - {""}):
        for name in sorted(_mentioned(documents)):
            for found in _of_name(name, namespace, ports):
                if (found["kind"], namespace, found["metadata"]["name"]) not in made:
                    yield found


def _mentioned(value: Any) -> set[str]:
    if isinstance(value, str):
        return {value, value.rpartition("/")[2]}
    if isinstance(value, list):
        return {name for it in value for name in _mentioned(it)}
    if isinstance(value, dict):
        return {name for it in value.values() for name in _mentioned(it)}
    return set()


def _of_name(name: str, namespace: str, ports: Mapping[str, int]) -> Iterator[Document]:
    metadata = {"name": name, "namespace": namespace}
    if name in ports or name in {"many", "asleep", "closed"}:
        yield from _service(name, metadata, ports)
    elif name in _AUTHORITIES:
        stored = {"ca.crt": certificates.authority(_AUTHORITIES[name]).decode()}
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": stored}
    elif name in _SECRETS:
        stored = {key: base64.b64encode(it).decode() for key, it in _SECRETS[name]().items()}
        yield {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": stored} | (
            {"type": "kubernetes.io/tls"} if "tls.key" in stored else {}
        )


def _service(name: str, metadata: dict[str, str], ports: Mapping[str, int]) -> Iterator[Document]:
    port = {"name": "http", "protocol": "UDP" if name in _UDP else "TCP"}
    spec = {"ports": [{**port, "port": 80}]}
    yield {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
    found = {"many": _MANY, "asleep": ()}.get(name, (name,))
    for number, peer in enumerate(found):
        labels = {"kubernetes.io/service-name": name}
        yield {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {**metadata, "name": f"{name}-{number}", "labels": labels},
            "addressType": "IPv4",
            "ports": [{**port, "port": ports.get(peer, 1)}],
            "endpoints": [{"addresses": ["127.0.0.1"]}],
        }


def _pair(name: str) -> dict[str, bytes]:
    found = certificates.pair(name)
    return {"tls.crt": found.pem, "tls.key": found.key_pem}


_AUTHORITIES = {"authority": "servers", "other-authority": "others"}

_SECRETS: Mapping[str, Any] = {
    "certificate": lambda: _pair(f"*.{DOMAIN}"),
    "other-certificate": lambda: _pair(f"other.{DOMAIN}"),
    "keys-certificate": lambda: _pair("keys.example.com"),
    "own-certificate": lambda: _pair("client"),
    "clients": lambda: {"ca.crt": certificates.authority("clients")},
    "servers": lambda: {"ca.crt": certificates.authority("servers")},
    "others": lambda: {"ca.crt": certificates.authority("others")},
    "revoked": lambda: {"crl.pem": certificates.revocations()},
    "revoked-below": lambda: {"crl.pem": certificates.revocations_below()},
    "jwks": lambda: {"keys.json": keys.jwks().encode(), "other.json": keys.other_jwks().encode()},
}
