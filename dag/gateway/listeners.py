"""Whether each listener of a Gateway can be served, why not, and the Envoy listeners they make.

Gateway API, "Listener" and "ListenerConditionType". Listeners on one port share an Envoy
listener. A bad one hurts no other. Elsewhere: what they ask of routes (`doors`), what makes two
of them indistinct (`conflicts`), certificates (`certificates`), the words of the status
(`listenerstatus`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crds.gateway import gateway as crd
from crds.gateway.frontend import FrontendTLSConfig
from crds.meta import NamespacedName
from dag import hostnames, nodes, ports, tables
from dag.gateway import certificates, conflicts, doors, namespaces
from dag.gateway.doors import Door
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.view import View, query


@dataclass(frozen=True, slots=True)
class Verdict:
    """A listener, judged."""

    door: Door
    is_served: bool
    problems: tuple[Problem, ...] = ()
    secret: NamespacedName | None = None
    """The certificate, if it speaks TLS and is served."""

    @property
    def is_resolved(self) -> bool:
        """Whether every reference leads somewhere."""
        return not any(it.type == "ResolvedRefs" for it in self.problems)


@query
def verdicts(view: View, key: NamespacedName) -> tuple[Verdict, ...]:
    """Every listener of a Gateway, in its order."""
    gateway, found = view.read(tables.GATEWAYS, key), view.ask(doors.doors, key)
    if gateway is None:
        return ()
    is_refused = any(refusals(gateway))
    return tuple(
        _verdict(door, tuple(_judgement(view, gateway, found, index)), is_refused)
        for index, door in enumerate(found)
    )


def refusals(gateway: crd.Gateway) -> Iterator[Problem]:
    """Why none of the listeners of a Gateway can be served."""
    infrastructure = gateway.spec.infrastructure
    if infrastructure and infrastructure.parameters_ref:
        at = problems.gateway(gateway.metadata.key).at("infrastructure").at("parametersRef")
        yield problems.parameters_not_known(at, infrastructure.parameters_ref.kind)


@query
def listeners(view: View, key: NamespacedName) -> tuple[nodes.Listener, ...]:
    """The Envoy listeners that a Gateway makes: one for each port on which something is served."""
    served = {it.door.listener: it.door for it in view.ask(verdicts, key) if it.is_served}
    return tuple(_listener(view, it) for it in served.values())


def _verdict(door: Door, found: tuple[NamespacedName | Problem, ...], is_refused: bool) -> Verdict:
    told = tuple(it for it in found if isinstance(it, Problem))
    secret = next((it for it in found if isinstance(it, NamespacedName)), None)
    is_stopped = is_refused or any(map(problems.stops_a_listener, told))
    is_served = bool(door.kinds) and not is_stopped
    return Verdict(door, is_served, told, secret if is_served else None)


def _judgement(
    view: View, gateway: crd.Gateway, found: Sequence[Door], index: int
) -> Iterator[NamespacedName | Problem]:
    listener, door = gateway.spec.listeners[index], found[index]
    at = problems.gateway(gateway.metadata.key).at("listeners", index)
    if listener.protocol not in doors.KINDS:
        yield problems.protocol_not_supported(at, listener.protocol)
        return
    for judged in (conflicts.conflict, conflicts.overlap):
        if problem := judged(found, door, at):
            yield problem
    yield from _values(listener, at)
    yield from _kinds(listener, door, at)
    if listener.protocol == "HTTPS":
        yield from _client_validation(gateway, listener.port, at)
        yield from certificates.certificate(view, listener, at)


def _values(listener: crd.Listener, at: Place) -> Iterator[Problem]:
    if listener.hostname and (refusal := hostnames.refusal(listener.hostname)):
        why = f"{listener.hostname!r} {refusal}"
        yield problems.listener_value_not_supported(at.at("hostname"), why)
    allowed = listener.allowed_routes.namespaces
    if allowed.from_ == "Selector":
        selector = at.at("allowedRoutes").at("namespaces").at("selector")
        for refusal in namespaces.refusals(allowed.selector):
            yield problems.listener_value_not_supported(selector, refusal)


def _kinds(listener: crd.Listener, door: Door, at: Place) -> Iterator[Problem]:
    served = {(it.group, it.kind) for it in door.kinds}
    wanted = listener.allowed_routes.kinds
    strange = [it.kind for it in wanted if (it.group, it.kind) not in served]
    if strange:
        yield problems.kinds_not_supported(at, strange)


def _client_validation(gateway: crd.Gateway, port: int, at: Place) -> Iterator[Problem]:
    """To serve without asking clients for the certificates would open what they guard."""
    frontend = gateway.spec.tls and gateway.spec.tls.frontend
    if frontend and _validates(frontend, port):
        why = "clients must show a certificate (spec.tls.frontend), which is not served yet"
        yield problems.listener_value_not_supported(at, why)


def _validates(frontend: FrontendTLSConfig, port: int) -> bool:
    own = next((it.tls for it in frontend.per_port if it.port == port), frontend.default)
    return own.validation is not None


def _listener(view: View, door: Door) -> nodes.Listener:
    address, bind_port = ports.binding(view, door.port)
    protocol: nodes.Protocol = "HTTPS" if door.protocol == "HTTPS" else "HTTP"
    return nodes.Listener(door.listener, protocol, door.port, address, bind_port)
