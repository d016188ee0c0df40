"""The certificates of fleets of Gateways that were handed over to their users.

Nothing else of such a fleet is for us to keep. But the control plane trusts nobody whom the
authority of the instance has not certified, so its Envoys would be locked out within 90 days. A
fleet was ours if its ServiceAccount has our labels, and so is its certificate if the Secret has
them: one that its users have taken over or removed is theirs to care for. It is looked at every ten
minutes, for it grows old, and nothing tells of that.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from contour.infrastructure import desired
from contour.infrastructure.certifying import Certificates
from contour.infrastructure.desired import Release
from crds.meta import NamespacedName
from dag.fleets import Fleet, FleetProblem
from kube import errors
from kube.client import Client
from kube.workqueue import Requeue, WorkQueue
from provisioning import secrets
from provisioning.keeping import objects, problems
from provisioning.keeping.applying import Applier
from provisioning.keeping.problems import Problem
from provisioning.templating import Document


class Instance(Protocol):
    """What is asked of whoever knows the graph."""

    def fleets(self) -> Mapping[str, Fleet]:
        """What there is to be, by name; empty while there is no configuration."""
        ...

    def tell(self, fleet: str, found: Sequence[FleetProblem]) -> None:
        """What is not as it should be with a fleet."""
        ...


class HandedOver:
    """Renews them, while this replica leads."""

    def __init__(self, client: Client, release: Release, instance: Instance) -> None:
        self._client = client
        self._release = release
        self._instance = instance
        self._certificates = Certificates(client, release, Applier(client, desired.MAKER))
        self._queue: WorkQueue[str] | None = None
        self._known: frozenset[str] = frozenset()

    def notice(self) -> None:
        """Other fleets may be handed over now."""
        if self._queue is None:
            return
        before, self._known = self._known, frozenset(filter(self._gateway, self._instance.fleets()))
        for it in self._known - before:
            self._queue.add(it)

    async def run(self) -> None:
        """For one term, until it is cancelled."""
        self._queue = queue = WorkQueue[str]()
        self._known = frozenset()
        try:
            self.notice()
            await queue.run(self._reconcile)
        finally:
            self._queue = None

    def _gateway(self, name: str) -> NamespacedName | None:
        """Whose fleet it is; None if it is not handed over, or shared: that one's certificate is
        beside the control plane's."""
        fleet = self._instance.fleets().get(name)
        return fleet.gateway if fleet is not None and not fleet.is_managed else None

    async def _reconcile(self, name: str) -> bool:
        gateway = self._gateway(name)
        if gateway is None:
            return False
        found = await self._renew(gateway, self._instance.fleets()[name])
        if self._gateway(name) is None:
            return False  # it is not for us to tell any more
        told = [] if found is None else [FleetProblem(found.message, is_error=found.is_error)]
        self._instance.tell(name, told)
        if found is not None:
            raise Requeue(found.message)
        return True

    async def _renew(self, gateway: NamespacedName, fleet: Fleet) -> Problem | None:
        where = desired.called(self._release, fleet)
        try:
            account = await self._own("ServiceAccount", where)
        except errors.Refused as error:
            if error.code == 403:
                return None  # where nothing may be looked at, nothing was made
            raise
        if account is None:
            return None
        try:
            stored = await self._own("Secret", where)
            if stored is None:
                return None
            present = {secrets.SECRETS.path(*where): stored}
            return await self._certificates.renew(gateway, fleet, present)
        except problems.FAILURES as error:
            return problems.problem("its certificate", error)

    async def _own(self, kind: str, where: NamespacedName) -> Document | None:
        """An object of a fleet, if there is one that is ours."""
        found = await objects.read(self._client, {"kind": kind, "metadata": where._asdict()})
        return found if found is not None and self._release.ownership.owns(found) else None
