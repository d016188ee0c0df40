"""Lists, whole or in pages that all show the same resourceVersion."""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from tests.cluster.double import selectors
from tests.cluster.double.refusals import RefusalError, expired
from tests.cluster.double.resources import Resource
from tests.cluster.double.store import Place, Store

Raw = dict[str, Any]
Render = Callable[[Raw], Raw]


class Collection(NamedTuple):
    """The collection that is listed: a resource in one version, in one namespace or in all."""

    resource: Resource
    version: str
    namespace: str


class _Start(NamedTuple):
    version: int
    after: Place


def listed(store: Store, what: Collection, query: Mapping[str, str], render: Render) -> Raw:
    """The list as the API server answers it; 410 if a page comes too late."""
    start = _start(store, query)
    is_selected = selectors.selector(query)
    found = [
        (place, obj)
        for place, obj in store.all(what.resource.name, start.version)
        if place > start.after
        and what.namespace in {"", place[0]}
        and is_selected(obj)
    ]  # fmt: skip
    limit = int(query.get("limit") or 0) if query.get("resourceVersion") != "0" else 0
    page = found[:limit] if limit else found
    metadata: Raw = {"resourceVersion": str(start.version)}
    if len(page) < len(found):
        metadata["continue"] = _token(start.version, page[-1][0])
        if not query.get("labelSelector") and not query.get("fieldSelector"):
            metadata["remainingItemCount"] = len(found) - len(page)
    return {
        "kind": f"{what.resource.kind}List",
        "apiVersion": what.resource.api_version(what.version),
        "metadata": metadata,
        "items": [render(obj) for _, obj in page],
    }


def _start(store: Store, query: Mapping[str, str]) -> _Start:
    if token := query.get("continue"):
        version, after = _read(token)
        if version < store.compacted:
            refusal = expired(
                "The provided continue parameter is too old to display a consistent list result."
            )
            refusal.status["metadata"]["continue"] = _token(store.version, after)
            raise refusal
        return _Start(version, after)
    wanted = int(query.get("resourceVersion") or 0)
    if wanted > store.version:
        message = f"Too large resource version: {wanted}, current: {store.version}"
        raise RefusalError(504, message)
    if query.get("resourceVersionMatch") == "Exact":
        store.demand_history(wanted)
        return _Start(wanted, ("", ""))
    return _Start(store.version, ("", ""))


def _token(version: int, after: Place) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([version, *after])).decode()


def _read(token: str) -> tuple[int, Place]:
    try:
        version, namespace, name = orjson.loads(base64.urlsafe_b64decode(token))
    except (ValueError, binascii.Error):
        raise RefusalError(400, "continue key is not valid") from None
    return version, (namespace, name)
