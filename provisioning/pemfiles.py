"""The certificates of an instance as PEM files in a folder, for Envoys outside of any cluster.

The files have the names of Contour's certgen. `CAkey.pem` is ours: with it, a second run renews
what is due instead of starting again. Only the issuer must have it.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from provisioning import folders, pem, rotation
from provisioning.rotation import Holdings

_LEAF = f"{rotation.of_grpc_client('(?P<namespace>[a-z0-9]([-a-z0-9]*[a-z0-9])?)')}cert.pem"


def grpc_clients(folder: Path) -> list[str]:
    """The namespaces of the gRPC applications for which a folder has certificates."""
    found = (re.fullmatch(_LEAF, it.name) for it in folder.glob("*.pem"))
    return sorted(it["namespace"] for it in found if it is not None)


def contents(held: Holdings) -> dict[str, bytes]:
    """The contents of the files, by name."""
    found = {"CAcert.pem": pem.bundle(held.authorities), "CAkey.pem": pem.keys(held.authorities)}
    for name, leaf in held.leaves.items():
        found[f"{name}cert.pem"] = pem.certificate(leaf.certificate)
        found[f"{name}key.pem"] = pem.key(leaf.key)
    return found


def holdings(folder: Path, leaves: Iterable[str]) -> Holdings:
    """The certificates that a folder has of an instance with these leaves."""
    read = {
        name: pem.leaf(
            folders.read(folder, f"{name}cert.pem"), folders.read(folder, f"{name}key.pem")
        )
        for name in leaves
    }
    authorities = pem.authorities(
        folders.read(folder, "CAcert.pem"), keys=folders.read(folder, "CAkey.pem")
    )
    return Holdings(authorities, {name: leaf for name, leaf in read.items() if leaf is not None})
