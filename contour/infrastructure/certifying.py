"""The certificate of a Gateway's fleet, in the Gateway's namespace.

It is signed by the authority of the instance, which the control plane trusts, and its names belong
to this fleet alone: an Envoy of one Gateway cannot ask for resources of another. The authority is
made and renewed by whoever made the instance. An authority that the control plane does not trust,
because a rotation was interrupted, signs nothing. The Secret is owned by the fleet's
ServiceAccount and is deleted with it, so nobody has to look for Secrets in order to remove them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from contour.infrastructure import desired
from contour.infrastructure.desired import Release
from crds.meta import NamespacedName
from crds.raw import Raw, at, items, mapping
from dag import fleets
from kube.client import Client
from provisioning import identities, pem, rotation, secrets
from provisioning.certificates import Authority, Subject
from provisioning.keeping import objects, ownership
from provisioning.keeping.applying import Applier
from provisioning.keeping.ownership import Ownership
from provisioning.keeping.problems import Problem, Reason
from provisioning.secrets import Names
from provisioning.templating import Document

GOOD_FOR = 10.0  # seconds for which the authorities are cached


class Authorities:
    """The authorities that sign certificates of an instance, from its Secret."""

    def __init__(self, client: Client, release: Release) -> None:
        self._client = client
        self._bundle = release.bundle
        self._where = release.owner.namespace
        self._name = Names(self._where, release.suffix).authority
        self._found: tuple[Authority, ...] = ()
        self._read_at = float("-inf")

    async def read(self) -> tuple[Authority, ...]:
        """They, and the keys of those that may sign; none, if there is no such Secret. Raises
        request errors."""
        now = asyncio.get_running_loop().time()
        if now - self._read_at > GOOD_FOR:
            found = await self.secret(self._where, self._name)
            self._found = self._muted(secrets.joining(found)) if found is not None else ()
            self._read_at = now if self._found else float("-inf")
        return self._found

    def _muted(self, stored: tuple[Authority, ...]) -> tuple[Authority, ...]:
        """Without the keys of authorities that the control plane has not heard of."""
        if self._bundle is None:
            return stored
        try:
            known = pem.authorities(self._bundle.read_bytes())
        except OSError:
            known = ()
        trusted = {it.certificate for it in known}
        return tuple(it if it.certificate in trusted else replace(it, key=None) for it in stored)

    async def secret(self, namespace: str, name: str) -> Document | None:
        """A Secret as it is now. Raises request errors."""
        secret = {"kind": "Secret", "metadata": {"namespace": namespace, "name": name}}
        return await objects.read(self._client, secret)

    def missing(self) -> Problem:
        """The message if there is no such Secret."""
        message = (
            f"no Secret {self._name} with an authority that the control plane trusts, that is "
            "valid by its clock, and that could sign its certificate"
        )
        return Problem(Reason.NO_AUTHORITY, message)


class Issuer:
    """Keeps Secrets with certificates, signed by the authority of the instance."""

    def __init__(
        self,
        client: Client,
        release: Release,
        applier: Applier,
        owned: Ownership | None = None,
    ) -> None:
        """`owned` is the ownership of the Secrets; by default that of the release."""
        self._applier = applier
        self._owned = owned or release.ownership
        self._authorities = Authorities(client, release)

    async def renew(
        self,
        where: NamespacedName,
        subject: Subject,
        describe: Callable[[], Awaitable[Raw]],
        stored: Document | None = None,
        owner: str = "",
    ) -> Problem | None:
        """Brings a Secret up to date; `describe` returns its labels and owner, `stored` is the
        Secret as last seen. `owner` is the uid of the owner if that may change: the Secret would be
        deleted with its former owner. Raises request errors."""
        stored = stored or await self._authorities.secret(*where)
        held, bundle = secrets.leaf(stored) if stored is not None else (None, b"")
        authorities = await self._authorities.read()
        now = datetime.now(UTC)
        leaf = rotation.joined(authorities, held, subject, now)
        if leaf is None:
            return self._authorities.missing()
        is_left = owner and owner not in _owners(stored)
        if leaf is held and bundle == pem.bundle(authorities) and not is_left:
            return None
        described = await describe()
        labels = {
            "app.kubernetes.io/part-of": "contour",
            **self._owned.labels,
            **mapping(described.get("labels")),
        }
        document = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {**where._asdict(), **described, "labels": labels},
            "type": "kubernetes.io/tls",
            "data": secrets.of_leaf(leaf, authorities),
        }
        return (await self._applier.apply(document, self._owned)).problem


def _owners(stored: object) -> set[str]:
    return {str(at(it, "uid")) for it in items(at(stored, "metadata", "ownerReferences"))}


class Certificates:
    """Creates and renews the certificates of the fleets of Gateways."""

    def __init__(self, client: Client, release: Release, applier: Applier) -> None:
        self._client = client
        self._release = release
        self._issuer = Issuer(client, release, applier)

    async def renew(
        self, gateway: NamespacedName, fleet: fleets.Fleet, present: Mapping[str, Document]
    ) -> Problem | None:
        """Brings the Secret of a fleet up to date. Raises request errors."""
        where = desired.called(self._release, fleet)

        async def describe() -> Raw:
            account = {"kind": "ServiceAccount", "metadata": {**where._asdict()}}
            owner = await objects.read(self._client, account)
            if owner is None:
                raise objects.Terminating(f"{objects.described(account)} is gone again")
            uid = at(owner, "metadata", "uid")
            reference = {"apiVersion": "v1", "kind": "ServiceAccount", "name": where.name}
            return {
                "labels": {ownership.GATEWAY: ownership.label_value(gateway.name)},
                "ownerReferences": [{**reference, "uid": uid}],
            }

        # The watch may not have reported one that was created a moment ago.
        stored = present.get(secrets.SECRETS.path(*where))
        names = identities.gateway_fleet(gateway.name, gateway.namespace)
        return await self._issuer.renew(where, Subject(names, ("client",)), describe, stored)
