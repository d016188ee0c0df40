"""One fleet, one turn: looks at what there is and brings it to what there should be.

Level-triggered: nothing is remembered of what happened, so that a leader that was killed at any
step leaves what the next one goes on from. Nothing is begun that would need the name of somebody
else's object, or that the API server would not take. What clients need goes last: a workload that
replaces another one (DaemonSet or Deployment) is available before that one is removed. Elsewhere:
what there should be (`desired`), what there is (`children`), when Envoys are replaced
(`upgrading`), certificates (`certifying`).
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from contour.infrastructure import children, desired
from contour.infrastructure.certifying import Certificates
from contour.infrastructure.children import Children
from contour.infrastructure.desired import Key, Release
from contour.infrastructure.upgrading import Upgrades
from dag import fleets
from dag.fleets import Trouble
from kube import errors
from kube.client import Client
from provisioning import applying, rollouts
from provisioning.applier import Applier
from provisioning.templating import Document

WORKLOADS = ("DaemonSet", "Deployment")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A fleet, and what it is called over xDS."""

    name: str
    fleet: fleets.Fleet


class Keeper:
    """Makes, repairs and removes the objects of fleets."""

    def __init__(self, client: Client, release: Release, followed: Children) -> None:
        self._client = client
        self._release = release
        self._children = followed
        self._applier = Applier(client, desired.MAKER, children.digest)
        self._certificates = Certificates(client, release, self._applier)
        self._upgrades = Upgrades(client, release)

    async def keep(self, key: Key, wanted: Wanted) -> Sequence[Trouble]:
        """Brings a fleet to what it should be, as far as that can be; what cannot."""
        present = self._children.of(key)
        every = desired.documents(self._release, wanted.fleet, wanted.name)
        if not present:
            if not wanted.fleet.is_due:
                return [_IDLE]
            if obstacles := [it async for it in self._obstacles(every)]:
                return obstacles
        # While nobody knows the ports, those that there are stay.
        due = [it for it in every if wanted.fleet.is_due or it["kind"] not in _WITH_PORTS]
        found = [it async for it in self._applied_all(key, wanted, due)]
        if all(it.is_settled for it in found):
            found += [it async for it in self._tidied(key, wanted.fleet, every)]
        return found

    async def remove(self, key: Key) -> Sequence[Trouble]:
        """Removes what there is of a fleet: first what clients come in by.

        A Secret goes with the ServiceAccount that owns it.
        """
        found = []
        every = [it for it in self._children.of(key).items() if it[1]["kind"] != "Secret"]
        for path, document in sorted(every, key=lambda it: _removal_order(it[1])):
            if not document["metadata"].get("deletionTimestamp"):
                found += [it async for it in self._removed(path, document)]
        return found

    async def _obstacles(self, every: Sequence[Document]) -> AsyncIterator[Trouble]:
        """What keeps a fleet from being begun at all: half of one would be of no use."""
        for document in every:
            try:
                await applying.rehearse(self._client, document, self._release.mark, desired.MAKER)
            except applying.Unowned as error:
                yield Trouble(str(error))
            except errors.Refused as error:
                yield _refusal(applying.described(document), error)

    async def _applied_all(
        self, key: Key, wanted: Wanted, every: Sequence[Document]
    ) -> AsyncIterator[Trouble]:
        for document in every:
            path = applying.path(document)
            if document["kind"] in WORKLOADS:
                live = self._children.of(key).get(path)
                if reason := await self._upgrades.obstacle(document, live):
                    yield reason
                    continue
            trouble = await self._apply(path, document)
            if trouble is None and document["kind"] == "ServiceAccount":
                trouble = await self._certify(key, wanted.fleet)
            if trouble is not None:
                yield trouble
                if document["kind"] in children.OUTER and not trouble.is_settled:
                    return  # nothing is to hang on what is somebody else's

    async def _certify(self, key: Key, fleet: fleets.Fleet) -> Trouble | None:
        if fleet.gateway is None:
            return None  # beside the control plane's, by whoever made that
        try:
            return await self._certificates.renew(fleet.gateway, fleet, self._children.of(key))
        except (applying.Unowned, applying.Leaving) as error:
            return Trouble(str(error), is_error=isinstance(error, applying.Unowned))
        except errors.Refused as error:
            return _refusal("its certificate", error)

    async def _apply(self, path: str, document: Document) -> Trouble | None:
        try:
            applied = await self._applier.apply(
                document, self._release.mark, self._children.digest(path)
            )
        except (applying.Unowned, applying.Leaving) as error:
            return Trouble(str(error), is_error=isinstance(error, applying.Unowned))
        except errors.Refused as error:
            return _refusal(applying.described(document), error)
        if applied.note:
            return Trouble(applied.note, is_error=False, is_settled=True)
        return None

    async def _tidied(
        self, key: Key, fleet: fleets.Fleet, every: Sequence[Document]
    ) -> AsyncIterator[Trouble]:
        """Removes what is of another time, once what has come in its place serves."""
        present, kept = self._children.of(key), {applying.path(it) for it in every}
        old = {
            path: it
            for path, it in present.items()
            if path not in kept and not _stays(it["kind"], fleet)
        }
        for path, document in _outer(old):
            del old[path]
            async for trouble in self._removed(path, document):
                yield trouble
        if old and (missing := _missing(present, every, old)):
            yield Trouble(missing, is_error=False)
            return
        for path, document in old.items():
            async for trouble in self._removed(path, document):
                yield trouble

    async def _removed(self, path: str, document: Document) -> AsyncIterator[Trouble]:
        self._applier.forget(path)
        resource = applying.RESOURCES[document["kind"]]
        try:
            await applying.remove(self._client, resource, document)
        except errors.Refused as error:
            yield _refusal(f"the removal of {applying.described(document)}", error)


_IDLE = Trouble("there is no listener that Envoys could serve", is_error=False)


_WITH_PORTS = ("Service", "NetworkPolicy", "Gateway", "TCPRoute")


def _stays(kind: str, fleet: fleets.Fleet) -> bool:
    """Whether objects of a kind that are not asked for now are none of another time."""
    if kind == "TCPRoute" and not fleet.is_due:
        return fleet.publishing is not None and fleet.publishing.gateway is not None
    return kind == "Secret"


def _outer(old: Mapping[str, Document]) -> Sequence[tuple[str, Document]]:
    """Nothing comes in the place of those, nor do Envoys depend on them."""
    found = [it for it in old.items() if it[1]["kind"] in children.OUTER]
    return sorted(found, key=lambda it: children.OUTER.index(it[1]["kind"]))


def _missing(
    present: Mapping[str, Document], every: Sequence[Document], old: Mapping[str, Document]
) -> str:
    """What has to be there before the old objects may go."""
    for document in every:
        if document["kind"] not in WORKLOADS:
            continue
        live = present.get(applying.path(document))
        if live is None or not rollouts.is_available(live):
            return f"waits for the Envoys of {applying.described(document)}"
        serving = sum(rollouts.available(it) for it in old.values() if it["kind"] in WORKLOADS)
        if serving and not rollouts.available(live) and rollouts.replicas(live):
            return f"no Envoy of {applying.described(document)} has a node"
    return ""


def _removal_order(document: Document) -> int:
    kinds = ("Service", *WORKLOADS, "PodDisruptionBudget", "NetworkPolicy")
    return kinds.index(document["kind"]) if document["kind"] in kinds else len(kinds)


def _refusal(what: str, error: errors.Refused) -> Trouble:
    return Trouble(f"{what}: {error.message}")
