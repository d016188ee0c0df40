"""What a request gets: the Services that it reaches, and what it has to pass before."""

from collections.abc import Iterator
from typing import NamedTuple

from crds.meta import ObjectRef
from dag import hosts, nodes
from dag.comparison.effects import GUARDS
from dag.engine.incremental import Engine
from dag.evaluation import evaluator, guards, places
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer, Trace
from dag.fleetnames import DEFAULT_FLEET

CERTIFICATES = "client certificates"


class Backend(NamedTuple):
    """A Service or Backend, and by what it is checked that nobody else answers."""

    owner: ObjectRef
    trust: nodes.Trust | None
    is_system: bool


class Reach(NamedTuple):
    """What becomes of a request."""

    backends: frozenset[Backend]
    """None: it is refused, or Envoy answers by itself."""
    guards: frozenset[str]
    """Those that the request passes before, by name."""
    origin: ObjectRef | None
    """The object whose route it takes."""
    host: str | None
    """The virtual host that has it."""
    answer: str
    """For people."""

    def opened(self, before: "Reach") -> str:
        """What was closed to the request before, in words; empty if nothing was."""
        if not self.backends:
            return ""
        if self.backends <= before.backends:
            lost = ", ".join(sorted(before.guards - self.guards))
            return f"it passes no {lost} any more" if lost else ""
        return f"it reaches {', '.join(str(it.owner) for it in self.backends - before.backends)}"


def reach(engine: Engine, request: Request) -> Reach:
    """What becomes of a request now."""
    trace = evaluator.evaluate(engine, DEFAULT_FLEET, request)
    answer, found = trace.answer, frozenset(_backends(trace.answer))
    passed = frozenset(_guards(engine, request, trace)) if trace.host or found else frozenset()
    words = ", ".join(sorted(str(it.owner) for it in found))
    origin = answer.route.origin if answer.route is not None else None
    return Reach(
        found, passed, origin, trace.host, words or f"{answer.status or 'closed'}: {answer.cause}"
    )


def _backends(answer: Answer) -> Iterator[Backend]:
    """Also those without an endpoint, and those that get copies."""
    found = [it.cluster for it in (*answer.backends, *answer.streams) if it.cluster is not None]
    action = answer.route.action if answer.route is not None else None
    if found and isinstance(action, nodes.Forward):
        found += [it.cluster for it in action.mirrors]
    for it in found:
        tls = it.tls or nodes.UpstreamTls()
        yield Backend(it.port.owner, tls.trust, tls.system)


def _guards(engine: Engine, request: Request, trace: Trace) -> Iterator[str]:
    at = trace.listener
    assert at is not None
    if request.is_secure:
        tls = places.secure_host(engine, at, request)[1].tls
        if tls is not None and tls.clients is not None:
            yield CERTIFICATES
    if places.filters_of_listener(engine, at, request):
        yield "filters of the listener"
    if trace.answer.route is None or trace.host is None:
        return
    host = engine.answer(hosts.virtual_host, nodes.HostKey(*at, trace.host))
    assert host is not None
    found = guards.in_force(host.policies, trace.answer.route.policies)
    yield from (it for it in GUARDS if getattr(found, it) not in (None, nodes.OFF, ()))
