"""Fault injection, after all guards: only errors that every request gets can be told."""

from dag import nodes
from dag.evaluation import guards
from dag.evaluation.trace import Answer, Trace


def abortion(host: nodes.VirtualHost, route: nodes.Route, trace: Trace) -> Answer | None:
    """The error that the request gets for certain, if there is one; notes the step.

    A gRPC status reaches each client as another status code, so it is noted, not answered.
    """
    found = _of(host, route)
    if found is None:
        return None
    if found.delay is not None:
        who = f"{found.delayed / nodes.MILLION:.4%} of the requests wait"
        trace.note("guard", "noted", f"fault: {who} {found.delay:g} s", route.origin)
    if found.status is not None and found.aborted == nodes.MILLION:
        words = f"fault: every request is answered {found.status} on purpose"
        trace.note("guard", "failed", words, route.origin)
        return Answer(found.status, words, route=route)
    if is_drawn(host, route):
        kind = "status" if found.grpc_status is None else "status of gRPC"
        status = found.status if found.grpc_status is None else found.grpc_status
        share = f"{found.aborted / nodes.MILLION:.4%}"
        words = f"fault: {share} of the requests get the {kind} {status}"
        trace.note("guard", "noted", words, route.origin)
    return None


def is_drawn(host: nodes.VirtualHost, route: nodes.Route) -> bool:
    """Whether requests may get an injected error that is not known here."""
    found = _of(host, route)
    if found is None or (found.status is None and found.grpc_status is None):
        return False
    return found.grpc_status is not None or found.aborted < nodes.MILLION


def _of(host: nodes.VirtualHost, route: nodes.Route) -> nodes.Fault | None:
    found = guards.in_force(host.policies, route.policies).fault
    return found if isinstance(found, nodes.Fault) else None
