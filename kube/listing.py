"""One page of a list, as an API server gives it (Kubernetes API concepts, "Retrieving large results
sets in chunks").

For `kube.reflector`, which knows what to do with pages and with a list that expires between two.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from kube import errors
from kube.client import Client


class Page(NamedTuple):
    """Some objects of a collection."""

    items: list[Any]
    version: str
    """The resourceVersion of the list."""
    token: str
    """Where the next page begins; empty after the last."""


class Wish(NamedTuple):
    """A list that is asked for."""

    path: str
    params: Mapping[str, str]
    limit: int
    """Of objects a page; 0: everything is one page."""
    timeout: float
    """Seconds for each page."""


async def page(client: Client, wish: Wish, token: str = "") -> Page:
    """The first page, or the one at a token."""
    asked = dict(wish.params)
    if wish.limit:
        asked["limit"] = str(wish.limit)
    if token:
        asked["continue"] = token
    return _page(wish.path, await client.list_page(wish.path, asked, wish.timeout))


def _page(path: str, found: Any) -> Page:
    metadata = found.get("metadata") if isinstance(found, dict) else None
    items = found.get("items", []) if isinstance(found, dict) else None
    if not isinstance(metadata, dict) or not isinstance(items, list | None):
        raise errors.Unreachable(f"{path}: the answer is not a list")
    token = metadata.get("continue")
    return Page(items or [], version(found), token if isinstance(token, str) else "")


def version(found: Any) -> str:
    """The resourceVersion of a list or a bookmark; empty if it has none."""
    metadata = found.get("metadata")
    text = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    return text if isinstance(text, str) else ""
