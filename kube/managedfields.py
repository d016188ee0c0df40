"""Who has written what into an object: its managed fields (Kubernetes, "Server-Side Apply")."""

from collections.abc import Iterator

from crds import raw
from crds.raw import Raw


def of_finalizers(found: Raw) -> Iterator[tuple[str, str]]:
    """The finalizers of an object, each with a field manager that has put it there."""
    for entry in raw.items(raw.at(found, "metadata", "managedFields")):
        content = raw.mapping(entry)
        names = raw.mapping(raw.at(content, "fieldsV1", "f:metadata", "f:finalizers"))
        for it in names:
            if it.startswith('v:"'):  # an item of a set, as JSON
                yield it[3:-1], str(content.get("manager"))
