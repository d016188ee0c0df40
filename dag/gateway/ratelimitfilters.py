"""RateLimitFilters of a rule: the limits, and which requests are counted together.

Each rule of each filter has a count of its own; all conditions of a rule have to hold. A count is
identified by the route and its rule (by its name, else by its matches) and the filter and its rule,
so an edit of another rule or filter restarts no count. Elsewhere: what a filter says
(`filterlimits`), who counts (`dag.ratelimitclient`), what the owner of a filter is told
(`ratelimitstatus`).
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence

from crds.meta import ObjectRef
from crds.records import replace
from dag import nodes, ratelimitclient
from dag.engine.view import View
from dag.gateway.filterlimits import KIND, RULES
from dag.gateway.identities import named
from dag.gateway.resolving import Reference
from dag.problems import Problem, Refused
from dag.problems import gateway as problems
from dag.problems.places import Findings


def policies(
    view: View, references: Sequence[Reference], made: nodes.Policies
) -> Findings[nodes.Policies]:
    """The limits of all filters of a rule, each of which counts on its own."""
    named_once = {it.target: it for it in reversed(references)}
    kept = (it for it in references if it is named_once[it.target])
    found = [it for reference in kept for it in _limits(view, reference)]
    yield from ()
    return replace(made, limits=tuple(found) or None)


def _limits(view: View, reference: Reference) -> Iterator[nodes.Limit]:
    target, at = reference
    rules = next(iter(view.bucket(RULES, target)), None)
    if rules is None:
        raise Refused(problems.filter_not_found(at, f"{KIND} {target} not found"))
    if obstacle := view.ask(ratelimitclient.obstacle, ()):
        raise Refused(problems.filter_not_found(at, f"{KIND} {target}: {obstacle}"))
    if isinstance(rules, Problem):
        raise Refused(problems.filter_not_valid(at, f"{KIND} {target}: {rules.message}"))
    for it in rules:
        yield nodes.Limit(ObjectRef(KIND, *target), it.name, it.entries)


def of_rules(
    asked: Iterable[tuple[str, Sequence[Hashable]]],
) -> tuple[str, ...]:
    """The identities of the rules of a route: by their names, else by their matches."""
    return named(name or matches for name, matches in asked)
