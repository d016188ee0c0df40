"""The certificate of the Envoys of a node ID, as a Secret beside the EnvoyConfig.

Its only name is the URI of the node ID in that namespace (`contour.xds.identities`), so a client
with it is served that EnvoyConfig and nothing else. The Secret is owned by the EnvoyConfig and is
deleted with it. The authority that signs is part of the installation of the instance.
"""

import asyncio
import logging

from contour.discovery import documents
from contour.infrastructure.certifying import Issuer
from contour.infrastructure.desired import MAKER, Release
from contour.xds.identities import NodeIdentity
from crds.envoyconfig import EnvoyConfig
from crds.kinds import KINDS, MARIN3R
from crds.meta import NamespacedName
from crds.raw import Raw
from kube.client import Client
from provisioning.certificates import Subject
from provisioning.keeping.applying import Applier
from provisioning.keeping.problems import Problem

log = logging.getLogger(__name__)

_GOOD_FOR = 300.0
"""Seconds for which a Secret is assumed to be unchanged; certificates live for days."""
_MOST = 1_000
"""EnvoyConfigs that are remembered without a look at which are still looked after."""


def secret(key: NamespacedName, node: str) -> NamespacedName:
    """The Secret with the certificate of the Envoys of a node ID."""
    return NamespacedName(key.namespace, f"envoy-node-{documents.short(node)}")


class NodeCertificates:
    """Makes and renews these certificates."""

    def __init__(self, client: Client, release: Release) -> None:
        self._issuer = Issuer(client, release, Applier(client, MAKER))
        self._looked: dict[NamespacedName, tuple[str, str, float]] = {}
        self._most = _MOST

    async def renew(self, key: NamespacedName, owner: EnvoyConfig) -> None:
        """Brings the Secret for an EnvoyConfig up to date. Raises request errors."""
        now = asyncio.get_running_loop().time()
        uid, node, until = self._looked.get(key, ("", "", 0.0))
        if (uid, node) == (owner.metadata.uid, owner.spec.node_id) and now < until:
            return
        problem = await self._renew(key, owner)
        if problem is not None:
            log.warning("no certificate for the Envoys of EnvoyConfig %s: %s", key, problem.message)
        self._looked[key] = (owner.metadata.uid, owner.spec.node_id, now + _GOOD_FOR)
        self._forget_old(now)

    def _forget_old(self, now: float) -> None:
        """Forgets EnvoyConfigs that are not looked after any more."""
        if len(self._looked) > self._most:
            self._looked = {key: it for key, it in self._looked.items() if now < it[2]}
            self._most = max(_MOST, 2 * len(self._looked))

    async def _renew(self, key: NamespacedName, owner: EnvoyConfig) -> Problem | None:
        node, kind = owner.spec.node_id, KINDS[MARIN3R, "EnvoyConfig"]

        async def describe() -> Raw:
            reference = {"apiVersion": kind.api_version, "kind": kind.kind, "name": key.name}
            return {
                "labels": {f"{MARIN3R}/node-id": documents.label(node)},
                "ownerReferences": [{**reference, "uid": owner.metadata.uid}],
            }

        subject = Subject((str(NodeIdentity(key.namespace, node)),), ("client",))
        where, uid = secret(key, node), owner.metadata.uid
        return await self._issuer.renew(where, subject, describe, owner=uid)
