"""Create, replace, patch, apply and delete: the effect of each on an object in the store.

The rules are the API server's conventions (`metadata`: uid, generation, resourceVersion; spec and
status are written separately; a write that changes nothing has no effect). There are no schemas and
no admission.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

from tests.cluster.double import ownership, resources
from tests.cluster.double.refusals import (
    RefusalError,
    already_exists,
    conflict,
    invalid,
    not_found,
)
from tests.cluster.double.resources import Resource
from tests.cluster.double.store import Place, Store

Raw = dict[str, Any]

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
JSON = "application/json-patch+json"


class Author(NamedTuple):
    """The author of a write."""

    manager: str
    force: bool = False


class Target(NamedTuple):
    """The target of a write."""

    resource: Resource
    place: Place
    subresource: str = ""

    @property
    def is_status(self) -> bool:
        """Whether only the status is written."""
        return self.subresource == "status"


def create(store: Store, resource: Resource, namespace: str, body: Raw, author: Author) -> Raw:
    """Adds an object."""
    if (body.get("metadata") or {}).get("resourceVersion"):
        raise RefusalError(500, "resourceVersion should not be set on objects to be created")
    obj = _born(store, resource, namespace, body)
    if resource.has_status:
        obj.pop("status", None)
    return store.put(resource.name, ownership.updated({"metadata": {}}, obj, author.manager, ""))


def replace(store: Store, target: Target, body: Raw, author: Author) -> Raw:
    """Replaces an object."""
    before = existing(store, target)
    _demand_version(target, body)
    _demand_fresh(target, before, body)
    after = ownership.updated(
        before, _merged(target, before, body), author.manager, target.subresource
    )
    return _written(store, target, before, after)


def patch(store: Store, target: Target, body: Any, media: str, author: Author) -> Raw:
    """Patches an object."""
    if media == APPLY:
        return _apply(store, target, body, author)
    before = existing(store, target)
    if media == MERGE:
        after = merged(before, body)
    elif media == JSON:
        after = _edited(before, body)
    else:
        raise RefusalError(415, f"the double does not speak {media}")
    return replace(store, target, after, author)


def delete(store: Store, target: Target, preconditions: Mapping[str, str]) -> Raw:
    """Removes an object, or marks it while finalizers hold it."""
    before = existing(store, target)
    metadata = before["metadata"]
    for name, wanted in preconditions.items():
        if metadata[name] != wanted:
            raise _conflict(target, f"Precondition failed: {name} is {metadata[name]}")
    if not metadata.get("finalizers"):
        return store.remove(target.resource.name, target.place)
    if "deletionTimestamp" in metadata:
        return before
    marks: Raw = {"deletionTimestamp": now(), "deletionGracePeriodSeconds": 0}
    if "generation" in metadata:
        marks["generation"] = metadata["generation"] + 1
    return store.put(target.resource.name, before | {"metadata": metadata | marks})


def existing(store: Store, target: Target) -> Raw:
    """The object; a refusal (404) if there is none."""
    found = store.get(target.resource.name, target.place)
    if found is None:
        raise not_found(target.resource.plural, target.resource.group, target.place[1])
    return found


def merged(old: Any, change: Any) -> Any:
    """RFC 7386."""
    if not isinstance(change, dict):
        return change
    found = dict(old) if isinstance(old, dict) else {}
    for name, wish in change.items():
        if wish is None:
            found.pop(name, None)
        else:
            found[name] = merged(found.get(name), wish)
    return found


def now() -> str:
    """The current time, as in metadata."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _born(store: Store, resource: Resource, namespace: str, body: Raw) -> Raw:
    """A new object, with the metadata that the server sets."""
    if namespace and store.get(resources.NAMESPACES, ("", namespace)) is None:
        raise not_found("namespaces", "", namespace)
    metadata = dict(body.get("metadata") or {})
    metadata.setdefault("name", f"{metadata.get('generateName', '')}{uuid4().hex[:5]}")
    if namespace:
        metadata["namespace"] = namespace
    if store.get(resource.name, (namespace, metadata["name"])) is not None:
        raise already_exists(resource.plural, resource.group, metadata["name"])
    metadata |= {"uid": str(uuid4()), "creationTimestamp": now()}
    if _counts_generations(resource):
        metadata["generation"] = 1
    of = {"apiVersion": resource.api_version(resource.versions[0]), "kind": resource.kind}
    return of | body | {"metadata": metadata}


def _apply(store: Store, target: Target, body: Raw, author: Author) -> Raw:
    if not author.manager:
        raise invalid("PatchOptions", "meta.k8s.io", "", "fieldManager: Required value: is required"
                      " for apply patch")  # fmt: skip
    if target.subresource:
        existing(store, target)
    if not (body.get("metadata") or {}).get("name"):
        raise RefusalError(400, "the name of the object was undeterminable: name must be provided")
    if target.subresource or store.get(target.resource.name, target.place) is not None:
        before = existing(store, target)
        return _written(store, target, before, _applied(target, before, body, author))
    namespace, name = target.place
    bare = {it: body[it] for it in ("apiVersion", "kind")} | {"metadata": {"name": name}}
    born = _born(store, target.resource, namespace, bare)
    return store.put(target.resource.name, _applied(target, born, body, author))


def _applied(target: Target, before: Raw, body: Raw, author: Author) -> Raw:
    _demand_fresh(target, before, body)
    if target.is_status:
        body = {it: body[it] for it in ("apiVersion", "kind", "metadata", "status") if it in body}
        body["metadata"] = {}
    elif target.resource.has_status:
        body = {name: content for name, content in body.items() if name != "status"}
    return ownership.applied(before, body, author.manager, target.subresource, author.force)


_LIVES_ON = ("name", "namespace", "uid", "creationTimestamp", "generation", "deletionTimestamp")


def _merged(target: Target, before: Raw, body: Raw) -> Raw:
    """The object after a PUT: either the status or all else changes, and never the server's
    metadata."""
    if target.is_status:
        return before | ({"status": body["status"]} if "status" in body else {})
    metadata = dict(body.get("metadata") or {})
    metadata |= {it: before["metadata"][it] for it in _LIVES_ON if it in before["metadata"]}
    metadata["resourceVersion"] = before["metadata"]["resourceVersion"]
    after = body | {"metadata": metadata}
    if target.resource.has_status:
        after.pop("status", None)
        after |= {"status": before["status"]} if "status" in before else {}
    return after


def _written(store: Store, target: Target, before: Raw, after: Raw) -> Raw:
    if store.unknown & after.get("status", {}).keys():
        kept = {it: value for it, value in after["status"].items() if it not in store.unknown}
        after = after | {"status": kept}
    if after == before:
        return before
    metadata = after["metadata"]
    if _counts_generations(target.resource) and _spec(before) != _spec(after):
        metadata = metadata | {"generation": before["metadata"]["generation"] + 1}
    if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
        return store.remove(target.resource.name, target.place)
    return store.put(target.resource.name, after | {"metadata": metadata})


def _spec(obj: Raw) -> Raw:
    return {name: it for name, it in obj.items() if name not in {"metadata", "status"}}


def _counts_generations(resource: Resource) -> bool:
    return resource.custom or resource.plural in {"ingresses", "deployments", "daemonsets"}


_NEVER_UNCONDITIONALLY = {"leases"}  # of the built-in resources; nor any custom resource


def _demand_version(target: Target, body: Raw) -> None:
    resource, name = target.resource, target.place[1]
    if body["metadata"].get("name", name) != name:
        raise RefusalError(400, "the name of the object does not match the name on the URL")
    needed = resource.custom or resource.plural in _NEVER_UNCONDITIONALLY
    if needed and not body["metadata"].get("resourceVersion"):
        why = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
        raise invalid(resource.plural, resource.group, name, why)


def _demand_fresh(target: Target, before: Raw, body: Raw) -> None:
    metadata = body.get("metadata") or {}
    if "uid" in metadata and metadata["uid"] != before["metadata"]["uid"]:
        raise _conflict(target, "Precondition failed: UID in precondition differs")
    version = metadata.get("resourceVersion")
    if version and version != before["metadata"]["resourceVersion"]:
        raise _conflict(target, "the object has been modified; please apply your changes to the"
                        " latest version and try again")  # fmt: skip


def _conflict(target: Target, why: str) -> RefusalError:
    return conflict(target.resource.plural, target.resource.group, target.place[1], why)


def _edited(old: Raw, operations: list[Raw]) -> Raw:
    """RFC 6902, without move and copy."""
    found: Raw = {"": _deep(old)}
    for operation in operations:
        *above, last = [it.replace("~1", "/").replace("~0", "~")
                        for it in operation["path"].split("/")]  # fmt: skip
        inside: Any = found
        for step in above:
            inside = inside[int(step)] if isinstance(inside, list) else inside[step]
        _edit(inside, last, operation)
    edited: Raw = found[""]
    return edited


def _edit(inside: Any, step: str, operation: Raw) -> None:
    wish = operation.get("value")
    here: Any = step
    if isinstance(inside, list):
        here = len(inside) if step == "-" else int(step)
    match operation["op"]:
        case "add" if isinstance(inside, list):
            inside.insert(here, wish)
        case "add" | "replace":
            inside[here] = wish
        case "remove":
            del inside[here]
        case "test":
            if inside[here] != wish:
                raise RefusalError(422, f"testing value {operation['path']} failed")
        case other:
            raise RefusalError(400, f"the double does not speak {other}")


def _deep(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _deep(it) for name, it in content.items()}
    return [_deep(it) for it in content] if isinstance(content, list) else content
