"""Guesses which object a document was meant to be, if it cannot be read.

It is good enough to name the broken object in a complaint, and to know that this object has not
been deleted. The store trusts a guess only if it names an object that the file is known to have
contained.
"""

import difflib
import re
from typing import Any

from crds import decode, kinds, meta

_TOP = rb"^%s:[ \t]*[\"']?([\w./-]+)"
_KIND = re.compile(_TOP % b"kind", re.MULTILINE)
_API_VERSION = re.compile(_TOP % b"apiVersion", re.MULTILINE)
_METADATA = re.compile(
    rb"^metadata:[^\S\n]*(?:#.*)?\r?\n((?:[ \t]+.*\n?|[ \t]*\r?\n)*)", re.MULTILINE
)
_FIELD = rb"^%s%s:[ \t]*[\"']?([a-z0-9.-]+)"


def subject(raw: bytes) -> meta.ObjectRef | None:
    """The object whose kind and name are in their usual places; None if one of them is not."""
    kind = _kind(raw)
    metadata = _METADATA.search(raw)
    if kind is None or metadata is None:
        return None
    name = _field(metadata[1], b"name")
    if not name:
        return None
    namespace = (_field(metadata[1], b"namespace") or "default") if kind.namespaced else ""
    return meta.ObjectRef(kind.kind, namespace, name)


def misspelt(unknown: decode.UnknownKind, value: Any) -> meta.ObjectRef | None:
    """The object of a document whose kind is almost one that is read, of the same group."""
    group = unknown.group_version.rpartition("/")[0]
    known = {kind.lower(): kind for of, kind in kinds.KINDS if of == group}
    near = difflib.get_close_matches(unknown.kind.lower()[:64], known, n=1, cutoff=0.88)
    if not near:
        return None
    meant = decode.decode(value | {"kind": known[near[0]]})
    if not isinstance(meant, decode.Decoded) or not meant.key.name:
        return None
    return meta.ObjectRef(meant.kind.kind, *meant.key)


def same_kind(unknown: decode.UnknownKind) -> str:
    """`; Ingress is read of networking.k8s.io/v1` for a kind of another group that has the name of
    one that is read; empty for others."""
    found = (it for it in kinds.KINDS.values() if it.kind == unknown.kind)
    read = sorted("/".join(filter(None, (it.group, it.versions[0]))) for it in found)
    return f"; {unknown.kind} is read of {' and '.join(read)}" if read else ""


def _kind(raw: bytes) -> kinds.Kind | None:
    name, version = _KIND.search(raw), _API_VERSION.search(raw)
    if name is None or version is None:
        return None
    return kinds.KINDS.get(
        (version[1].decode(errors="replace").rpartition("/")[0], name[1].decode(errors="replace"))
    )


def _field(block: bytes, field: bytes) -> str:
    """Of the fields directly inside the block: those as deep as its first line."""
    indent = re.match(rb"(?:[ \t]*\r?\n)*([ \t]+)", block)
    if indent is None:
        return ""
    found = re.search(_FIELD % (re.escape(indent[1]), field), block, re.MULTILINE)
    return found[1].decode() if found else ""
