"""A copy of the quickstart manifests that can be edited, for backends on ports that are free."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

from provisioning import certificates, pem
from provisioning.certificates import Leaf, Subject
from provisioning.names import LONGEST_LEAF_LIFETIME

BACKENDS = {
    "storefront": 9101,
    "storefront-next": 9102,
    "cart": 9103,
    "payments": 9104,
    "blog": 9105,
}
"""The backends, each with the port of its EndpointSlice in `quickstart/00-services.yaml`."""

_TLS_HOST = "account.example.com"


@dataclass(frozen=True, slots=True)
class Copy:
    """The folders and files of a demonstration."""

    folder: Path

    @property
    def manifests(self) -> Path:
        """What `contour run` serves."""
        return self.folder / "manifests"

    @property
    def authority(self) -> Path:
        """The file with the certificate (PEM) that clients of the TLS host have to trust."""
        return self.folder / "authority.pem"

    def replace(self, name: str, old: str, new: str) -> None:
        """Edits a manifest as an editor does. Raises ValueError if it does not contain `old`."""
        path = self.manifests / name
        text = path.read_text()
        if old not in text:
            raise ValueError(f"{name} does not say {old!r}")
        path.write_text(text.replace(old, new))


def written(folder: Path, ports: Mapping[str, int]) -> Copy:
    """Writes the manifests and a certificate for the TLS host into a folder.

    `ports` has the local port of each of the BACKENDS. Raises OSError.
    """
    copy = Copy(folder)
    copy.manifests.mkdir(parents=True)
    for source in resources.files("contour.demo").joinpath("quickstart").iterdir():
        if source.name.endswith(".yaml"):
            text = _with_ports(source.read_text(encoding="utf-8"), ports)
            (copy.manifests / source.name).write_text(text, encoding="utf-8")
    _certify(copy)
    return copy


def _with_ports(text: str, ports: Mapping[str, int]) -> str:
    for name, port in BACKENDS.items():
        text = text.replace(f"port: {port}}}", f"port: {ports[name]}}}")
    return text


def _certify(copy: Copy) -> None:
    now = datetime.now(UTC)
    authority = certificates.authority(now)
    subject = Subject((_TLS_HOST,), ("server",))
    leaf = certificates.leaf(authority, subject, LONGEST_LEAF_LIFETIME, now)
    secret = copy.manifests / "41-certificate.yaml"
    secret.touch(mode=0o600)
    secret.write_text(_secret(leaf))
    copy.authority.write_bytes(pem.bundle([authority]))


def _secret(leaf: Leaf) -> str:
    certificate, key = pem.certificate(leaf.certificate), pem.key(leaf.key)
    return (
        "apiVersion: v1\n"
        "kind: Secret\n"
        "metadata: {name: account-tls}\n"
        "type: kubernetes.io/tls\n"
        "data:\n"
        f"  tls.crt: {base64.b64encode(certificate).decode()}\n"
        f"  tls.key: {base64.b64encode(key).decode()}\n"
    )
