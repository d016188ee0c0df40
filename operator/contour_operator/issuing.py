"""The certificates of an instance: made and renewed in this process, never adopted.

`provisioning.rotation` decides what is due, in each reconciliation of a configuration. There is no
Job, and certificates never all change at the same moment: a new authority is trusted before it
signs.
"""

from collections.abc import Sequence
from datetime import datetime

from contour_operator import desired
from contour_operator.children import LEAVES
from kube.client import Client
from provisioning import rotation, secrets
from provisioning.keeping import objects
from provisioning.keeping.ownership import Owner
from provisioning.secrets import Names
from provisioning.templating import Document


def documents(owner: Owner) -> Sequence[Document]:
    """The Secrets with their names, but without contents."""
    names = _names(owner)
    return tuple(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": it, "namespace": owner.namespace, "labels": dict(names.labels)},
        }
        for it in names.all(LEAVES)
    )


async def renew(client: Client, owner: Owner, now: datetime) -> Sequence[str]:
    """Makes what is due; returns the names of the Secrets that were written.

    Raises `objects.NotOwned` and request errors.
    """
    names, want, own = _names(owner), _wanted(owner), desired.ownership(owner)
    found = await secrets.stored(client, names, want)
    for it in found.values():
        if it is not None and not own.owns(it):
            raise objects.NotOwned(it)
    return await secrets.renew_these(client, names, want, now, found)


def _names(owner: Owner) -> Names:
    return Names(owner.namespace, labels=desired.ownership(owner).labels)


def _wanted(owner: Owner) -> rotation.Wanted:
    return rotation.wanted(namespace=owner.namespace)
