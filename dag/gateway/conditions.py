"""The conditions of the Gateway API, made from problems (GEP-1364).

One condition for each type. Of several problems the most telling one gives the reason, and the
message lists them all. Warnings leave the condition true and are added to its message.
"""

from collections.abc import Iterable

from dag import tables
from dag.engine.view import View
from dag.problems import Problem
from dag.problems.reasons import ConditionType, Gateway
from dag.statuses import Condition

MOST_LISTED = 16
"""The most problems in one message; of further ones it has the number."""


def condition(type_: ConditionType, found: Iterable[Problem], good: str) -> Condition:
    """A condition for which True is good: it is False if there is an error of its type."""
    told = [it for it in found if it.type == type_]
    errors = [it for it in told if it.severity == "error"]
    if errors:
        return Condition(type_.value, "False", _reason(errors), listed(errors))
    warnings, reason = texts(told), _reason(told) if told else type_.value
    return Condition(type_.value, "True", reason, "; ".join((good, *warnings)), warnings)


def programmed(view: View, found: Iterable[Problem]) -> Condition:
    """The condition Programmed. If no Envoy is asked (offline), its message says so."""
    assumed = view.read(tables.ACCEPTANCE_ASSUMED, ())
    good = "no Envoy was asked: its acceptance is assumed" if assumed else "Envoy serves it"
    return condition(ConditionType.Programmed, found, good)


def alarm(type_: ConditionType, found: Iterable[Problem], opening: str = "") -> Iterable[Condition]:
    """A condition that tells of something bad: it is True if there are problems, else absent."""
    told = [it for it in found if it.type == type_]
    if told:
        yield Condition(type_.value, "True", _reason(told), opening + listed(told))


def listed(found: Iterable[Problem]) -> str:
    """The messages of problems, each once."""
    return "; ".join(texts(found))


def texts(found: Iterable[Problem]) -> tuple[str, ...]:
    """The messages of problems, each once, as a tuple."""
    messages = tuple(dict.fromkeys(it.message for it in found))
    rest = len(messages) - MOST_LISTED
    return (*messages[:MOST_LISTED], f"and {rest} more") if rest > 0 else messages


def _reason(found: Iterable[Problem]) -> str:
    """The reason of the most telling problem: a missing grant first, one like the type last."""
    first = min(found, key=lambda it: (it.reason != Gateway.RefNotPermitted, it.reason == it.type))
    return first.reason.value
