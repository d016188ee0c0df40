"""Header conditions: each alone, and whether any request can meet all of them.

An exact `:method` becomes the method of the match, so that routes of different APIs compare equal.
Cookie conditions are header conditions, too. Source: HTTPProxy reference, "HeaderMatchCondition".
"""

from collections.abc import Iterable, Iterator

from crds import conditions as crd
from dag import nodes
from dag.httpproxy import cookiematches
from dag.nodes import HeaderMatch, ValueMatch
from dag.problems import Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Place
from dag.problems.shared import Constructor
from dag.values import headers, regexes


def narrowed(
    at: Place, inherited: nodes.Match, block: Iterable[crd.MatchCondition]
) -> tuple[str, tuple[HeaderMatch, ...]]:
    """The method and the header matches of the inherited match and of a block of conditions."""
    method, others = inherited.method, set(inherited.headers)
    for it in _matches(at, block):
        if not _is_method(it):
            others.add(it)
        elif method in ("", it.value.value):
            method = it.value.value
        else:
            text = f":method cannot be both {method} and {it.value.value}"
            raise Refused(problems.header_conditions_not_valid(at, text))
    _check_harmony(at, others)
    return method, tuple(sorted(others, key=_rank))


def _matches(at: Place, block: Iterable[crd.MatchCondition]) -> Iterator[HeaderMatch]:
    for index, it in enumerate(block):
        if it.header is not None:
            place = at.item(index).at("header")
            yield match(place, it.header, problems.header_conditions_not_valid)
        if it.method is not None:
            yield HeaderMatch(":method", ValueMatch("exact", it.method))
        if it.cookie is not None:
            yield cookiematches.match(at.item(index).at("cookie"), it.cookie)


def match(place: Place, condition: crd.HeaderMatchCondition, not_valid: Constructor) -> HeaderMatch:
    """One condition; Refused if it is ambiguous."""
    name = condition.name.lower()
    if refusal := headers.name_refusal(name):
        raise Refused(not_valid(place, f"{name!r} {refusal}"))
    written = [it for it in _operators(condition) if it[1]]
    if len(written) != 1:
        allowed = ", ".join(it[0] for it in _operators(condition))
        raise Refused(not_valid(place, f"header {name} needs exactly one of {allowed}"))
    field, text = written[0]
    positive = field.removeprefix("not")
    missing = condition.treat_missing_as_empty and field in {"notcontains", "notexact"}
    if positive == "regex" and (refusal := regexes.refusal(str(text))):
        raise Refused(not_valid(place, f"regex {text!r} {refusal}"))
    value = _value(positive, text, condition.ignore_case)
    return HeaderMatch(name, value, field != positive, missing)


def _operators(it: crd.HeaderMatchCondition) -> tuple[tuple[str, str | bool], ...]:
    return (
        ("present", it.present),
        ("notpresent", it.notpresent),
        ("contains", it.contains),
        ("notcontains", it.notcontains),
        ("exact", it.exact),
        ("notexact", it.notexact),
        ("regex", it.regex),
    )


def _value(operator: str, text: str | bool, ignore_case: bool) -> ValueMatch:
    match operator, text:
        case "contains", str():
            return ValueMatch("contains", text, ignore_case)
        case "exact", str():
            return ValueMatch("exact", text, ignore_case)
        case "regex", str():
            return ValueMatch("regex", text)
        case _:
            return ValueMatch("present")


def _is_method(it: HeaderMatch) -> bool:
    is_exact = it.value.operator == "exact" and not it.value.ignore_case
    return it.name == ":method" and is_exact and not it.inverted


def _check_harmony(at: Place, matches: set[HeaderMatch]) -> None:
    """Refuses conditions on one header that no value meets: obvious cases, in linear time."""
    wanted = [it for it in matches if not it.inverted]
    denied = {(it.name, it.value) for it in matches if it.inverted}
    exact: dict[str, str] = {}
    for it in sorted(wanted, key=_rank):
        if (it.name, ValueMatch("present")) in denied or (it.name, it.value) in denied:
            text = f"no request meets all conditions on header {it.name}"
            raise Refused(problems.header_conditions_not_valid(at, text))
        if it.value.operator == "exact":
            folded = it.value.value.lower()
            if exact.setdefault(it.name, folded) != folded:
                text = f"header {it.name} cannot have two exact values"
                raise Refused(problems.header_conditions_not_valid(at, text))


def _rank(it: HeaderMatch) -> tuple[str, str, str, bool, bool, bool]:
    operator, text, ignores_case = it.value.operator, it.value.value, it.value.ignore_case
    return it.name, operator, text, ignores_case, it.inverted, it.missing_as_empty
