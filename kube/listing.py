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


async def page(
    client: Client, path: str, params: Mapping[str, str], limit: int = 0, token: str = ""
) -> Page:
    """The first page, or the one at a token; all in one without a limit."""
    asked = dict(params)
    if limit:
        asked["limit"] = str(limit)
    if token:
        asked["continue"] = token
    return _page(path, await client.list_page(path, asked))


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
