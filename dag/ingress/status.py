"""The status of an Ingress: its own problems, and what it lost to older ones."""

from collections.abc import Iterator

from crds.meta import NamespacedName
from dag import defaults
from dag.engine.view import View, query
from dag.ingress import ingresshosts
from dag.ingress.claims import LOSSES
from dag.problems import Problem
from dag.problems import ingress as problems
from dag.problems.places import sub_conditions
from dag.statuses import EventStatus


@query
def status(view: View, key: NamespacedName) -> EventStatus | None:
    """The status of an Ingress; None if it is not for this controller."""
    found = view.ask(ingresshosts.hosts, key)
    if found is None:
        return None
    told = {*found.problems, *view.bucket(LOSSES, key), *_unauthorized(view, key)}
    return EventStatus(
        sub_conditions(it for it in told if it.severity == "error"),
        sub_conditions(it for it in told if it.severity == "warning"),
    )


def _unauthorized(view: View, key: NamespacedName) -> Iterator[Problem]:
    if why := view.ask(defaults.unauthorized, ()):
        yield problems.unauthorized(problems.spec(key), why)
