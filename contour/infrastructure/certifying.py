"""The certificate of a Gateway's fleet, in the Gateway's namespace.

Signed by the authority of the instance, which the control plane trusts, with names that are those
of this fleet alone: an Envoy of one Gateway can ask for nothing of another's. The authority itself
is made and renewed by whoever made the instance. The Secret is owned by the fleet's ServiceAccount
and goes with it: nobody has to look for Secrets in order to remove them.
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime

from contour.infrastructure import desired
from contour.infrastructure.desired import Release
from crds.meta import NamespacedName
from dag import fleets
from dag.fleets import Trouble
from kube.client import Client
from provisioning import applying, identities, ownership, pem, rotation, secrets
from provisioning.applier import Applier
from provisioning.certificates import Authority, Leaf, Subject
from provisioning.secrets import Names
from provisioning.templating import Document

GOOD_FOR = 10.0  # seconds: so long what was read of the authorities is believed


class Certificates:
    """Makes and renews them."""

    def __init__(self, client: Client, release: Release, applier: Applier) -> None:
        self._client = client
        self._applier = applier
        self._release = release
        self._authorities: tuple[Authority, ...] = ()
        self._read_at = float("-inf")

    async def renew(
        self, gateway: NamespacedName, fleet: fleets.Fleet, present: Mapping[str, Document]
    ) -> Trouble | None:
        """Brings the Secret of a fleet up to date. Raises Unowned, Leaving and request errors."""
        where = desired.called(self._release, fleet)
        # One that was made a moment ago may not have been told of yet.
        stored = present.get(secrets.SECRETS.path(*where)) or await self._found(*where)
        held, bundle = secrets.leaf(stored) if stored is not None else (None, b"")
        authorities = await self._read()
        names = identities.gateway_fleet(gateway.name, gateway.namespace)
        now = datetime.now(UTC)
        leaf = rotation.joined(authorities, held, Subject(names, ("client",)), now)
        if leaf is None:
            return Trouble(f"no Secret {self._authority_name()} that could sign its certificate")
        if leaf is not held or bundle != pem.bundle(authorities):
            await self._write(gateway, where, leaf)
        return None

    async def _write(self, gateway: NamespacedName, where: NamespacedName, leaf: Leaf) -> None:
        account = {"kind": "ServiceAccount", "metadata": {**where._asdict()}}
        owner = await applying.found(self._client, account)
        if owner is None:
            raise applying.Leaving(f"{applying.described(account)} is gone again")
        metadata = {
            **where._asdict(),
            "labels": {
                "app.kubernetes.io/part-of": "contour",
                **self._release.mark.labels,
                ownership.GATEWAY: ownership.value(gateway.name),
            },
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "ServiceAccount",
                    "name": where.name,
                    "uid": owner["metadata"]["uid"],
                }
            ],
        }
        document = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "type": "kubernetes.io/tls",
            "data": secrets.of_leaf(leaf, self._authorities),
        }
        await self._applier.apply(document, self._release.mark)

    async def _read(self) -> tuple[Authority, ...]:
        now = asyncio.get_running_loop().time()
        if now - self._read_at > GOOD_FOR:
            found = await self._found(self._release.owner.namespace, self._authority_name())
            self._authorities = secrets.joining(found) if found is not None else ()
            self._read_at = now if self._authorities else float("-inf")
        return self._authorities

    async def _found(self, namespace: str, name: str) -> Document | None:
        secret = {"kind": "Secret", "metadata": {"namespace": namespace, "name": name}}
        return await applying.found(self._client, secret)

    def _authority_name(self) -> str:
        return Names(self._release.owner.namespace, self._release.suffix).authority
