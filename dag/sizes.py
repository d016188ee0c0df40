"""How much text a value has: about as many characters as in JSON, with the names of fields.

What an HTTPProxy has is made anew for each place where it is included, and what a policy says for
each entry of a host that gets it, so the cost depends on the text, not only on the number of
routes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import cast

from dag import nodes

_FIELD = 12
"""The usual name of a field, with what separates it from others."""

_ITEM = 4
"""What separates the items of a list, or a number."""


def size(value: object) -> int:
    """The characters of a model or node. What is absent has none."""
    if isinstance(value, str):
        return len(value) + _ITEM
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return sum(size(name) + size(it) for name, it in pairs)
    if isinstance(value, tuple):
        return sum(map(size, cast("tuple[object, ...]", value)))
    names = getattr(value, "__dataclass_fields__", ())
    given = [it for name in names if (it := getattr(value, name))]
    return sum(map(size, given)) + _FIELD * len(given) if given else _ITEM


def of_entries(routes: Iterable[nodes.Route]) -> int:
    """The characters of what routes do, without their matches. What several of them have in common
    is counted for each, and looked at once."""
    known: dict[int, int] = {}
    total = 0
    for it in filter(None, _parts(routes)):
        if (found := known.get(id(it))) is None:
            found = known[id(it)] = size(it)
        total += found
    return total


def _parts(routes: Iterable[nodes.Route]) -> Iterator[object]:
    """Parts that routes may have in common; of backends, what their clusters do not have."""
    for it in routes:
        yield from (it.request_headers, it.response_headers)
        if it.policies is not None:
            yield from (getattr(it.policies, name) for name in _GUARDS)
        if not isinstance(it.action, nodes.Forward):
            yield it.action
            continue
        yield from (it.action.rewrite, it.action.retry, it.action.hash_policies)
        for backend in it.action.backends:
            yield from (backend.request_headers, backend.response_headers, backend.cookies)


_GUARDS = tuple(it.name for it in fields(nodes.Policies))
