"""What all kinds of routes have: parents, and backends with their shares.

The checks are those of the CRDs (v1.6.1), with their messages; each rule below applies to classes
that have the fields it names.
"""

from collections import Counter
from typing import Annotated, Any

from pydantic import Field, Strict

from crds.gateway.references import BackendObjectReference, ParentReference
from crds.meta import model
from crds.rules import rule

Weight = Annotated[int, Strict(), Field(ge=0, le=1_000_000)]


@model
class BackendRef(BackendObjectReference):
    """A backend and its share of the traffic."""

    weight: Weight = 1
    """Relative to the sum of the rule's weights; 0 means no traffic."""


Target = tuple[str, str, str | None, str]


def _target(ref: ParentReference) -> Target:
    return ref.group, ref.kind, ref.namespace, ref.name


def _parents_are_unique(spec: Any) -> bool:
    sections = Counter((_target(it), it.section_name, it.port) for it in spec.parent_refs)
    repeated = {it for it, times in Counter(map(_target, spec.parent_refs)).items() if times > 1}
    whole = {_target(it) for it in spec.parent_refs if it.section_name is None and it.port is None}
    return max(sections.values(), default=1) == 1 and not repeated & whole


PARENTS_ARE_UNIQUE = rule(
    "sectionName or port must be specified and unique when parentRefs includes 2 or more"
    " references to the same parent",
    _parents_are_unique,
)
"""For classes with the field `parent_refs`."""


def _rule_names_are_unique(spec: Any) -> bool:
    names = [it.name for it in spec.rules if it.name]
    return len(names) == len(set(names))


RULE_NAMES_ARE_UNIQUE = rule("Rule name must be unique within the route", _rule_names_are_unique)
MATCHES_ARE_LIMITED = rule(
    "the total number of matches across all rules must be at most 128",
    lambda it: sum(len(each.matches) for each in it.rules) <= 128,
)
"""For classes with the field `rules`."""
