"""Reconciles one fleet: brings the existing objects to what they should be.

Level-triggered: no events are remembered, so that the next leader can go on if this one is killed
at any step. A fleet is not begun if another owner's object has one of its names, or if the API
server would refuse an object. What serves clients is removed last: when a DaemonSet replaces a
Deployment, or the other way round, the new one is available before the old one is removed.
Elsewhere: what there should be (`desired`), what there is (`children`), when Envoys are replaced
(`upgrading`), failed rollouts (`rollback`), certificates (`certifying`), how an object is kept
(`provisioning.keeping`).
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from contour.infrastructure import children, desired
from contour.infrastructure.certifying import Certificates
from contour.infrastructure.children import Children
from contour.infrastructure.desired import Key, Release
from contour.infrastructure.rollback import Rollouts
from contour.infrastructure.upgrading import Upgrades
from crds import raw
from crds.raw import Raw
from dag import fleets
from dag.fleets import FleetProblem
from kube.client import Client
from provisioning.keeping import objects, problems, rollouts
from provisioning.keeping.applying import Applier
from provisioning.keeping.problems import Problem
from provisioning.templating import Document

WORKLOADS = ("DaemonSet", "Deployment")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A fleet, and its name in xDS."""

    name: str
    fleet: fleets.Fleet


class FleetReconciler:
    """Makes, repairs and removes the objects of fleets."""

    def __init__(
        self,
        client: Client,
        release: Release,
        followed: Children,
        again: Callable[[Key, float], None],
    ) -> None:
        """`again` schedules another reconciliation of a fleet after so many seconds."""
        self._client = client
        self._again = again
        self._release = release
        self._children = followed
        self._applier = Applier(client, desired.MAKER)
        self._certificates = Certificates(client, release, self._applier)
        self._upgrades = Upgrades(client, release)

    async def keep(self, key: Key, wanted: Wanted) -> Sequence[FleetProblem]:
        """Brings a fleet to what it should be, as far as possible. Returns the problems."""
        present = self._children.of(key)
        every = desired.documents(self._release, wanted.fleet, wanted.name)
        refusal = desired.bootstrap_refusal(self._release, wanted.fleet, wanted.name)
        refused = [FleetProblem(refusal, concerns="bootstrap")] if refusal else []
        if not present:
            if refused:
                return refused
            if not wanted.fleet.is_due:
                return [_IDLE]
            if obstacles := await self._obstacles(every):
                return obstacles
        # While the ports are not known, existing ones stay.
        due = [it for it in every if wanted.fleet.is_due or it["kind"] not in _WITH_PORTS]
        if refused:  # Envoys stay as they are, but Services follow the ports
            due = [it for it in due if it["kind"] not in WORKLOADS]
        found = refused + [it async for it in self._applied_all(key, wanted, due)]
        if all(it.is_settled for it in found):
            found += await self._pruned(key, wanted.fleet, every)
        return found

    async def remove(self, key: Key) -> Sequence[FleetProblem]:
        """Removes all objects of a fleet, beginning with its Service.

        A Secret is deleted with the ServiceAccount that owns it.
        """
        found: list[FleetProblem] = []
        every = [it for it in self._children.of(key).values() if it["kind"] != "Secret"]
        for document in sorted(every, key=_removal_order):
            if not document["metadata"].get("deletionTimestamp"):
                found += await self._prune(document)
        return found

    async def _obstacles(self, every: Sequence[Document]) -> Sequence[FleetProblem]:
        """The problems that keep a fleet from being begun at all, since half a fleet would be of no
        use."""
        own = self._release.ownership
        found = [(it["kind"], await self._applier.rehearse(it, own)) for it in every]
        return [_trouble(it, kind) for kind, it in found if it is not None]

    async def _applied_all(
        self, key: Key, wanted: Wanted, every: Sequence[Document]
    ) -> AsyncIterator[FleetProblem]:
        for it in every:
            document, reason = await self._due(key, it)
            if reason is not None:
                yield reason
            if document is None:
                continue
            trouble = await self._apply(objects.path(it), document)
            if trouble is None and document["kind"] == "ServiceAccount":
                trouble = await self._certify(key, wanted.fleet)
            if trouble is not None:
                yield trouble
                if document["kind"] in children.OUTER and not trouble.is_settled:
                    for problem in await self._handed_over(key, document):
                        yield problem
                    return  # nothing may be attached to another owner's object

    async def _handed_over(self, key: Key, document: Raw) -> Sequence[FleetProblem]:
        """Removes what was attached to a GatewayClass that is being created again for another
        controller: the old one may keep the class, by a finalizer, while it has a Gateway."""
        present = self._children.of(key)
        live = present.get(objects.path(document))
        if document["kind"] != "GatewayClass" or live is None or not _is_leaving(live, document):
            return ()
        attached = [it for it in present.values() if it["kind"] in children.ATTACHED]
        return [problem for it in attached for problem in await self._prune(it)]

    async def _due(self, key: Key, document: Raw) -> tuple[Raw | None, FleetProblem | None]:
        """The document to apply for an object now, and the reason if that is not the wanted one."""
        if document["kind"] not in WORKLOADS:
            return document, None
        live = self._children.of(key).get(objects.path(document))
        if obstacle := await self._upgrades.obstacle(document, live):
            return None, obstacle
        return await Rollouts(self._client, partial(self._again, key)).step(document, live)

    async def _certify(self, key: Key, fleet: fleets.Fleet) -> FleetProblem | None:
        if fleet.gateway is None:
            return None  # it is created with that of the control plane
        try:
            present = self._children.of(key)
            problem = await self._certificates.renew(fleet.gateway, fleet, present)
        except problems.FAILURES as error:
            problem = problems.problem("its certificate", error)
        return None if problem is None else _trouble(problem)

    async def _apply(self, path: str, document: Document) -> FleetProblem | None:
        seen = self._children.digest(path)
        problem = (await self._applier.apply(document, self._release.ownership, seen)).problem
        return None if problem is None else _trouble(problem, document["kind"])

    async def _pruned(
        self, key: Key, fleet: fleets.Fleet, every: Sequence[Document]
    ) -> Sequence[FleetProblem]:
        """Removes objects that are no longer wanted, as soon as their replacements serve."""
        present, kept = self._children.of(key), {objects.path(it) for it in every}
        old = {
            path: it
            for path, it in present.items()
            if path not in kept and not _stays(it["kind"], fleet)
        }
        found: list[FleetProblem] = []
        for path in _at_once(old):
            found += await self._prune(old.pop(path))
        if old and (missing := _missing(present, every, old)):
            return [*found, FleetProblem(missing, is_error=False)]
        for document in old.values():
            found += await self._prune(document)
        return found

    async def _prune(self, document: Document) -> Sequence[FleetProblem]:
        problem = await self._applier.prune(document)
        return () if problem is None else (_trouble(problem),)


def _is_leaving(live: Raw, wanted: Raw) -> bool:
    """Whether a GatewayClass is being deleted that is of another controller than the wanted one."""
    before, after = (raw.at(it, "spec", "controllerName") for it in (live, wanted))
    return before != after and bool(raw.at(live, "metadata", "deletionTimestamp"))


_IDLE = FleetProblem("there is no listener that Envoys could serve", is_error=False)


_WITH_PORTS = ("Service", "NetworkPolicy", "Gateway", "TCPRoute")


def _stays(kind: str, fleet: fleets.Fleet) -> bool:
    """Whether objects of a kind stay although they are not in the wanted documents now."""
    if kind == "TCPRoute" and not fleet.is_due:
        return fleet.publishing is not None and fleet.publishing.gateway is not None
    return kind == "Secret"


def _at_once(old: Mapping[str, Document]) -> Sequence[str]:
    """The paths of objects that can be removed at once: they have no replacement, and no Envoy
    depends on them."""
    kinds = (*children.OUTER, "HorizontalPodAutoscaler")
    found = [path for path, it in old.items() if it["kind"] in kinds]
    return sorted(found, key=lambda path: kinds.index(old[path]["kind"]))


def _missing(
    present: Mapping[str, Document], every: Sequence[Document], old: Mapping[str, Document]
) -> str:
    """What is missing before the old objects can be removed; empty if nothing is."""
    for document in every:
        if document["kind"] not in WORKLOADS:
            continue
        live = present.get(objects.path(document))
        if live is None or not rollouts.is_available(live):
            return f"waits for the Envoys of {objects.described(document)}"
        serving = sum(rollouts.available(it) for it in old.values() if it["kind"] in WORKLOADS)
        if serving and not rollouts.available(live) and rollouts.replicas(live):
            return f"no Envoy of {objects.described(document)} has a node"
    return ""


def _removal_order(document: Document) -> int:
    scaled = ("HorizontalPodAutoscaler", *WORKLOADS)
    kinds = ("Service", *scaled, "PodDisruptionBudget", "NetworkPolicy")
    return kinds.index(document["kind"]) if document["kind"] in kinds else len(kinds)


def _trouble(found: Problem, kind: str = "") -> FleetProblem:
    """What is wrong with an object of this kind, as a problem of the fleet."""
    return FleetProblem(found.message, found.is_error, found.is_settled, _CONCERNS.get(kind, "all"))


_CONCERNS: Mapping[str, fleets.Concern] = {
    **dict.fromkeys((*WORKLOADS, "HorizontalPodAutoscaler", "PodDisruptionBudget"), "workload"),
    **dict.fromkeys(("Service", *children.OUTER), "publishing"),
}
