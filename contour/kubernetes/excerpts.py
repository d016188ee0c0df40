"""The parts of objects that matter to us, so that changes of the rest cost little.

They are compared before an object is decoded: an object whose excerpt is unchanged is ignored.
Statuses, versions and managed fields never matter; of Secrets and ConfigMaps, only few entries do
(`entries`).
"""

import json
from hashlib import blake2b

import orjson

from contour.kubernetes import entries
from crds import foreign
from crds.kinds import Kind
from crds.raw import Raw, is_mapping


def excerpt(kind: Kind, raw: Raw, wanted: frozenset[str] = entries.NONE) -> Raw:
    """The part of an object that is decoded, with its kind, which objects in lists lack.

    Of an opaque Secret the values of wanted keys are kept as well.
    """
    if raw.get("type", _OPAQUE) != _OPAQUE:
        wanted = entries.NONE
    if foreign.is_foreign(kind):
        return foreign.content(kind, raw)
    named = {"apiVersion": kind.api_version, "kind": kind.kind}
    never = _NEVER | _NEVER_OF.get(kind.kind, frozenset())
    found = named | {name: value for name, value in raw.items() if name not in never}
    metadata = raw.get("metadata")
    if is_mapping(metadata):
        found["metadata"] = _metadata(kind, metadata)
    if (kept := _ENTRIES.get(kind.kind)) is not None:
        for name in ("data", "binaryData"):
            if is_mapping(content := found.get(name)):
                found[name] = kept(content, wanted)
    return found


def digest(packed: bytes) -> bytes:
    """A digest, which is equal for equal excerpts."""
    return blake2b(packed, digest_size=16).digest()


def packed(found: Raw) -> bytes:
    """An excerpt as JSON; empty if it cannot be written."""
    try:
        return orjson.dumps(found)
    except TypeError:  # lone surrogates from broken text, or too many levels
        pass
    try:
        return json.dumps(found).encode()
    except RecursionError:  # it will be refused, whatever it contains
        return b""


def _metadata(kind: Kind, metadata: Raw) -> Raw:
    found = {name: metadata[name] for name in _OF_METADATA if name in metadata}
    if kind.kind in _WITHOUT_ANNOTATIONS:
        found.pop("annotations", None)
    elif is_mapping(annotations := found.get("annotations")):
        found["annotations"] = {
            name: value for name, value in annotations.items() if name != _LAST_APPLIED
        }
    if kind.kind in _ENTRIES:
        labels = found.pop("labels", None)
        kept = {it: labels[it] for it in _OF_LABELS if it in labels} if is_mapping(labels) else {}
        if kept:
            found["labels"] = kept
    return found


_OPAQUE = "Opaque"
_NEVER = frozenset({"apiVersion", "kind", "status"})
_NEVER_OF = {"CustomResourceDefinition": frozenset({"spec"})}
_OF_METADATA = (
    "name",
    "namespace",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "labels",
    "annotations",
)
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"  # the whole object once more
_OF_LABELS = ("app.kubernetes.io/part-of",)  # by which our own Secrets are known
_ENTRIES = {"Secret": entries.of_secret, "ConfigMap": entries.of_config_map}
# No rule reads their annotations, in which controllers write the time of every change.
_WITHOUT_ANNOTATIONS = frozenset({"EndpointSlice", "Secret", "ConfigMap", "Namespace"})
