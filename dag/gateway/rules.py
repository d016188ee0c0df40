"""The result of reading the rules of a route, of any kind, before it is attached to listeners."""

from typing import NamedTuple

from crds.meta import ObjectRef
from crds.records import dataclass
from dag import nodes
from dag.problems import Problem
from dag.problems.places import Place


class UnservedRule(NamedTuple):
    """A rule that is not served as it is written, and a policy that is for it."""

    policy: ObjectRef
    at: Place
    name: str


@dataclass(frozen=True, slots=True)
class Rules:
    """What a route asks for, and everything that is wrong with it."""

    routes: tuple[nodes.Route, ...] = ()
    """The routes of HTTPRoutes and GRPCRoutes."""
    if_guarded: tuple[nodes.Route, ...] = ()
    """Routes that answer an error in place of dropped rules, for listeners whose policy guards
    them: wider routes may have other policies."""
    names: tuple[str, ...] = ()
    """The identity of each rule, in order: `nodes.Route.rule` of its routes."""
    stream: nodes.Stream | None = None
    """Of the other kinds."""
    passed: nodes.Stream | None = None
    """Of TLSRoutes: the same where the TLS of clients is passed on."""
    section: str = ""
    """Of the other kinds: the name of the rule that is served, by which policies are for it."""
    problems: tuple[Problem, ...] = ()
    is_accepted: bool = True
    """Whether at least one rule is served as it is written."""
    unserved: tuple[UnservedRule, ...] = ()
    text: int = 0
    """The characters of what the routes do (`sizes.of_entries`), which each host gets."""
    leads_to: tuple[ObjectRef, ...] = ()
    """The Services and XBackends that it leads to, sorted."""

    def place(self, ref: ObjectRef, route: nodes.Route) -> Place:
        """The rule of one of the routes."""
        return Place(ref).at("rules", self.names.index(route.rule))
