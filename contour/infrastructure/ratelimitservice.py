"""The rate limit service for RateLimitFilters, which the leader creates, keeps and removes.

It runs beside the control plane: in pods or, without Redis, in a process of the leader
(`contour.ratelimits`), with a Service whose only endpoint is the leader. It has two certificates:
its own, by which the control plane and Envoys identify it, and one that Envoys present to it. So
clients with other certificates of the instance, such as gRPC applications, cannot use it. Both
Secrets are deleted with its ServiceAccount. Objects are followed only while the service is wanted;
when it is not, at the beginning of a term and later, all its objects are removed. Elsewhere: its
settings (`dag.ratelimitservice`), its objects (`provisioning.ratelimitservice`).
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from contour.infrastructure.certifying import Issuer
from contour.infrastructure.desired import Release
from crds.meta import NamespacedName
from crds.raw import Raw, at
from dag import ratelimitclient
from dag.fleets import FleetProblem
from dag.ratelimitservice import Wanted
from kube import errors
from kube.client import Client
from kube.workqueue import BATCH, Requeue, WorkQueue
from provisioning import identities, ratelimitservice
from provisioning.certificates import Subject
from provisioning.installation import Counter, Place
from provisioning.keeping import children, objects, ownership, problems
from provisioning.keeping.applying import Applier
from provisioning.keeping.children import Collection
from provisioning.keeping.ownership import Ownership
from provisioning.templating import Document

MAKER = ownership.RATE_LIMITS
"""Whose the objects are; fleets have another maker, and are looked for by its label."""

KINDS = ("ServiceAccount", "Service", "Deployment", "PodDisruptionBudget", "NetworkPolicy")
"""The kinds of its objects if it has pods. All of them have its name."""

OF_LEADER = ("Service", "EndpointSlice")
"""The kinds of its objects if the leader counts, beside the ServiceAccount."""


class Site(NamedTuple):
    """The address of this replica's process."""

    address: str = "127.0.0.1"
    """The IP address at which Envoys reach it."""
    port: int = ratelimitclient.PORT


def provisioned(release: Release) -> ratelimitclient.Provisioned:
    """The names of the parts of the service."""
    home, called = release.owner.namespace, release.named(ratelimitservice.CALLED)
    return ratelimitclient.Provisioned(
        NamespacedName(home, called),
        NamespacedName(home, release.named(ratelimitservice.LEADER)),
        NamespacedName(home, called),
        NamespacedName(home, release.named(ratelimitservice.CLIENT)),
        identities.RATE_LIMIT_SERVICE,
    )


def documents(release: Release, wanted: Wanted, site: Site) -> list[Document]:
    """All wanted objects except for the certificates, in the order in which they are applied."""
    own = Ownership(release.owner, MAKER)
    home = release.owner.namespace
    place = Place(namespace=home, suffix=release.suffix, labels=own.labels)
    return ratelimitservice.documents(
        Counter(
            place=place,
            service=wanted.settings,
            redis=wanted.redis,
            called=release.named(ratelimitservice.CALLED),
            client=identities.RATE_LIMIT_CLIENT,
            state=wanted.state,
            leader=release.named(ratelimitservice.LEADER),
            address=site.address,
            port=site.port,
        )
    )


class RateLimits:
    """Keeps the service, on the leader."""

    def __init__(
        self,
        client: Client,
        release: Release,
        wanted: Callable[[], Wanted | None],
        tell: Callable[[Sequence[FleetProblem]], None],
        is_known: Callable[[], bool],
        site: Site,
    ) -> None:
        """`tell` takes all present problems; `is_known` says whether it is certain that no service
        is wanted."""
        self._client = client
        self._release = release
        self._wanted = wanted
        self._tell = tell
        self._is_known = is_known
        self._site = site
        self._own = Ownership(release.owner, MAKER)
        self._applier = Applier(client, MAKER)
        self._issuer = Issuer(client, release, self._applier, self._own)
        self._names = provisioned(release)
        self._queue = WorkQueue[str]()
        self._news = asyncio.Event()
        self._followed: children.Children[str] | None = None

    def notice(self) -> None:
        """The wanted service may have changed."""
        self._news.set()
        self._queue.add("")

    async def run(self) -> None:
        """For one term, until it is cancelled."""
        self._queue = WorkQueue[str]()
        self._queue.add("")
        async with asyncio.TaskGroup() as group:
            group.create_task(self._queue.run(self._reconcile))
            while True:
                await self._until(is_wanted=True)
                following = group.create_task(self._follow())
                await self._until(is_wanted=False)
                self._followed = None
                following.cancel()

    async def _until(self, *, is_wanted: bool) -> None:
        while (self._wanted() is not None) is not is_wanted:
            self._news.clear()
            await self._news.wait()

    async def _follow(self) -> None:
        """Reconciles after every change of the service's objects; never ends."""
        params = {"labelSelector": ownership.selector(self._own.labels)}
        home = self._release.owner.namespace
        collections = [Collection(it, params, home) for it in (*KINDS, "EndpointSlice")]
        self._followed = children.Children(
            self._client, collections, lambda _: "", lambda key: self._queue.add(key, BATCH)
        )
        await self._followed.run()

    async def _reconcile(self, _: str) -> bool:
        wanted = self._wanted()
        if wanted is None and not self._is_known():
            raise Requeue("not everything is known yet")
        found = await (self._remove(()) if wanted is None else self._keep(wanted))
        if self._wanted() != wanted:
            return True  # it is in the queue again
        self._tell(found)
        if unfinished := [it.message for it in found if not it.is_settled]:
            raise Requeue("; ".join(unfinished))
        return wanted is not None

    async def _keep(self, wanted: Wanted) -> list[FleetProblem]:
        """Brings the service to what it should be, as far as possible. Returns the problems."""
        try:
            made = documents(self._release, wanted, self._site)
        except ValueError:
            text = f"{self._site.address!r}, at which this replica is reached, is no IP address"
            return [FleetProblem(text, is_error=True)]
        found: list[FleetProblem] = []
        for document in made:
            if document["kind"] == "Deployment" and not wanted.state:
                text = "waits for its certificate and the Secrets of Redis"
                found.append(FleetProblem(text, is_error=False))
                continue
            path = objects.path(document)
            seen = self._followed.digest(path) if self._followed is not None else ""
            problem = (await self._applier.apply(document, self._own, seen)).problem
            if problem is None and document["kind"] == "ServiceAccount":
                problem = await self._certify(document)
            if problem is not None:
                found.append(_trouble(problem))
        return [*found, *await self._remove([objects.path(it) for it in made])]

    async def _certify(self, account: Document) -> problems.Problem | None:
        names = self._names
        service = identities.rate_limit_service(*reversed(names.service))
        subjects = {
            names.certificate: Subject(service, ("server", "client")),
            names.client_certificate: Subject((identities.RATE_LIMIT_CLIENT,), ("client",)),
        }

        async def describe() -> Raw:
            owner = await objects.read(self._client, account)
            if owner is None:
                raise objects.Terminating(f"{objects.described(account)} is gone again")
            reference = {"apiVersion": "v1", "kind": "ServiceAccount"}
            named = {"name": names.service.name, "uid": at(owner, "metadata", "uid")}
            return {"ownerReferences": [{**reference, **named}]}

        try:
            for where, subject in subjects.items():
                if problem := await self._issuer.renew(where, subject, describe):
                    return problem
        except problems.FAILURES as error:
            return problems.problem("its certificate", error)
        return None

    async def _remove(self, kept: Sequence[str]) -> list[FleetProblem]:
        """Removes our objects of the service, except for these paths. If they may not be read, none
        were created."""
        found: list[FleetProblem] = []
        names = self._names
        every = (*((it, names.service) for it in KINDS), *((it, names.leader) for it in OF_LEADER))
        for kind, name in reversed(every):
            named = {"kind": kind, "metadata": name._asdict()}
            if objects.path(named) in kept:
                continue
            try:
                present = await objects.read(self._client, named)
            except errors.Refused as error:
                if error.code == 403:
                    return []
                raise
            if present is not None and self._own.owns(present):
                problem = await self._applier.prune(present | {"kind": kind})
                found += [_trouble(problem)] if problem is not None else []
        return found


def _trouble(found: problems.Problem) -> FleetProblem:
    return FleetProblem(found.message, is_error=found.is_error, is_settled=found.is_settled)
