"""An EnvoyConfig in a cluster that is a table of documents, and the process that serves it.

Everything that decides is the product's: the graph, the witness, what a revision says as an object
and the next step. The table takes writes as an API server does; a leader may die between any two.
"""

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from contour.controller import Controller
from contour.discovery import documents, steps
from contour.discovery.documents import Stored
from contour.discovery.steps import Create, Remove, Renumber, Step, Tell, Wanted
from contour.events import Batch, Event
from contour.rawconfig import reading
from contour.rawconfig.reading import Reader
from contour.rawconfig.witness import Witness
from contour.status import merging
from contour.xds.fleet import Fleet
from contour.xds.observer import RefusedWhole
from contour.xds.resources import CLUSTER
from contour.xds.whole import Edition
from crds import decode
from crds.envoyconfig import EnvoyConfig, EnvoyConfigSpec
from crds.envoyconfigrevision import EnvoyConfigRevision
from crds.kinds import KINDS, MARIN3R
from crds.meta import NamespacedName
from crds.raw import Raw, at, mapping
from dag import tables
from dag.rawconfig import revisions
from dag.rawconfig.claims import NodeKey
from dag.rawconfig.revisions import Choice

KEY, NODE, UID = NamespacedName("default", "edge"), "edge", "uid-1"
MARK = {"projectcontour.io/owning-configuration-name": "contour"}
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


@dataclass
class Store:
    """The revisions that the API server has, by name, and the EnvoyConfig."""

    content: str = ""
    objects: dict[str, Raw] = field(default_factory=dict)
    leaving: set[str] = field(default_factory=set)
    """The names of those that are deleted, and kept by somebody's finalizer."""
    clock: int = 0
    _known: dict[str, EnvoyConfigRevision] = field(default_factory=dict)

    def present(self) -> list[Stored]:
        """As a replica sees them."""
        found: list[Stored] = []
        for raw in self.objects.values():
            read = self._read(json.dumps({key: it for key, it in raw.items() if key != "status"}))
            found.append(
                Stored(
                    read,
                    "1",
                    mapping(raw.get("status")),
                    is_deleted=read.metadata.name in self.leaving,
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

    def apply(self, step: Step) -> None:
        """Takes a write."""
        self.clock += 1
        match step:
            case Create(document):
                metadata = {**mapping(document["metadata"]), "uid": f"revision-{self.clock}"}
                name = str(metadata["name"])
                assert name not in self.objects, "it is there already"
                self.objects[name] = {**document, "metadata": metadata}
            case Renumber(stored, sequence):
                annotations = at(self.objects[stored.key.name], "metadata", "annotations")
                mapping(annotations)[documents.SEQUENCE] = str(sequence)
            case Tell(stored, status):
                raw = self.objects[stored.key.name]
                change = merging.difference(mapping(raw.get("status")), status)
                assert change, "a write that changes nothing"
                raw["status"] = status
            case Remove(stored):
                del self.objects[stored.key.name]

    def now(self) -> str:
        """Another time for each write."""
        return f"{_CREATED + timedelta(seconds=self.clock):%Y-%m-%dT%H:%M:%SZ}"

    def says(self, condition: str) -> list[str]:
        """The contents of the revisions of which a condition is true."""
        return [_content(it.object.spec) for it in self.present() if it.says(condition)]

    def contents(self) -> list[str]:
        """The contents that there are revisions of, in their order."""
        return [_content(it.object.spec) for it in self.present()]


def _content(spec: EnvoyConfigSpec) -> str:
    assert spec.resources is not None
    value = spec.resources[0].value or ""
    found = re.search(r'"alt_stat_name":"([^"]*)"', value)
    assert found
    return found[1]


class Process:
    """A replica that serves the EnvoyConfig, from the start on."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.controller = Controller(lambda _, changes: None)
        self.controller.envoy_configs.are_stored = True
        self.controller.engine.write(tables.ROUTING, (), "Single")  # the quickest: no hosts here
        fleet = Fleet(NODE, edition=Edition())
        self.witness = Witness(NodeKey(KEY.namespace, NODE), fleet, self.controller.engine, _later)
        self.edition = 0
        self.look()

    def look(self) -> None:
        """Sees what the API server has, and settles."""
        choice = self.controller.engine.answer(revisions.choice, KEY)
        served = choice.published.version if choice and choice.published else ""
        present = documents.counting(self.store.present(), served)
        found = [it for it in map(documents.revision, present) if it is not None]
        self.controller.engine.write(revisions.HISTORY, KEY, tuple(found) or None)
        read = decode.decode(config(self.store.content))
        assert isinstance(read, decode.Decoded)
        kind = KINDS[MARIN3R, "EnvoyConfig"]
        self.controller.take(Batch((Event(kind, KEY, read.object),), {}, ()))

    @property
    def choice(self) -> Choice:
        found = self.controller.engine.answer(revisions.choice, KEY)
        assert found is not None
        return found

    @property
    def published(self) -> str:
        """The version that is served."""
        assert self.choice.published is not None
        return self.choice.published.version

    def version(self, content: str) -> str:
        """The version of a content."""
        read = decode.decode(config(content))
        assert isinstance(read, decode.Decoded)
        assert isinstance(read.object, EnvoyConfig)
        return Reader().reading(read.object).version

    def hear(self, version: str, words: str = "") -> None:
        """An Envoy refuses a version with these words, or takes it."""
        if words:
            refused = RefusedWhole(version, object(), CLUSTER, ("c",), words)
            self.witness.edition_refused(refused)
        else:
            self.witness.edition_taken(version)
        self.controller.settle()

    def next(self) -> Step | None:
        """What a leader is to write next."""
        owner = self.controller.engine.row(tables.ENVOY_CONFIGS, KEY)
        assert owner is not None
        choice = self.choice
        wanted = Wanted(owner, choice.revisions, self.published, {"clusters": "1"}, MARK)
        return steps.following(wanted, self.store.present(), self.store.now())

    def write(self, most: int = 1000) -> int:
        """Leads for so many writes; how many there were."""
        for count in range(most):
            step = self.next()
            if step is None:
                return count
            self.store.apply(step)
            self.look()
        return most


def _later() -> None:
    """The tests settle themselves."""
