"""Query parameter conditions: each alone, and whether any request can meet all of them.

Source: HTTPProxy reference, "QueryParameterMatchCondition".
"""

from collections.abc import Iterable, Iterator

from crds import conditions as crd
from dag.nodes import QueryMatch, ValueMatch
from dag.problems import Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Place
from dag.values import regexes

MAX_NAME = 1024
"""Bytes; Envoy refuses a whole RouteConfiguration for a longer one."""


def narrowed(
    at: Place, inherited: Iterable[QueryMatch], block: Iterable[crd.MatchCondition]
) -> tuple[QueryMatch, ...]:
    """The inherited matches and those of a block of conditions."""
    matches = sorted({*inherited, *_matches(at, block)}, key=_rank)
    exact: dict[str, str] = {}
    for it in matches:
        if it.value.operator == "exact":
            folded = it.value.value.lower()
            if exact.setdefault(it.name, folded) != folded:
                text = f"{it.name} cannot have two exact values"
                raise Refused(problems.query_conditions_not_valid(at, text))
    return tuple(matches)


def _matches(at: Place, block: Iterable[crd.MatchCondition]) -> Iterator[QueryMatch]:
    for index, it in enumerate(block):
        if it.query_parameter is not None:
            yield _match(at.item(index).at("queryParameter"), it.query_parameter)


def _match(place: Place, condition: crd.QueryParameterMatchCondition) -> QueryMatch:
    if not 0 < len(condition.name.encode()) <= MAX_NAME:
        text = f"a name has from 1 to {MAX_NAME} bytes"
        raise Refused(problems.query_conditions_not_valid(place, text))
    written = [it for it in _values(condition) if it.value or it == _PRESENT]
    if len(written) != 1:
        text = (
            f"{condition.name} needs exactly one of exact, prefix, suffix, regex, contains, present"
        )
        raise Refused(problems.query_conditions_not_valid(place, text))
    if condition.regex and (refusal := regexes.refusal(condition.regex)):
        text = f"regex {condition.regex!r} {refusal}"
        raise Refused(problems.query_conditions_not_valid(place, text))
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
