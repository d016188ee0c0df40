"""EnvoyConfigRevisions: the revisions of an EnvoyConfig as objects. Pure.

Names and labels are those of MARIN3R. Ours also have the labels of the ContourConfiguration, which
mark the objects that we may change. The owner of a revision and its place among the others are
annotations, so that both are there from the first write.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from hashlib import blake2b
from typing import NamedTuple

from crds import decode, shape
from crds.envoyconfig import EnvoyConfig, EnvoyConfigSpec, Resource
from crds.envoyconfigrevision import EnvoyConfigRevision
from crds.kinds import KINDS, MARIN3R
from crds.meta import NamespacedName, ObjectRef
from crds.raw import Raw
from dag.rawconfig.content import Unread
from dag.rawconfig.revisions import Revision
from kube import conditions
from kube.resources import Resource as Collection

KIND = KINDS[MARIN3R, "EnvoyConfigRevision"]
RESOURCE = Collection(KIND.group, KIND.versions[0], KIND.plural)

OWNER = "projectcontour.io/envoy-config"
OWNER_UID = "projectcontour.io/envoy-config-uid"
SEQUENCE = "projectcontour.io/sequence"
"""Annotations: the owner of the revision, and its place, which is greater for a newer revision."""

PUBLISHED, TAINTED, TAKEN = "RevisionPublished", "RevisionTainted", "ResourcesInSync"
_LONGEST_WORDS = 4096
"""Characters of Envoy's message that a status shows."""


class Stored(NamedTuple):
    """An EnvoyConfigRevision as the API server has it."""

    object: EnvoyConfigRevision
    resource_version: str
    status: Raw
    is_deleted: bool
    """Whether it exists only because of finalizers."""
    content: Unread | None
    """None if it is not what its version stands for."""

    @property
    def key(self) -> NamespacedName:
        """Its namespace and name."""
        return self.object.metadata.key

    @property
    def owner(self) -> NamespacedName:
        """The EnvoyConfig to which it belongs."""
        found = self.object.metadata.annotations.get(OWNER, "")
        return NamespacedName(self.object.metadata.namespace, found)

    @property
    def owner_uid(self) -> str:
        """The uid of that EnvoyConfig: a new one of the same name has other revisions."""
        return self.object.metadata.annotations.get(OWNER_UID, "")

    @property
    def sequence(self) -> int:
        """Its place among the revisions; 0 if it cannot be read."""
        return _sequence(self.object)

    @property
    def version(self) -> str:
        """The version of its content."""
        return self.object.spec.version

    def says(self, condition: str) -> bool:
        """Whether a condition of its status is true."""
        return conditions.by_type(self.status).get(condition, {}).get("status") == "True"


def ref(key: NamespacedName) -> ObjectRef:
    """A reference to a revision."""
    return ObjectRef(KIND.kind, *key)


def _sequence(found: EnvoyConfigRevision) -> int:
    text = found.metadata.annotations.get(SEQUENCE, "")
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else 0


def place(found: Revision) -> int:
    """The place of a revision that was read from an object; 0 for others."""
    return _sequence(found.content.revision) if isinstance(found.content, Unread) else 0


def revision(found: Stored) -> Revision | None:
    """The revision for the graph; None if its content does not match its version."""
    if found.content is None:
        return None
    told = conditions.by_type(found.status).get(TAINTED, {})
    is_tainted = found.says(TAINTED) or found.status.get("tainted") is True
    taint = str(told.get("message") or "it is marked as tainted") if is_tainted else ""
    return Revision(found.content, taint, found.says(TAKEN), found.object.metadata.name)


def counting(found: Iterable[Stored], served: str) -> list[Stored]:
    """The objects that count as revisions of an EnvoyConfig.

    A deleted one that a finalizer keeps does not count, unless its version is served: that version
    stays, and its object is made again when the old one is gone.
    """
    return [it for it in found if not it.is_deleted or it.version == served]


def name(node: str, version: str) -> str:
    """The name of a revision of a node ID."""
    return f"{short(node)}-v3-{version}"


def document(
    owner: EnvoyConfig, spec: EnvoyConfigSpec, version: str, sequence: int, mark: Mapping[str, str]
) -> Raw:
    """A new revision as an object."""
    of = owner.metadata
    kind = KINDS[MARIN3R, "EnvoyConfig"]
    labels: dict[str, str] = {
        **mark,
        f"{MARIN3R}/node-id": label(spec.node_id),
        f"{MARIN3R}/config-version": version,
        f"{MARIN3R}/envoy-api": "v3",
    }
    return {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {
            "name": name(spec.node_id, version),
            "namespace": of.namespace,
            "labels": labels,
            "annotations": {OWNER: of.name, OWNER_UID: of.uid, SEQUENCE: str(sequence)},
            "ownerReferences": [
                {
                    "apiVersion": kind.api_version,
                    "kind": kind.kind,
                    "name": of.name,
                    "uid": of.uid,
                    "controller": True,
                }
            ],
        },
        "spec": {**_plain_object(spec), "version": version},
    }


def unseen(
    owner: EnvoyConfig, version: str, sequence: int, mark: Mapping[str, str]
) -> EnvoyConfigRevision:
    """The revision of an EnvoyConfig as it is written now, for which no object has been seen."""
    read = decode.decode(document(owner, owner.spec, version, sequence, mark))
    assert isinstance(read, decode.Decoded)
    assert isinstance(read.object, EnvoyConfigRevision)
    return read.object


def status(found: Stored, wanted: Revision, provides: Mapping[str, str] | None, now: str) -> Raw:
    """The status that it should have; `provides` are the versions by type if it is published."""
    told = [_published(is_so=provides is not None)]
    if wanted.taint or TAINTED in conditions.by_type(found.status):
        told.append(_condition(TAINTED, bool(wanted.taint), "ResourcesFailing", wanted.taint))
    if wanted.is_taken:
        text = "an Envoy has accepted all that it asked for"
        told.append(_condition(TAKEN, True, "ResourcesSynced", text))
    before = conditions.by_type(found.status)
    ours = {
        name: conditions.stamped(it, before.get(name, {}), now)
        for it in told
        if (name := str(it["type"]))
    }
    result: Raw = {
        **found.status,
        "published": provides is not None,
        "tainted": bool(wanted.taint),
        "conditions": list((before | ours).values()),
    }
    result.pop("providesVersions", None)
    if provides is not None:
        result["providesVersions"] = {**provides}
        if not found.says(PUBLISHED):
            result["lastPublishedAt"] = now
    return result


def _published(*, is_so: bool) -> Raw:
    if is_so:
        return _condition(PUBLISHED, True, "VersionPublished", "this version is served")
    return _condition(PUBLISHED, False, "VersionNotPublished", "another version is served")


def _condition(type_: str, is_so: bool, reason: str, text: str) -> Raw:
    status = "True" if is_so else "False"
    return {"type": type_, "status": status, "reason": reason, "message": text[:_LONGEST_WORDS]}


_IN_NAMES = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_IN_LABELS = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def _short(node: str, allowed: re.Pattern[str]) -> str:
    """The node ID itself, or a hash of it if it has characters that are not allowed."""
    return node if allowed.fullmatch(node) else blake2b(node.encode(), digest_size=10).hexdigest()


def label(node: str) -> str:
    """The node ID as the value of a label."""
    return _short(node, _IN_LABELS)


def short(node: str) -> str:
    """The node ID as a part of a name."""
    return _short(node, _IN_NAMES)


def _plain_object(found: object) -> Raw:
    """A model as a document, without what is not set."""
    of: type = type(found)
    fields = shape.fields(of)
    values = {wire: (it, getattr(found, it.name)) for wire, it in fields.items()}
    return {
        wire: json.loads(value) if _is_json(found, wire) else _plain(value)
        for wire, (it, value) in values.items()
        if value is not None and (value != it.default or wire == "resources")
    }


def _is_json(holder: object, wire: str) -> bool:
    """Models keep the value of a resource as canonical JSON."""
    return isinstance(holder, Resource) and wire == "value"


def _plain(value: object) -> object:
    if is_dataclass(value):
        return _plain_object(value)
    if (items := shape.items(value)) is not None:
        return [_plain(it) for it in items]
    return value
