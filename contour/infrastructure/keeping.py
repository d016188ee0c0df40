"""Reconciles one fleet: looks at what there is and brings it to what there should be.

Level-triggered: nothing is remembered of what happened, so that a leader that was killed at any
step leaves what the next one goes on from. Nothing is begun that would need the name of somebody
else's object, or that the API server would not take. What clients need goes last: a workload that
replaces another one (DaemonSet or Deployment) is available before that one is removed. Elsewhere:
what there should be (`desired`), what there is (`children`), when Envoys are replaced
(`upgrading`), what becomes of a rollout that fails (`undoing`), certificates (`certifying`), how an
object is kept (`provisioning.keeping`).
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from contour.infrastructure import children, desired
from contour.infrastructure.certifying import Certificates
from contour.infrastructure.children import Children
from contour.infrastructure.desired import Key, Release
from contour.infrastructure.undoing import Rollouts
from contour.infrastructure.upgrading import Upgrades
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
    """A fleet, and what it is called over xDS."""

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
        """`again` has a fleet kept again after so many seconds."""
        self._client = client
        self._again = again
        self._release = release
        self._children = followed
        self._applier = Applier(client, desired.MAKER)
        self._certificates = Certificates(client, release, self._applier)
        self._upgrades = Upgrades(client, release)

    async def keep(self, key: Key, wanted: Wanted) -> Sequence[FleetProblem]:
        """Brings a fleet to what it should be, as far as that can be; what cannot."""
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
        # While nobody knows the ports, those that there are stay.
        due = [it for it in every if wanted.fleet.is_due or it["kind"] not in _WITH_PORTS]
        if refused:  # Envoys stay as they are, and what is in front of them follows its ports
            due = [it for it in due if it["kind"] not in WORKLOADS]
        found = refused + [it async for it in self._applied_all(key, wanted, due)]
        if all(it.is_settled for it in found):
            found += await self._pruned(key, wanted.fleet, every)
        return found

    async def remove(self, key: Key) -> Sequence[FleetProblem]:
        """Removes what there is of a fleet: first what clients come in by.

        A Secret goes with the ServiceAccount that owns it.
        """
        found: list[FleetProblem] = []
        every = [it for it in self._children.of(key).values() if it["kind"] != "Secret"]
        for document in sorted(every, key=_removal_order):
            if not document["metadata"].get("deletionTimestamp"):
                found += await self._prune(document)
        return found

    async def _obstacles(self, every: Sequence[Document]) -> Sequence[FleetProblem]:
        """What keeps a fleet from being begun at all: half of one would be of no use."""
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
                    return  # nothing is to hang on what is somebody else's

    async def _due(self, key: Key, document: Raw) -> tuple[Raw | None, FleetProblem | None]:
        """What of an object is to be applied now, and why that is not what it should be."""
        if document["kind"] not in WORKLOADS:
            return document, None
        live = self._children.of(key).get(objects.path(document))
        if obstacle := await self._upgrades.obstacle(document, live):
            return None, obstacle
        return await Rollouts(self._client, partial(self._again, key)).step(document, live)

    async def _certify(self, key: Key, fleet: fleets.Fleet) -> FleetProblem | None:
        if fleet.gateway is None:
            return None  # beside the control plane's, by whoever made that
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
        """Removes what is not wanted any more, once what has come in its place serves."""
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


_IDLE = FleetProblem("there is no listener that Envoys could serve", is_error=False)


_WITH_PORTS = ("Service", "NetworkPolicy", "Gateway", "TCPRoute")


def _stays(kind: str, fleet: fleets.Fleet) -> bool:
    """Whether objects of a kind that are not asked for now are none of another time."""
    if kind == "TCPRoute" and not fleet.is_due:
        return fleet.publishing is not None and fleet.publishing.gateway is not None
    return kind == "Secret"


def _at_once(old: Mapping[str, Document]) -> Sequence[str]:
    """The paths of objects in whose place nothing comes, and on which no Envoy depends."""
    kinds = (*children.OUTER, "HorizontalPodAutoscaler")
    found = [path for path, it in old.items() if it["kind"] in kinds]
    return sorted(found, key=lambda path: kinds.index(old[path]["kind"]))


def _missing(
    present: Mapping[str, Document], every: Sequence[Document], old: Mapping[str, Document]
) -> str:
    """What has to be there before the old objects may go."""
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
