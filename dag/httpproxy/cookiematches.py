"""Cookie conditions, which are ours: with upstream, users write expressions on the whole header.

A condition becomes one expression on the `Cookie` header (RFC 6265, section 5.4). Literal values
are quoted; expressions of users must be valid on their own before they become a part of it.
"""

from crds import conditions as crd
from dag.nodes import HeaderMatch, ValueMatch
from dag.problems import Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Place
from dag.values import regexes


def match(place: Place, condition: crd.CookieMatchCondition) -> HeaderMatch:
    """The condition on the header that has the cookies."""
    name = condition.name
    expression = f"(.*; *)?{regexes.quoted(name)}={_value(place, condition)}( *;.*)?"
    if refusal := regexes.refusal(expression):
        text = f"the expression for cookie {name} {refusal}"
        raise Refused(problems.header_conditions_not_valid(place, text))
    return HeaderMatch("cookie", ValueMatch("regex", expression))


def _value(place: Place, condition: crd.CookieMatchCondition) -> str:
    written = [it for it in _operators(condition) if it[1]]
    if len(written) != 1:
        text = f"cookie {condition.name} needs exactly one of present, exact, contains, regex"
        raise Refused(problems.header_conditions_not_valid(place, text))
    match written[0]:
        case "exact", str(text):
            return regexes.quoted(text)
        case "contains", str(text):
            return f"[^;]*{regexes.quoted(text)}[^;]*"
        case "regex", str(text):
            if refusal := regexes.refusal(text):
                why = f"regex {text!r} {refusal}"
                raise Refused(problems.header_conditions_not_valid(place, why))
            return f"({text})"
        case _:
            return "[^;]*"


def _operators(it: crd.CookieMatchCondition) -> tuple[tuple[str, str | bool], ...]:
    return (
        ("present", it.present),
        ("exact", it.exact),
        ("contains", it.contains),
        ("regex", it.regex),
    )
