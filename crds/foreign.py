"""Kinds of objects that extensions bring: read as they are written, since nobody here knows them.

Their identity is checked, and what they hold is passed on as JSON. In references among all kinds
they are called as kubectl calls them, `Kind.group`: another group may have a kind of that name.
"""

from collections.abc import Iterable, Iterator

import orjson

from crds import decode, screening
from crds.complaints import UNICODE, Complaint
from crds.kinds import KINDS, Kind
from crds.raw import Raw, is_mapping

_NATIVE = frozenset({"", *(group for group, _ in KINDS)})
_OF_KUBERNETES = (".k8s.io", ".kubernetes.io")
_UNVERSIONED = frozenset({"apps", "autoscaling", "batch", "extensions", "policy"})
"""Groups of Kubernetes without a domain."""
_NEVER = frozenset({"apiVersion", "kind", "status"})
_NEVER_OF_METADATA = frozenset({"managedFields", "resourceVersion"})


def is_native(group: str) -> bool:
    """Whether a group belongs to Kubernetes, the Gateway API or us, and to no extension."""
    return group in _NATIVE or group in _UNVERSIONED or f".{group}".endswith(_OF_KUBERNETES)


def kind(group: str, version: str, name: str) -> Kind:
    """A kind that an extension brings. Its plural is known to the API server alone."""
    return Kind(group, f"{name}.{group}", "", (version,), True, bytes)


def is_foreign(found: Kind) -> bool:
    """Whether a kind is one that an extension brings."""
    return found.model is bytes


def name(of: Kind) -> str:
    """The name of such a kind within its group."""
    return of.kind.removesuffix(f".{of.group}")


def content(of: Kind, raw: Raw) -> Raw:
    """An object as extensions get it: without `status` and what only the API server writes."""
    found: Raw = {"apiVersion": of.api_version, "kind": name(of)}
    found |= {it: value for it, value in raw.items() if it not in _NEVER}
    if is_mapping(metadata := raw.get("metadata")):
        kept = {it: value for it, value in metadata.items() if it not in _NEVER_OF_METADATA}
        found["metadata"] = kept
    return found


def decoded(of: Kind, raw: Raw) -> decode.Decoded:
    """An object and what is wrong with it; its JSON has sorted fields."""
    found = content(of, raw)
    if screening.screened(found).is_too_large:
        return decode.Decoded(of, decode.identity(of, found), None, (decode.TOO_LARGE,))
    key = decode.identity(of, found)
    wrong = tuple(_wrong(of, found))
    if wrong:
        return decode.Decoded(of, key, None, wrong)
    try:
        return decode.Decoded(of, key, orjson.dumps(found, option=orjson.OPT_SORT_KEYS), ())
    except TypeError as error:
        told = Complaint((), f"cannot be written as JSON: {error}")
        return decode.Decoded(of, key, None, (told,))


def _wrong(of: Kind, found: Raw) -> Iterator[Complaint]:
    metadata = found.get("metadata")
    if not is_mapping(metadata) or not isinstance(metadata.get("name"), str):
        yield Complaint(("metadata", "name"), "is required and must be text")
        return
    yield from decode.name_complaints(of, found)
    yield from _bad_texts(found)


def _bad_texts(found: Raw) -> Iterable[Complaint]:
    if screening.screened(found).has_bad_text:
        yield from (Complaint(it, UNICODE) for it in screening.bad_texts(found))
