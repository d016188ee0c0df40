"""What the rules of a route ask for, whichever kind it is of and wherever it is attached."""

from crds.meta import ObjectRef
from crds.records import dataclass
from dag import nodes
from dag.problems import Problem


@dataclass(frozen=True, slots=True)
class Rules:
    """What a route asks for, and everything that is wrong with it."""

    routes: tuple[nodes.Route, ...] = ()
    """Of HTTPRoutes and GRPCRoutes."""
    stream: nodes.Stream | None = None
    """Of the other kinds."""
    problems: tuple[Problem, ...] = ()
    is_accepted: bool = True
    """Whether at least one rule is served as it is written."""
    leads_to: tuple[ObjectRef, ...] = ()
    """The Services and XBackends that it leads to, sorted."""
