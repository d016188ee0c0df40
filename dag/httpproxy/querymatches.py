"""Query parameter conditions: each alone, and whether any request can meet all of them.

Source: HTTPProxy reference, "QueryParameterMatchCondition".
"""

from collections.abc import Iterable, Iterator

from crds import conditions as crd
from dag.httpproxy.clarity import NotClear, within
from dag.nodes import QueryMatch, ValueMatch
from dag.values import regexes

MAX_NAME = 1024
"""Bytes; Envoy refuses a whole RouteConfiguration for a longer one."""


def narrowed(
    inherited: Iterable[QueryMatch], block: Iterable[crd.MatchCondition]
) -> tuple[QueryMatch, ...]:
    """The inherited matches and those of a block of conditions."""
    matches = sorted({*inherited, *_matches(block)}, key=_rank)
    exact: dict[str, str] = {}
    for it in matches:
        if it.value.operator == "exact":
            folded = it.value.value.lower()
            if exact.setdefault(it.name, folded) != folded:
                raise NotClear("QueryParameter", f"{it.name} cannot have two exact values")
    return tuple(matches)


def _matches(block: Iterable[crd.MatchCondition]) -> Iterator[QueryMatch]:
    for index, it in enumerate(block):
        if it.query_parameter is not None:
            with within(index, "queryParameter"):
                found = _match(it.query_parameter)
            yield found


def _match(condition: crd.QueryParameterMatchCondition) -> QueryMatch:
    if not 0 < len(condition.name.encode()) <= MAX_NAME:
        raise NotClear("QueryParameter", f"a name has from 1 to {MAX_NAME} bytes")
    written = [it for it in _values(condition) if it.value or it == _PRESENT]
    if len(written) != 1:
        text = (
            f"{condition.name} needs exactly one of exact, prefix, suffix, regex, contains, present"
        )
        raise NotClear("QueryParameter", text)
    if condition.regex and (refusal := regexes.refusal(condition.regex)):
        raise NotClear("QueryParameter", f"regex {condition.regex!r} {refusal}")
    return QueryMatch(condition.name, written[0])


_PRESENT = ValueMatch("present")


def _values(it: crd.QueryParameterMatchCondition) -> tuple[ValueMatch, ...]:
    texts = (
        ValueMatch("exact", it.exact, it.ignore_case),
        ValueMatch("prefix", it.prefix, it.ignore_case),
        ValueMatch("suffix", it.suffix, it.ignore_case),
        ValueMatch("contains", it.contains, it.ignore_case),
        ValueMatch("regex", it.regex),
    )
    return (*texts, _PRESENT) if it.present else texts


def _rank(it: QueryMatch) -> tuple[str, str, str, bool]:
    return it.name, it.value.operator, it.value.value, it.value.ignore_case
