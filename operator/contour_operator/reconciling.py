"""Reconciles a ContourConfiguration: compares the cluster with what should exist, and repairs it.

Level-triggered: nothing is remembered of what happened, so that an operator that was killed at any
step goes on from there. The finalizer is written before anything is made and removed after
everything is gone. Nothing at all is begun for a configuration that is not valid, whose authors are
not trusted with what it asks for, that is not the first in its namespace, or that would need the
name of somebody else's object; each of these can be deleted like any other. An instance whose
configuration becomes so stays as it was, and its certificates are renewed.

Elsewhere: what is made (`desired`), removed (`removal`) and reported (`statuses`), and how an
object is kept as it should be (`provisioning.keeping`).
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from contour_operator import (
    children,
    configurations,
    desired,
    gatewayfinalizers,
    issuing,
    removal,
    statuses,
    strayfleets,
    validation,
)
from contour_operator.children import Children
from contour_operator.configurations import Configuration
from contour_operator.desired import Release
from contour_operator.reasons import Reason
from contour_operator.statuses import Observed
from contour_operator.trust import Trust
from crds import raw
from crds.contourconfiguration import ContourConfiguration
from crds.raw import Raw
from kube.client import Client
from kube.workqueue import Requeue
from provisioning.keeping import objects, ownership, problems, rollouts
from provisioning.keeping.applying import Applier
from provisioning.keeping.ownership import Owner
from provisioning.keeping.problems import Problem
from provisioning.templating import Document

PATIENCE = 30.0  # seconds after which objects that we may not remove are left behind


@dataclass(slots=True)
class _Memory:
    """A cache that saves requests; it may be lost at any time."""

    applied: dict[Owner, Document] = field(default_factory=dict)
    """Deployments that were just written, and that a watch may not have reported yet."""
    forbidden_since: dict[Owner, float] = field(default_factory=dict)
    left: dict[Owner, tuple[tuple[str, ...], object]] = field(default_factory=dict)
    """If all finalizers are removed from Gateways that an instance no longer watches: the
    namespaces that it watches, and the generation of its Deployment then."""

    def forget(self, owner: Owner) -> None:
        """The configuration is gone."""
        for it in (self.applied, self.forbidden_since, self.left):
            it.pop(owner, None)


def _ignored(_: Owner, __: bool) -> None:
    """Does nothing, where there is no consumer."""


class Reconciler:
    """Reconciles configurations, one per call."""

    def __init__(
        self,
        client: Client,
        followed: Children,
        release: Release,
        tell: configurations.Tell,
        trust: Trust,
    ) -> None:
        self._client = client
        self._children = followed
        self._release = release
        self._trust = trust
        self._applier = Applier(client, desired.MAKER)
        self._writer = configurations.Writer(client, tell)
        self._memory = _Memory()
        self.on_seen: Callable[[Owner, bool], None] = _ignored
        """Is called with a configuration that was read, and whether it exists."""
        self._beginnings = defaultdict[str, asyncio.Lock](asyncio.Lock)
        """By namespace."""

    async def reconcile(self, owner: Owner) -> bool:
        """Reconciles a configuration; whether it has an instance to look after. Raises request
        errors to be called again."""
        found = await configurations.read(self._client, owner)
        self.on_seen(owner, found is not None)
        if found is None:
            self._memory.forget(owner)
        elif not found.wants_an_instance:
            await self._hand_over(found)
        elif found.is_deleting:
            await self._remove(found)
        else:
            await self._provision(found)
            return True
        return False

    # The instance should exist.

    async def _provision(self, found: Configuration) -> None:
        decoded, invalid = _decoded(found)
        if decoded is not None and not invalid:
            invalid = await self._trust.problems(decoded)
        if decoded is None or invalid:
            await self._refuse(found, invalid)
            return
        if not found.has_finalizer:
            found = await self._begun(found, decoded)
        left = [problem async for problem in self._applied(found, decoded)]
        await self._tell(found, left)
        self._memory.applied.pop(found.owner, None)
        if unsettled := [it for it in left if not it.is_settled]:
            raise Requeue(unsettled[0].message)

    async def _begun(
        self, found: Configuration, configuration: ContourConfiguration
    ) -> Configuration:
        """The configuration with our finalizer, if an instance may be made; else raises Requeue."""
        # One at a time: the next one in the namespace has to see the finalizer of this one.
        async with self._beginnings[found.owner.namespace]:
            obstacles = await self._obstacles(found.owner, configuration)
            if not obstacles:
                return await self._writer.add_finalizer(found)
        await self._refuse(found, obstacles)
        raise Requeue(obstacles[0].message)

    async def _refuse(self, found: Configuration, reasons: Sequence[Problem]) -> None:
        """Nothing but certificates is made or changed; what there is stays as it is."""
        if not found.has_finalizer:
            await self._writer.write(found, statuses.refused(found.generation, reasons))
            return
        failures = await self._renew(found.owner)
        await self._tell(found, [*reasons, *failures])
        if failures:
            raise Requeue(failures[0].message)

    async def _obstacles(
        self, owner: Owner, configuration: ContourConfiguration
    ) -> Sequence[Problem]:
        """What keeps an instance from being made at all."""
        first = await configurations.first(self._client, owner.namespace)
        if first is not None and first != owner:
            message = f"{first.name} is the configuration of the instance in this namespace"
            return [Problem(Reason.NAMESPACE_IN_USE, message)]
        wanted = (
            *issuing.documents(owner),
            *desired.children(configuration, self._release),
        )
        return [it for document in wanted if (it := await self._conflict(owner, document))]

    async def _conflict(self, owner: Owner, document: Document) -> Problem | None:
        try:
            await objects.require_ours(self._client, document, desired.ownership(owner))
        except objects.NotOwned as error:
            return problems.problem("", error)
        return None

    async def _applied(
        self, found: Configuration, configuration: ContourConfiguration
    ) -> AsyncIterator[Problem]:
        """Makes and repairs what should exist, prunes what should not; yields problems."""
        owner = found.owner
        for failure in await self._renew(owner):
            yield failure
        wanted = desired.children(configuration, self._release)
        for document in wanted:
            problem = await self._apply(owner, document)
            if problem is not None:
                yield _placed(problem, document, configuration)
        async for problem in self._pruned(found, configuration, wanted):
            yield problem
        if problem := await self._leave_gateways(owner, configuration):
            yield problem

    async def _renew(self, owner: Owner) -> Sequence[Problem]:
        """The certificates that are due; why they could not be renewed."""
        try:
            await issuing.renew(self._client, owner, datetime.now(UTC))
        except problems.FAILURES as error:
            return [problems.problem("the certificates", error)]
        return []

    async def _pruned(
        self, found: Configuration, configuration: ContourConfiguration, wanted: Sequence[Raw]
    ) -> AsyncIterator[Problem]:
        kept = {objects.path(it) for it in (*wanted, *issuing.documents(found.owner))}
        given = [_gives(it) for it in wanted]
        every = dict(self._children.of(children.of(found.owner)))  # a copy: pruning changes it
        owns_fleets = desired.owns_fleets(found.raw)
        stray = strayfleets.strays(every.values(), wanted) if owns_fleets else ()
        doomed = [it for path, it in every.items() if path not in kept and _is_of_the_operator(it)]
        for child in (*doomed, *stray):
            # A binding stays while the instance removes, by its rights, what it has made.
            is_needed = _is_for_a_class(child, every) or strayfleets.are_removed_by(
                child, stray, configuration
            )
            if (is_needed and _gives(child) not in given) or _is_going(child):
                continue
            if problem := await self._applier.prune(child):
                yield problem

    async def _leave_gateways(
        self, owner: Owner, configuration: ContourConfiguration
    ) -> Problem | None:
        """Removes the instance's finalizer from Gateways that it does not watch, until no replica
        is left that did watch them and could add it again."""
        contour = configuration.spec.contour
        watched = contour.watch_namespaces if contour is not None else ()
        deployment = self._deployment(owner)
        state = (watched, deployment and raw.at(deployment, "metadata", "generation"))
        if not watched or self._memory.left.get(owner) == state:
            return None
        try:
            await gatewayfinalizers.leave_gateways(self._client, owner, watched)
        except problems.FAILURES as error:
            return problems.problem("the finalizers of Gateways", error)
        if deployment is not None and not rollouts.left(deployment):
            self._memory.left[owner] = state
        return None

    def _deployment(self, owner: Owner) -> Raw | None:
        """The newest known Deployment of the control plane."""
        # By its path: whoever may write Deployments elsewhere can give them the same labels.
        path = objects.RESOURCES["Deployment"].path(owner.namespace, desired.DEPLOYMENT)
        seen = self._children.of(children.of(owner)).get(path)
        applied = self._memory.applied.get(owner)
        return seen if applied is None or not _is_newer(applied, seen) else applied

    async def _apply(self, owner: Owner, document: Document) -> Problem | None:
        seen = self._children.digest(objects.path(document))
        applied = await self._applier.apply(document, desired.ownership(owner), seen)
        if applied.made is not None and document["kind"] == "Deployment":
            self._memory.applied[owner] = applied.made
        return applied.problem

    async def _tell(self, found: Configuration, reasons: Sequence[Problem]) -> None:
        await self._writer.write(found, statuses.status(self._observed(found, reasons)))

    def _observed(
        self, found: Configuration, reasons: Sequence[Problem], waits_for: str = ""
    ) -> Observed:
        every = self._children.of(children.of(found.owner)).values()
        workloads = [it for it in every if it["kind"] in {"Deployment", "DaemonSet"}]
        envoys = [it for it in workloads if children.is_of_a_fleet(it)]
        return Observed(
            generation=found.generation,
            problems=reasons,
            deployment=self._deployment(found.owner),
            fleets=envoys if desired.is_managed(found.raw) else None,
            troubles=statuses.troubles(found.status),
            waits_for=waits_for,
        )

    # The instance should be gone, or handed over to its users.

    async def _remove(self, found: Configuration) -> None:
        if not found.has_finalizer:
            return
        try:
            left = await removal.remove(self._client, found.owner, found.raw)
        except removal.Forbidden as error:
            if not self._has_been_patient(found.owner):
                raise
            message = f"Some objects may be left: {error}"
            self._writer.warn(found, Reason.CLEANUP_INCOMPLETE, message)
            left = ""
        if left:
            observed = self._observed(found, (), waits_for=left)
            await self._writer.write(found, statuses.status(observed))
            raise Requeue(f"waits for the deletion of {left}")
        await self._writer.remove_finalizer(found)

    def _has_been_patient(self, owner: Owner) -> bool:
        now = asyncio.get_running_loop().time()
        return now - self._memory.forbidden_since.setdefault(owner, now) >= PATIENCE

    async def _hand_over(self, found: Configuration) -> None:
        """Without `spec.contour` the operator no longer manages the instance; it stays as it is.
        What the operator has said goes, also if it has refused to make one."""
        await self._writer.write(found, {"conditions": []})
        if found.has_finalizer:
            await self._writer.remove_finalizer(found)


def _gives(binding: Raw) -> tuple[object, ...]:
    """The role that a binding grants, and where; its name differed in earlier releases."""
    role = raw.at(binding, "roleRef", "name")
    return binding["kind"], raw.at(binding, "metadata", "namespace"), role


def _is_for_a_class(binding: Raw, every: Mapping[str, Raw]) -> bool:
    has_class = any(it["kind"] == "GatewayClass" for it in every.values())
    return has_class and desired.is_for_outer_classes(binding)


def _decoded(found: Configuration) -> tuple[ContourConfiguration | None, list[Problem]]:
    decoded, complaints = found.decoded
    every = [*complaints, *(validation.complaints(decoded) if decoded else ())]
    return decoded, [Problem(Reason.INVALID, str(it)) for it in every]


def _placed(problem: Problem, document: Document, configuration: ContourConfiguration) -> Problem:
    """The problem with the path of the field that names the namespace, if that is the cause."""
    where, contour = document["metadata"].get("namespace"), configuration.spec.contour
    watched: Iterable[str] = contour.watch_namespaces if contour else ()
    if problem.reason != problems.Reason.REQUEST_FAILED or where not in watched:
        return problem
    path = f"spec.contour.watchNamespaces[{list(watched).index(where)}]"
    return Problem(Reason.INVALID, f"{path}: {problem.message}")


def _is_newer(applied: Raw, seen: Raw | None) -> bool:
    """Whether an object as it was written is not the one that a watch has reported, or newer."""
    if seen is None or raw.at(applied, "metadata", "uid") != raw.at(seen, "metadata", "uid"):
        return True
    written, known = (raw.at(it, "metadata", "generation") for it in (applied, seen))
    return isinstance(written, int) and isinstance(known, int) and written > known


def _is_going(child: Raw) -> bool:
    return bool(raw.at(child, "metadata", "deletionTimestamp"))


def _is_of_the_operator(child: Raw) -> bool:
    return ownership.has(child, {ownership.MAKER: desired.MAKER})
