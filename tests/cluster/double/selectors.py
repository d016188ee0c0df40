"""Label and field selectors, as in the query of a list or watch."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.cluster.double.refusals import RefusalError

Raw = dict[str, Any]
Predicate = Callable[[Raw], bool]

_SETS = re.compile(r"(?P<key>\S+)\s+(?P<operator>in|notin)\s*\((?P<values>[^)]*)\)")
_EQUALITIES = re.compile(r"(?P<key>[^=!]+?)\s*(?P<operator>==|=|!=)\s*(?P<values>.*)")

_FIELDS = {
    *("metadata.name", "metadata.namespace", "type", "reason", "spec.nodeName", "status.phase"),
    *("involvedObject.kind", "involvedObject.name", "involvedObject.namespace"),
    "involvedObject.uid",
}


def selector(query: Mapping[str, str]) -> Predicate:
    """Whether an object is selected."""
    tests = [_label(it) for it in _terms(query.get("labelSelector", ""))]
    tests += [_field(it) for it in _terms(query.get("fieldSelector", ""))]
    return lambda obj: all(test(obj) for test in tests)


def _terms(text: str) -> Iterator[str]:
    """Commas separate terms, except in the parentheses of a set."""
    yield from (it.strip() for it in re.split(r",(?![^()]*\))", text) if it.strip())


def _label(term: str) -> Predicate:
    if found := _SETS.fullmatch(term) or _EQUALITIES.fullmatch(term):
        key, operator = found["key"].strip(), found["operator"]
        values = {it.strip() for it in found["values"].split(",")}
        if operator in {"notin", "!="}:
            return lambda obj: _labels(obj).get(key) not in values
        return lambda obj: _labels(obj).get(key) in values
    key = term.removeprefix("!").strip()
    if " " in key or "(" in key:
        raise RefusalError(400, f"unable to parse requirement: {term!r}")
    return lambda obj: (key in _labels(obj)) is not term.startswith("!")


def _labels(obj: Raw) -> Mapping[str, str]:
    return obj["metadata"].get("labels") or {}


def _field(term: str) -> Predicate:
    found = _EQUALITIES.fullmatch(term)
    if not found or found["key"] not in _FIELDS:
        raise RefusalError(400, f"field label not supported: {term}")
    path, value, wanted = found["key"].split("."), found["values"], found["operator"] != "!="
    return lambda obj: (_value(obj, path) == value) is wanted


def _value(obj: Any, path: list[str]) -> str:
    for step in path:
        obj = obj.get(step, "") if isinstance(obj, dict) else ""
    return str(obj)
