"""What of our fleets is in the cluster, as the API server has told of it last.

For noticing at once what was removed or edited, and for knowing what there is that should not be.
One reflector for each kind and namespace, for objects with the instance's mark only. Digests leave
out what changes all the time and is not ours: status, versions, and who manages which field.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import orjson

from contour.infrastructure import desired
from contour.infrastructure.desired import Key
from kube import ledger
from kube.client import Client
from kube.discovery import Discovery, Wanted
from kube.reflector import Collection, Reflector
from provisioning import applying, ownership
from provisioning.ownership import Mark
from provisioning.templating import Document

log = logging.getLogger(__name__)

KINDS = (
    "ServiceAccount",
    "Service",
    "DaemonSet",
    "Deployment",
    "PodDisruptionBudget",
    "NetworkPolicy",
)
"""What every fleet is made of."""

OUTER = ("TCPRoute", "Gateway", "GatewayClass")
"""What somebody else's Gateway in front of the shared one is, in the order in which it goes."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Where the objects of fleets may be."""

    namespaces: tuple[str, ...]
    """Empty string: in all of them."""
    with_secrets: bool = False
    """Gateways' fleets have a certificate of their own each."""

    home: str = ""
    """Where somebody else's Gateway may be in front of the shared fleet; empty: nowhere."""
    with_classes: bool = False
    """Such a Gateway may have a class of ours."""

    @property
    def places(self) -> Iterator[tuple[str, str]]:
        """The kinds of these objects, each with its namespaces."""
        kinds = (*KINDS, "Secret") if self.with_secrets else KINDS
        yield from product(kinds, self.namespaces)
        if self.home:
            yield from (("Gateway", self.home), ("TCPRoute", self.home))
        if self.with_classes:
            yield "GatewayClass", ""


class Children:
    """Follows all of them, in `run`."""

    def __init__(
        self, client: Client, mark: Mark, reach: Reach, notice: Callable[[Key], None]
    ) -> None:
        self._notice = notice
        self._seen: dict[Key, dict[str, Document]] = {}
        self._where: dict[str, Key] = {}
        self._digests: dict[str, str] = {}
        discovery = Discovery(client)
        self._reflectors = [
            Reflector(client, discovery, collection, _Intake(self, kind))
            for kind, collection in _collections(mark, reach)
        ]

    async def run(self) -> None:
        """Never ends."""
        async with asyncio.TaskGroup() as group:
            for it in self._reflectors:
                group.create_task(it.run())

    async def settled(self) -> None:
        """Returns when all that is there is known."""
        for it in self._reflectors:
            await it.settled.wait()

    def __iter__(self) -> Iterator[Key]:
        """The fleets of which there is something."""
        return iter(tuple(self._seen))

    def of(self, key: Key) -> Mapping[str, Document]:
        """The objects of a fleet, by path."""
        return self._seen.get(key, {})

    def digest(self, path: str) -> str:
        """Of the object at a path; empty if there is none."""
        return self._digests.get(path, "")

    def take(self, path: str, found: Document | None) -> None:
        """It is so now."""
        before = self._where.pop(path, None)
        self._digests.pop(path, None)
        if before is not None:
            self._seen[before].pop(path, None)
            if not self._seen[before]:
                del self._seen[before]
        now = None
        if found is not None:
            now = self._where[path] = desired.key_of(found)
            self._seen.setdefault(now, {})[path] = found
            self._digests[path] = digest(found)
        for it in {before, now} - {None}:
            if it is not None:
                self._notice(it)


def digest(found: Document) -> str:
    """Equal for an object that is as it was, whatever became of it meanwhile."""
    metadata = {
        key: it
        for key, it in found["metadata"].items()
        if key not in {"resourceVersion", "managedFields", "generation", "creationTimestamp"}
    }
    metadata["annotations"] = {
        key: it
        for key, it in (metadata.get("annotations") or {}).items()
        if not key.startswith(("deployment.kubernetes.io/", "deprecated.daemonset."))
    }
    rest = {key: it for key, it in found.items() if key not in {*_TYPE, "metadata", "status"}}
    packed = orjson.dumps([metadata, rest], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(packed).hexdigest()


_TYPE = ("apiVersion", "kind")  # the elements of a list do not have them


class _Intake:
    def __init__(self, children: Children, kind: str) -> None:
        self._children = children
        self._kind = kind

    def take(self, news: Sequence[ledger.Sighting]) -> None:
        resource = applying.RESOURCES[self._kind]
        for key, found in news:
            child = None if found is None else _excerpt(found) | {"kind": self._kind}
            self._children.take(resource.path(*key), child)

    def trouble(self, message: str) -> None:
        if message:
            log.warning("cannot watch the %s objects of managed fleets: %s", self._kind, message)
        else:
            log.info("watching the %s objects of managed fleets again", self._kind)


def _excerpt(found: Document) -> Document:
    metadata = {key: it for key, it in found["metadata"].items() if key != "managedFields"}
    return found | {"metadata": metadata}


def _collections(mark: Mark, reach: Reach) -> Iterable[tuple[str, Collection]]:
    params = {"labelSelector": ownership.selector(mark.labels)}
    for kind, namespace in reach.places:
        group, version, plural, namespaced = applying.RESOURCES[kind]
        wanted = Wanted(group, (version,), plural, namespaced)
        yield kind, Collection(wanted, namespace, params)
