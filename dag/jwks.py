"""The keys that tokens are signed with, from a Secret: JSON Web Key Sets (RFC 7517).

Envoy refuses the whole filter for text that is no key set, so it is parsed here first.
"""

import json
from typing import NamedTuple

from crds.meta import NamespacedName
from dag import tables
from dag.secrets import Refused
from dag.view import View, query

MAX_SIZE = 256 * 1024
"""Bytes."""


class Entry(NamedTuple):
    """An entry of a Secret."""

    secret: NamespacedName
    key: str


@query
def local(view: View, entry: Entry) -> str | Refused:
    """The key set, as it was written."""
    found = view.read(tables.SECRETS, entry.secret)
    if found is None:
        return Refused("not found")
    content = found.data.get(entry.key)
    if content is None:
        return Refused(f"has no {entry.key[:60]}")
    return content.decode() if (why := _fault(content)) is None else Refused(why)


def _fault(content: bytes) -> str | None:
    if len(content) > MAX_SIZE:
        return f"is larger than {MAX_SIZE} bytes"
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return "is not JSON"
    keys = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(keys, list) or not all(isinstance(it, dict) for it in keys):
        return "is no key set: it needs a list of keys"
    return None if keys else "has no keys"
