"""Objects of the kinds that extensions register, as rows; only the extension knows their meaning.

A kind is read in the version that an extension has registered. Whether it can be read at all is a
row, too: in a cluster its definition may be missing, or the right to it.
"""

from dag import nodes, tables
from dag.configuration import settings
from dag.engine.view import Kept, Table, View, query

OBJECTS: Table[nodes.ForeignKey, bytes] = Table("objects of extensions")
"""Each object as the JSON that extensions get: no `managedFields`, `resourceVersion`, `status`."""

FAULTS: Table[nodes.ForeignKind, str] = Table("kinds of extensions that cannot be read")
"""Why a kind cannot be read; no row for kinds that can."""


@query
def kinds(view: View, _: tuple[()]) -> tuple[nodes.ForeignKind, ...]:
    """The kinds that extensions bring, sorted."""
    found = {it for server in view.ask(settings.hook_servers, ()) for it in server.kinds}
    return tuple(sorted(found))


@query
def registered(view: View, kind: tuple[str, str]) -> nodes.ForeignKind | None:
    """The kind of this group and name; None if no extension brings it."""
    found = (it for it in view.ask(kinds, ()) if (it.group, it.kind) == kind)
    return next(found, None)


@query
def is_there(view: View, key: nodes.ForeignKey) -> bool:
    """Whether there is such an object; what it says is the extension's matter."""
    return view.read(OBJECTS, key) is not None


def _of_process(_: str) -> tuple[()]:
    return ()


KEPT = (Kept(kinds, tables.FLEETS, _of_process),)
