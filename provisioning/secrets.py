"""The certificates of an instance as Secrets, and their renewal in a cluster.

Three Secrets: one each for the pods of the control plane and of Envoy, in the form of TLS Secrets
with `ca.crt` beside (upstream's "compact" format and names), and one with the authorities' keys
that no pod mounts. Secrets that upstream Contour made are taken over: their authority, whose key is
lost, is trusted until its leaves are no longer in use.
"""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from crds import raw
from kube.client import Client
from kube.resources import Resource
from provisioning import certificates, pem, rotation
from provisioning.certificates import Authority, Leaf
from provisioning.rotation import Holdings, Wanted
from provisioning.templating import Document

Secret = Document

SECRETS = Resource("", "v1", "secrets")

AUTHORITY_TYPE = "projectcontour.io/authority"
"""The type of the Secret with the authorities' keys, which no server of TLS reads."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names and labels of an instance's Secrets."""

    namespace: str = "projectcontour"
    suffix: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels in addition to the usual one."""

    def all(self, leaves: Iterable[str]) -> tuple[str, ...]:
        """The names of all Secrets."""
        return (self.authority, *map(self.of_leaf, leaves))

    @property
    def authority(self) -> str:
        """The Secret with the authorities and their keys."""
        return f"contour-authority{self.suffix}"

    def of_leaf(self, leaf: str) -> str:
        """The Secret of a leaf: `contourcert`, `envoycert`."""
        return f"{leaf}cert{self.suffix}"


def documents(held: Holdings, names: Names) -> tuple[Secret, ...]:
    """The Secrets; the one with the authorities first: the others can be made from it."""
    trusted = pem.bundle(held.authorities)
    keys = {"ca.crt": trusted, "ca.key": pem.keys(held.authorities)}
    return (
        _secret(names.authority, names, AUTHORITY_TYPE, keys),
        *(
            _secret(
                names.of_leaf(name),
                names,
                "kubernetes.io/tls",
                {
                    "ca.crt": trusted,
                    "tls.crt": pem.certificate(leaf.certificate),
                    "tls.key": pem.key(leaf.key),
                },
            )
            for name, leaf in held.leaves.items()
        ),
    )


def joining(secret: Secret) -> tuple[Authority, ...]:
    """The authorities in their Secret, with their keys."""
    content = _content(secret)
    return pem.authorities(content.get("ca.crt", b""), keys=content.get("ca.key", b""))


def leaf(secret: Secret) -> tuple[Leaf | None, bytes]:
    """The contents of a Secret for pods: the leaf, if valid, and the bundle of authorities."""
    content = _content(secret)
    found = pem.leaf(content.get("tls.crt", b""), content.get("tls.key", b""))
    return found, content.get("ca.crt", b"")


def of_leaf(found: Leaf, authorities: Iterable[Authority]) -> dict[str, str]:
    """The contents of a Secret for pods."""
    content = {
        "ca.crt": pem.bundle(authorities),
        "tls.crt": pem.certificate(found.certificate),
        "tls.key": pem.key(found.key),
    }
    return {key: base64.b64encode(it).decode() for key, it in content.items()}


def holdings(found: Mapping[str, Secret], leaves: Iterable[str], names: Names) -> Holdings:
    """The certificates of an instance with these leaves, from its Secrets by name."""
    content = {name: _content(secret) for name, secret in found.items()}
    shown = {it: content[name] for it in leaves if (name := names.of_leaf(it)) in content}
    read = {it: pem.leaf(c.get("tls.crt", b""), c.get("tls.key", b"")) for it, c in shown.items()}
    held = {name: leaf for name, leaf in read.items() if leaf is not None}
    kept = content.get(names.authority, {})
    bundles = [it.get("ca.crt", b"") for it in shown.values()]
    known = pem.authorities(kept.get("ca.crt", b""), *bundles, keys=kept.get("ca.key", b""))
    return Holdings(_told_to_all(known, bundles, held), held)


def _told_to_all(
    known: Iterable[Authority], bundles: Iterable[bytes], held: Mapping[str, Leaf]
) -> tuple[Authority, ...]:
    """The authorities without those that not every bundle has, as when a renewal was interrupted.

    Such an authority would count as known everywhere long before it is; a new one is made.
    """
    told = [{it.certificate for it in pem.authorities(bundle)} for bundle in bundles]
    return tuple(
        it
        for it in known
        if all(it.certificate in bundle for bundle in told)
        or any(
            certificates.is_issued_by(leaf.certificate, it.certificate) for leaf in held.values()
        )
    )


async def renew(
    client: Client, names: Names, want: Wanted, now: datetime, anew: bool = False
) -> tuple[str, ...]:
    """Brings the Secrets of the cluster up to date; returns the names of those that were written.

    With `anew` nothing is kept. Raises `kube.errors.RequestError`: what was written until then is
    consistent, and the next attempt continues from there.
    """
    found = await stored(client, names, want)
    before = Holdings() if anew else _held(found, names, want)
    return await _written(client, documents(rotation.renewed(before, want, now), names), found)


Stored = Mapping[str, Secret | None]
"""The Secrets of an instance by name, as they are in the cluster."""


async def stored(client: Client, names: Names, want: Wanted) -> Stored:
    """Reads the Secrets, for callers that check them before they are renewed."""
    paths = {it: SECRETS.path(names.namespace, it) for it in names.all(want.subjects)}
    return {it: await client.find(path) for it, path in paths.items()}


async def renew_these(
    client: Client, names: Names, want: Wanted, now: datetime, found: Stored
) -> tuple[str, ...]:
    """Like `renew`, from Secrets that were read; refused if one has changed since."""
    renewed = rotation.renewed(_held(found, names, want), want, now)
    return await _written(client, documents(renewed, names), found)


def _held(found: Stored, names: Names, want: Wanted) -> Holdings:
    present = {name: secret for name, secret in found.items() if secret is not None}
    return holdings(present, want.subjects, names)


async def _written(client: Client, wanted: Iterable[Secret], found: Stored) -> tuple[str, ...]:
    written: list[str] = []
    for document in wanted:
        name = document["metadata"]["name"]
        if await _put(client, document, found[name]):
            written.append(name)
    return tuple(written)


async def _put(client: Client, wanted: Secret, present: Secret | None) -> bool:
    """Writes a Secret if it differs; whether it did. Of two writers the second is refused."""
    namespace, name = wanted["metadata"]["namespace"], wanted["metadata"]["name"]
    if present is None:
        await client.create(SECRETS.path(namespace), wanted)
        return True
    if _content(present).items() >= _content(wanted).items():
        return False
    # The type is immutable, and entries that others have added stay.
    changed = present | {"data": (present.get("data") or {}) | wanted["data"]}
    await client.replace(SECRETS.path(namespace, name), changed)
    return True


def _secret(name: str, names: Names, kind: str, content: Mapping[str, bytes]) -> Secret:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": names.namespace,
            "labels": {"app.kubernetes.io/part-of": "contour", **names.labels},
        },
        "type": kind,
        "data": {key: base64.b64encode(it).decode() for key, it in content.items()},
    }


def _content(secret: Secret) -> dict[str, bytes]:
    data = raw.mapping(secret.get("data"))
    return {key: base64.b64decode(str(it)) for key, it in data.items()}
