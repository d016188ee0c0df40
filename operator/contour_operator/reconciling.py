"""One configuration, one turn: looks at how things are and brings them to how they should be.

Level-triggered: nothing is remembered of what happened, so that an operator that was killed at any
step goes on from there. The finalizer is written before anything is made and removed after
everything is gone. Nothing at all is begun for a configuration that is not valid, whose authors are
not trusted with what it asks for, that is not the first in its namespace, or that would need the
name of somebody else's object; each of these can be deleted like any other.
What is made (`desired`), removed (`removal`) and told (`telling`) is elsewhere.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from contour_operator import (
    children,
    configurations,
    desired,
    issuing,
    removal,
    telling,
    validation,
)
from contour_operator.children import Child, Children
from contour_operator.configurations import Configuration
from contour_operator.desired import Release
from contour_operator.telling import Observed, Problem
from contour_operator.trust import Trust
from crds.contourconfiguration import ContourConfiguration
from kube import errors
from kube.client import Client
from provisioning import applying, ownership
from provisioning.applier import Applier
from provisioning.ownership import Owner
from provisioning.templating import Document
from provisioning.turns import Unfinished

PATIENCE = 30.0  # seconds; then what we may not remove is left behind


@dataclass(slots=True)
class _Memory:
    """What saves requests, and no more: it may be lost at any time."""

    made: dict[Owner, Document] = field(default_factory=dict)
    """Deployments that were written in this turn, and that no watch may have told of yet."""
    forbidden_since: dict[Owner, float] = field(default_factory=dict)


class Reconciler:
    """Takes the turns of configurations."""

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
        self._applier = Applier(client, desired.MAKER, children.state)
        self._writer = configurations.Writer(client, tell)
        self._memory = _Memory()

    async def turn(self, owner: Owner) -> bool:
        """Whether there is anything to look after; raises request errors for another turn soon."""
        found = await configurations.read(self._client, owner)
        if found is None:
            self._memory.forbidden_since.pop(owner, None)
        elif found.is_leaving:
            await self._remove(found)
        elif not found.wants_an_instance:
            await self._hand_over(found)
        else:
            await self._provision(found)
            return True
        return False

    # It is to be there.

    async def _provision(self, found: Configuration) -> None:
        decoded, problems = _decoded(found)
        if decoded is not None and not problems:
            problems = await self._trust.problems(decoded)
        if decoded is None or problems:
            await self._refuse(found, problems)
            return
        if not found.is_begun:
            obstacles = await self._obstacles(found.owner, decoded)
            if obstacles:
                await self._refuse(found, obstacles)
                raise Unfinished(obstacles[0].message)
            found = await self._writer.begin(found)
        problems = [problem async for problem in self._made(found.owner, decoded)]
        await self._tell(found, problems)
        self._memory.made.pop(found.owner, None)
        if unfinished := [it for it in problems if not it.is_settled]:
            raise Unfinished(unfinished[0].message)

    async def _refuse(self, found: Configuration, problems: Sequence[Problem]) -> None:
        """Nothing is made or changed; what there is stays as it is."""
        if found.is_begun:
            await self._tell(found, problems)
        else:
            await self._writer.write(found, telling.refused(found.generation, problems))

    async def _obstacles(
        self, owner: Owner, configuration: ContourConfiguration
    ) -> Sequence[Problem]:
        """What keeps an instance from being begun at all."""
        first = await configurations.first(self._client, owner.namespace)
        if first is not None and first != owner:
            message = f"{first.name} is the configuration of the instance in this namespace"
            return [Problem("NamespaceTaken", message)]
        wanted = (
            *issuing.documents(owner),
            *desired.children(configuration, self._release),
        )
        return [it for document in wanted if (it := await self._stranger(owner, document))]

    async def _stranger(self, owner: Owner, document: Document) -> Problem | None:
        try:
            await applying.require_ours(self._client, document, desired.mark(owner))
        except applying.Unowned as error:
            return Problem("NotOurs", str(error))
        return None

    async def _made(
        self, owner: Owner, configuration: ContourConfiguration
    ) -> AsyncIterator[Problem]:
        """Makes and repairs what there should be, removes what there should not; the problems."""
        try:
            await issuing.renew(self._client, owner, datetime.now(UTC))
        except applying.Unowned as error:
            yield Problem("NotOurs", str(error))
        except errors.Refused as error:
            yield _refusal("the certificates", error)
        wanted = desired.children(configuration, self._release)
        for document in wanted:
            problem = await self._apply(owner, document)
            if problem is not None:
                yield _placed(problem, document, configuration)
        kept = {applying.path(it) for it in (*wanted, *issuing.documents(owner))}
        async for problem in self._tidied(owner, kept):
            yield problem

    async def _apply(self, owner: Owner, document: Document) -> Problem | None:
        seen = self._children.state(applying.path(document))
        try:
            applied = await self._applier.apply(document, desired.mark(owner), seen)
        except applying.Unowned as error:
            return Problem("NotOurs", str(error))
        except applying.Leaving as error:
            return Problem("Leaving", str(error))
        except errors.Refused as error:
            return _refusal(applying.described(document), error)
        if applied.made is not None and document["kind"] == "Deployment":
            self._memory.made[owner] = children.excerpt(applied.made)
        return Problem("", applied.note, is_settled=True) if applied.note else None

    async def _tidied(self, owner: Owner, kept: set[str]) -> AsyncIterator[Problem]:
        """Removes children of another time: of namespaces that are not watched any more."""
        every = self._children.of(owner)
        for child in every:
            if not _is_of_the_operator(child) or child.path in kept:
                continue
            if _is_needed(child, every):
                continue  # the instance removes first what it has made by the rights bound here
            try:
                await applying.remove(self._client, child.resource, child.document)
            except errors.Refused as error:
                yield _refusal(f"the removal of {child.path}", error)

    async def _tell(self, found: Configuration, problems: Sequence[Problem]) -> None:
        await self._writer.write(found, telling.status(self._observed(found, problems)))

    def _observed(
        self, found: Configuration, problems: Sequence[Problem], waits_for: str = ""
    ) -> Observed:
        every = [it for it in self._children.of(found.owner) if it.resource.group == "apps"]
        contours = [it.document for it in every if _is_of_the_operator(it)]
        envoys = [it.document for it in every if not _is_of_the_operator(it)]
        return Observed(
            generation=found.generation,
            problems=problems,
            deployment=contours[0] if contours else self._memory.made.get(found.owner),
            fleets=envoys if desired.is_managed(found.raw) else None,
            troubles=telling.troubles(found.status),
            waits_for=waits_for,
        )

    # It is to be gone, or to be its users'.

    async def _remove(self, found: Configuration) -> None:
        if not found.is_begun:
            return
        try:
            left = await removal.remove(self._client, found.owner, found.raw)
        except removal.Forbidden as error:
            if not self._has_been_patient(found.owner):
                raise
            self._writer.warn(found, "LeftBehind", f"Some objects may be left: {error}")
            left = ""
        if left:
            observed = self._observed(found, (), waits_for=left)
            await self._writer.write(found, telling.status(observed))
            raise Unfinished(f"waits for the end of {left}")
        await self._writer.release(found)

    def _has_been_patient(self, owner: Owner) -> bool:
        now = datetime.now(UTC).timestamp()
        return now - self._memory.forbidden_since.setdefault(owner, now) >= PATIENCE

    async def _hand_over(self, found: Configuration) -> None:
        """Without `spec.contour` nothing is ours to do any more, and nothing is undone."""
        if found.is_begun:
            await self._writer.write(found, {"conditions": []})
            await self._writer.release(found)


def _is_needed(binding: children.Child, every: Sequence[children.Child]) -> bool:
    if desired.is_for_fleets_of_gateways(binding.document):
        return any(ownership.GATEWAY in it.labels for it in every)
    has_class = any(it.resource == applying.RESOURCES["GatewayClass"] for it in every)
    return has_class and desired.is_for_outer_classes(binding.document)


def _decoded(found: Configuration) -> tuple[ContourConfiguration | None, list[Problem]]:
    decoded, complaints = found.decoded
    every = [*complaints, *(validation.complaints(decoded) if decoded else ())]
    return decoded, [Problem("Invalid", str(it)) for it in every]


def _refusal(what: str, error: errors.Refused) -> Problem:
    reason = {403: "Forbidden", 422: "Refused"}.get(error.code, "Failed")
    return Problem(reason, f"{what}: {error.message}")


def _placed(problem: Problem, document: Document, configuration: ContourConfiguration) -> Problem:
    """With the path of the field that names a namespace, if that is what is wrong."""
    where, contour = document["metadata"].get("namespace"), configuration.spec.contour
    watched: Iterable[str] = contour.watch_namespaces if contour else ()
    if problem.reason != "Failed" or where not in watched:
        return problem
    path = f"spec.contour.watchNamespaces[{list(watched).index(where)}]"
    return Problem("Invalid", f"{path}: {problem.message}")


def _is_of_the_operator(child: Child) -> bool:
    return ownership.has(child.document, {ownership.MAKER: desired.MAKER})
