"""The certificates of gRPC applications: a Secret in each namespace that the configuration names.

They are signed by the authority of the instance, with the names of the namespace's gRPC clients and
servers (`provisioning.identities`). If a namespace is no longer named, its Secret stays, but is no
longer renewed; exports decide what an application may see. Secrets are checked every ten minutes,
because they age, and are not watched.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from contour.infrastructure.certifying import Authorities
from contour.infrastructure.desired import Release
from crds.meta import NamespacedName
from dag.fleets import FleetProblem
from kube.client import Client
from kube.workqueue import Requeue, WorkQueue
from provisioning import pem, rotation, secrets
from provisioning.keeping import problems
from provisioning.keeping.applying import Applier
from provisioning.keeping.ownership import Ownership
from provisioning.keeping.problems import Problem

MAKER = "contour-grpc"
"""The maker in the labels of the Secrets; fleets are found by another one."""


class Applications:
    """Creates and renews these certificates, while this replica leads."""

    def __init__(
        self,
        client: Client,
        release: Release,
        wanted: Callable[[], Sequence[str]],
        tell: Callable[[Sequence[FleetProblem]], None],
    ) -> None:
        """`wanted` returns the namespaces; `tell` takes all present problems."""
        self._authorities = Authorities(client, release)
        self._applier = Applier(client, MAKER)
        self._release = release
        self._wanted = wanted
        self._tell = tell
        self._queue = WorkQueue[str]()
        self._problems: dict[str, Problem] = {}

    def notice(self) -> None:
        """The named namespaces may have changed."""
        wanted = self._wanted()
        for it in wanted:
            self._queue.add(it)
        for it in self._problems.keys() - set(wanted):
            self._note(it, None)

    async def run(self) -> None:
        """For one term, until it is cancelled."""
        self._queue = WorkQueue[str]()
        self.notice()
        await self._queue.run(self._reconcile)

    async def _reconcile(self, namespace: str) -> bool:
        if namespace not in self._wanted():
            return False
        try:
            found = await self._renew(NamespacedName(namespace, secret(self._release)))
        except problems.FAILURES as error:
            what = f"Secret {namespace}/{secret(self._release)}"
            found = problems.problem(what, error)
        self._note(namespace, found)
        if found is not None:
            raise Requeue(found.message)
        return True

    async def _renew(self, where: NamespacedName) -> Problem | None:
        authorities = await self._authorities.read()
        stored = await self._authorities.secret(*where)
        held, bundle = secrets.leaf(stored) if stored is not None else (None, b"")
        subject = rotation.grpc_application(where.namespace)
        leaf = rotation.joined(authorities, held, subject, datetime.now(UTC))
        if leaf is None:
            return self._authorities.missing()
        if leaf is held and bundle == pem.bundle(authorities):
            return None
        ownership = Ownership(self._release.owner, MAKER)
        labels = {"app.kubernetes.io/part-of": "contour", **ownership.labels}
        document = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {**where._asdict(), "labels": labels},
            "type": "kubernetes.io/tls",
            "data": secrets.of_leaf(leaf, authorities),
        }
        return (await self._applier.apply(document, ownership)).problem

    def _note(self, namespace: str, found: Problem | None) -> None:
        before = self._problems.pop(namespace, None)
        if found is not None:
            self._problems[namespace] = found
        if found != before:
            told = sorted(self._problems.items())
            self._tell([FleetProblem(it.message, is_error=it.is_error) for _, it in told])


def secret(release: Release) -> str:
    """The name of the Secrets."""
    return release.named("grpccert")
