"""An EnvoyConfig in a cluster that is a table of documents, and the replicas that serve it.

Everything that decides is the product's: an instance, what it follows, its reports, what a revision
says as an object, and the next step. The table takes writes as an API server does, and refuses
those of whoever has not seen the newest. Replicas see each kind by itself, perhaps late; a leader
may die between any two writes.
"""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime

from contour.discovery import documents
from contour.discovery.documents import Stored
from contour.discovery.following import Following
from contour.discovery.steps import Create, Remove, Renumber, Step, Tell
from contour.discovery.writing import Revisions
from contour.envoyreports import report
from contour.instance import Instance
from contour.kubernetes.cluster import Collection
from contour.kubernetes.known import ObservedObject
from contour.kubernetes.objects import Objects
from contour.rawconfig import reading
from contour.rawconfig.nodereports import NodeReports
from contour.rawconfig.reading import Reader
from contour.status import merging
from contour.xds.observer import RefusedWhole
from contour.xds.resources import CLUSTER
from contour.xds.server import Server
from crds import decode
from crds.envoyconfig import EnvoyConfig, EnvoyConfigSpec
from crds.envoyconfigrevision import EnvoyConfigRevision
from crds.kinds import KINDS, MARIN3R, Kind
from crds.meta import NamespacedName, ObjectRef
from crds.raw import Raw, at, mapping
from dag import tables
from dag.rawconfig import revisions
from dag.rawconfig.claims import NodeKey
from dag.rawconfig.revisions import Choice
from kube.client import Client
from kube.resources import Resource
from kube.versioncache import Delta, Key
from tests.kube.followed import At

KEY, NODE, UID = NamespacedName("default", "edge"), "edge", "uid-1"
MARK = {"projectcontour.io/owning-configuration-name": "contour"}
CONFIG, REVISION = KINDS[MARIN3R, "EnvoyConfig"], documents.KIND
KINDS_SEEN = (CONFIG, REVISION)
_CREATED = datetime(2026, 1, 1, tzinfo=UTC)


def config(content: str) -> Raw:
    """The EnvoyConfig with this content."""
    value = {"name": "c", "connect_timeout": "1s", "alt_stat_name": content}
    return {
        "apiVersion": "marin3r.3scale.net/v1alpha1",
        "kind": "EnvoyConfig",
        "metadata": {**KEY._asdict(), "uid": UID, "creationTimestamp": _CREATED.isoformat()},
        "spec": {"nodeID": NODE, "resources": [{"type": "cluster", "value": value}]},
    }


def version(content: str) -> str:
    """The version of a content."""
    read = decode.decode(config(content))
    assert isinstance(read, decode.Decoded)
    assert isinstance(read.object, EnvoyConfig)
    return Reader().reading(read.object).version


@dataclass
class Store:
    """The EnvoyConfig and the revisions that the API server has, by name."""

    content: str = ""
    objects: dict[str, Raw] = field(default_factory=dict[str, Raw])
    told: dict[Kind, list[Delta]] = field(default_factory=lambda: {it: [] for it in KINDS_SEEN})
    """What watches say, by kind."""
    clock: int = 0
    _known: dict[str, EnvoyConfigRevision] = field(default_factory=dict[str, EnvoyConfigRevision])

    def __post_init__(self) -> None:
        self.edit(self.content)

    def edit(self, content: str) -> None:
        """A user writes another content."""
        self.content = content
        self._tell(CONFIG, config(content))

    def present(self) -> list[Stored]:
        """The revisions that there are, in their order."""
        found: list[Stored] = []
        for raw in self.objects.values():
            metadata = mapping(raw["metadata"])
            fixed = {it: metadata[it] for it in metadata if it != "resourceVersion"}
            read = self._read(json.dumps({**raw, "metadata": fixed, "status": {}}))
            found.append(
                Stored(
                    read,
                    str(metadata["resourceVersion"]),
                    mapping(raw.get("status")),
                    is_deleted="deletionTimestamp" in metadata,
                    content=reading.unread(read),
                )
            )
        return sorted(found, key=lambda it: (it.sequence, it.key))

    def _read(self, text: str) -> EnvoyConfigRevision:
        if text not in self._known:
            read = decode.decode(json.loads(text))
            assert isinstance(read, decode.Decoded)
            assert isinstance(read.object, EnvoyConfigRevision), read.complaints
            self._known[text] = read.object
        return self._known[text]

    def apply(self, step: Step) -> bool:
        """Takes a write; refuses one of somebody who has not seen the newest."""
        match step:
            case Create(document):
                name = str(at(document, "metadata", "name"))
                if name in self.objects:
                    return False
                metadata = {**mapping(document["metadata"]), "uid": f"revision-{self.clock}"}
                self._put(name, {**document, "metadata": metadata})
            case Renumber(stored, sequence):
                if not self._is_newest(stored):
                    return False
                raw = deepcopy(self.objects[stored.key.name])
                annotations = mapping(at(raw, "metadata", "annotations"))
                annotations[documents.SEQUENCE] = str(sequence)
                self._put(stored.key.name, raw)
            case Tell(stored, status):
                if not self._is_newest(stored):
                    return False
                raw = self.objects[stored.key.name]
                change = merging.difference(mapping(raw.get("status")), status)
                assert change, "a write that changes nothing"
                self._put(stored.key.name, {**raw, "status": status})
            case Remove(stored):
                found = self.objects.get(stored.key.name, {})
                if at(found, "metadata", "uid") == stored.object.metadata.uid:
                    self.remove(stored.key.name)
        return True

    def delete(self, name: str) -> None:
        """A user deletes a revision, which somebody's finalizer keeps."""
        raw = deepcopy(self.objects[name])
        mapping(raw["metadata"])["deletionTimestamp"] = _CREATED.isoformat()
        self._put(name, raw)

    def spoil(self, name: str) -> None:
        """A user edits the content of a revision."""
        text = json.dumps(self.objects[name])
        spoilt = re.sub(r'("alt_stat_name": )"[^"]*"', r'\1"other"', text)
        assert spoilt != text
        self._put(name, json.loads(spoilt))

    def leaving(self) -> list[str]:
        """The names of such revisions."""
        return [it.key.name for it in self.present() if it.is_deleted]

    def remove(self, name: str) -> None:
        """A revision goes."""
        del self.objects[name]
        self.told[REVISION].append(Delta(Key(KEY.namespace, name), None))

    def says(self, condition: str) -> list[str]:
        """The contents of the revisions of which a condition is true."""
        return [_content(it.object.spec) for it in self.present() if it.says(condition)]

    def contents(self) -> list[str]:
        """The contents that there are revisions of, in their order."""
        return [_content(it.object.spec) for it in self.present()]

    def _is_newest(self, stored: Stored) -> bool:
        found = self.objects.get(stored.key.name, {})
        return at(found, "metadata", "resourceVersion") == stored.resource_version

    def _put(self, name: str, raw: Raw) -> None:
        self.objects[name] = self._tell(REVISION, raw)

    def _tell(self, kind: Kind, raw: Raw) -> Raw:
        self.clock += 1
        metadata = {**mapping(raw["metadata"]), "resourceVersion": str(self.clock)}
        raw = {**raw, "metadata": metadata}
        key = Key(str(metadata["namespace"]), str(metadata["name"]))
        self.told[kind].append(Delta(key, raw))
        return raw


def _content(spec: EnvoyConfigSpec) -> str:
    assert spec.resources is not None
    value = spec.resources[0].value or ""
    found = re.search(r'"alt_stat_name":"([^"]*)"', value)
    assert found
    return found[1]


class _Cluster:
    """What one replica has seen."""

    def __init__(self) -> None:
        self.objects = Objects()

    def known(self, ref: ObjectRef) -> ObservedObject | None:
        return self.objects.statuses.known(ref)

    def subjects(self, kinds: frozenset[str]) -> list[ObjectRef]:
        return self.objects.statuses.of(kinds)

    def resource(self, kind: str) -> Resource | None:
        return documents.RESOURCE if kind == REVISION.kind else None

    def state(self) -> Iterator[Collection]:
        return iter(())


class Replica:
    """One that serves the EnvoyConfig, from its start on; made where an event loop runs."""

    def __init__(self, store: Store, name: str = "one") -> None:
        self.store, self.name = store, name
        self.instance = Instance(Server(()))
        controller = self.instance.controller
        controller.envoy_configs.are_stored = True
        controller.engine.write(tables.ROUTING, (), "Single")  # the quickest: no hosts here
        client = Client(At("http://127.0.0.1:1"))  # nobody is asked
        self.following = Following(client, self.instance, MARK, namespaces=(KEY.namespace,))
        self._writing = Revisions(client, self.following, controller, _nothing)
        self._seen = {kind: len(told) for kind, told in store.told.items()}
        self._cluster = _Cluster()
        self._cluster.objects.statuses.hear = self.following.hear
        for kind, told in store.told.items():
            newest = {it.key: it for it in told}
            self._cluster.objects.take(kind, [*newest.values()])
        self.following.begin(self._cluster, self._cluster.objects.batch())

    def look(self, kind: Kind, most: int | None = None) -> None:
        """Sees so much more of what the API server says of a kind; by default, all."""
        told, first = self.store.told[kind], self._seen[kind]
        news = told[first:] if most is None else told[first : first + most]
        self._seen[kind] += len(news)
        self._cluster.objects.take(kind, news)
        batch = self._cluster.objects.batch()
        if not batch.is_empty:
            self.following.take(batch)

    def look_at_all(self) -> None:
        """Sees everything."""
        for kind in KINDS_SEEN:
            self.look(kind)

    @property
    def choice(self) -> Choice:
        found = self.instance.controller.engine.answer(revisions.choice, KEY)
        assert found is not None
        return found

    @property
    def published(self) -> str:
        """The version that is served."""
        assert self.choice.published is not None
        return self.choice.published.version

    @property
    def reports(self) -> NodeReports:
        """What hears its Envoys."""
        return self.instance.node_reports[NodeKey(KEY.namespace, NODE)]

    def hear(self, words: str = "") -> None:
        """An Envoy refuses what is served with these words, or takes it."""
        if words:
            refused = RefusedWhole(self.published, object(), CLUSTER, ("c",), words)
            self.reports.edition_refused(refused)
        else:
            self.reports.edition_taken(self.published)
        self.instance.controller.settle()

    def report(self, to: "Replica") -> None:
        """Tells another one what its Envoys say."""
        to.reports.take(self.name, report.whole(self.reports.own))
        to.instance.controller.settle()

    def write(self, most: int = 1000) -> int:
        """Leads for so many writes; how many there were. Ends at one that is refused."""
        for count in range(most):
            step = self._writing.next_step(KEY)
            if step is None or not self.store.apply(step):
                return count
            self.look(REVISION)
        return most


async def _nothing(_: NamespacedName, __: EnvoyConfig) -> None:
    """There are no certificates here."""
