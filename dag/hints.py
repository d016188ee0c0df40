"""Which name was probably meant where an object is not found.

Hints are given only where everything belongs to one user: on one machine, and offline (`GIVEN`). In
a cluster the author of an object may not be allowed to list the Secrets of a namespace, or anything
of another one, so a status names nothing that its author did not. And each broken reference would
depend on all names of its namespace: a status would change with unrelated objects.
"""

import difflib
import string
from collections.abc import Iterable, Iterator, Mapping

from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.engine.view import Index, Plan, Table, View, query

GIVEN: Table[tuple[()], bool] = Table("hints given")
"""True where names may be told; else no row."""

_MOST = 1000
"""The most names that are searched: in a larger namespace there is no hint."""

_LONGEST = 253
"""Characters of the longest name that an object may have."""
_LETTERS = f"{string.ascii_lowercase}{string.digits}-."
"""The characters of the names of objects."""


def _name(key: NamespacedName, _: object) -> Iterator[tuple[str, str]]:
    yield key.namespace, key.name


NAMES: Mapping[str, Index[str, str]] = {
    kind: Index(f"names of {kind}", tables.BY_KIND[kind], _name)
    for kind in (
        *("Service", "Secret", "ConfigMap", "HTTPProxy", "ExtensionService"),
        *("Gateway", "GatewayClass", "ListenerSet"),
    )
}
"""By kind: the names of each namespace."""


def _place(key: NamespacedName, _: object) -> Iterator[tuple[str, str]]:
    yield key.name, key.namespace


PLACES: Mapping[str, Index[str, str]] = {
    kind: Index(f"namespaces of {kind}", tables.BY_KIND[kind], _place) for kind in NAMES
}
"""By kind: the namespaces where each name is."""

PLAN = Plan(indexes=(*NAMES.values(), *PLACES.values()))
"""The indexes that an engine needs in addition to the rules if `GIVEN` is written."""


def hint(view: View, missing: ObjectRef) -> str:
    """` (did you mean cart?)` for an object that is not there, with the namespace for one of the
    same name in another namespace; empty if no name is similar."""
    if not view.read(GIVEN, ()) or missing.kind not in NAMES:
        return ""
    near = view.ask(_near, missing)
    return f" (did you mean {near}?)" if near else ""


@query
def _near(view: View, missing: ObjectRef) -> str:
    """The same name in another namespace, else the most similar one in its own. A query: other
    names do not wake the caller.

    It runs again with each name that comes or goes, for each that is missing: so only names with
    one mistake are looked for, which takes a fraction of a millisecond.
    """
    if elsewhere := view.bucket(PLACES[missing.kind], missing.name):
        return f"{min(elsewhere)}/{missing.name}"
    index = NAMES[missing.kind]
    if view.count(index, missing.namespace) > _MOST or len(missing.name) > _LONGEST:
        return ""
    known = view.bucket(index, missing.namespace)
    return similar(missing.name, sorted(known.intersection(_with_one_mistake(missing.name))))


def _with_one_mistake(name: str) -> Iterator[str]:
    """The names that differ by a character that is missing, superfluous or another one, or by two
    neighbours in the other order."""
    parts = [(name[:at], name[at:]) for at in range(len(name) + 1)]
    for before, after in parts:
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]
        for letter in _LETTERS:
            yield before + letter + after
            yield before + letter + after[1:]


def similar(written: str, known: Iterable[str]) -> str:
    """The known name that was probably meant; empty if none is similar enough."""
    return next(iter(difflib.get_close_matches(written, list(known), n=1)), "")
