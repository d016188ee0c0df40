"""One page of a list, as an API server gives it (Kubernetes API concepts, "Retrieving large results
sets in chunks").

For `kube.reflector`, which knows what to do with pages and with a list that expires between two.
"""

from collections.abc import Mapping
from typing import NamedTuple

from crds import raw
from crds.raw import Raw
from kube import errors
from kube.client import Client


class Page(NamedTuple):
    """Some objects of a collection."""

    items: list[object]
    version: str
    """The resourceVersion of the list."""
    token: str
    """The continue token of the next page; empty after the last."""


class ListOptions(NamedTuple):
    """The parameters of a list."""

    path: str
    params: Mapping[str, str]
    limit: int
    """The most objects of a page; 0: everything is one page."""
    timeout: float
    """Seconds for each page."""


async def page(client: Client, options: ListOptions, token: str = "") -> Page:
    """The first page, or the one at a token."""
    asked = dict(options.params)
    if options.limit:
        asked["limit"] = str(options.limit)
    if token:
        asked["continue"] = token
    return _page(options.path, await client.list_page(options.path, asked, options.timeout))


def _page(path: str, found: Raw) -> Page:
    metadata, items = found.get("metadata"), found.get("items")
    if not raw.is_mapping(metadata) or not (items is None or raw.is_list(items)):
        raise errors.Unreachable(f"{path}: the answer is not a list")
    token = metadata.get("continue")
    return Page(raw.items(items), version(found), token if isinstance(token, str) else "")


def version(found: Raw) -> str:
    """The resourceVersion of a list or a bookmark; empty if it has none."""
    metadata = found.get("metadata")
    text = metadata.get("resourceVersion") if raw.is_mapping(metadata) else None
    return text if isinstance(text, str) else ""
