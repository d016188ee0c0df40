"""Whether each listener of a Gateway or ListenerSet can be served, and why not.

Gateway API, "Listener" and "ListenerConditionType". An invalid one harms no other. Elsewhere: what
they ask of routes (`listenerspecs`), conflicts between them (`conflicts`), certificates
(`certificates`), what clients must show (`clients`), the Envoy listeners they make
(`servedlisteners`), the words of the status (`listenerstatus`).
"""

from collections.abc import Iterator

from crds.gateway import gateway as crd
from crds.gateway.known import unknown_values
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass, replace
from dag import nodes, tables
from dag.engine.view import View, query
from dag.gateway import (
    certificates,
    clients,
    conflicts,
    listenerfilters,
    listenersets,
    listenerspecs,
    namespaces,
    parameters,
    unknownguards,
)
from dag.gateway.listenerspecs import ListenerSpec
from dag.problems import Problem, unguarded
from dag.problems import listeners as problems
from dag.problems.places import Place
from dag.problems.reasons import ConditionType
from dag.values import hostnames


@dataclass(frozen=True, slots=True)
class ListenerState:
    """What became of a listener: whether it is served, and what is wrong with it."""

    spec: ListenerSpec
    is_served: bool
    closing: tuple[Problem, ...] = ()
    """Why Envoy answers every request on it with 503: something guards it that cannot be served."""
    problems: tuple[Problem, ...] = ()
    secrets: tuple[NamespacedName, ...] = ()
    """The certificates, if it terminates TLS and is served."""
    lacks_certificates: bool = False
    """It is not served for nothing but its certificates, of which it has none, or those of clients,
    which it cannot check: connections for its host are no others'."""
    checks_clients: bool = False
    """Clients are to show certificates."""
    clients: nodes.ClientValidation | None = None
    """What clients must show."""
    terminates: bool = False
    """TLS ends here."""
    filters: tuple[nodes.Authorization, ...] = ()
    """Servers that decide over each request before it is routed, in order; if it is served or lacks
    certificates, for requests to hosts of other APIs pass them, too."""

    @property
    def is_closed(self) -> bool:
        """Whether Envoy answers every request on the listener with 503."""
        return bool(self.closing)

    @property
    def is_resolved(self) -> bool:
        """Whether every reference is resolved."""
        return not any(it.type == ConditionType.ResolvedRefs for it in self.problems)


Finding = NamespacedName | nodes.ClientValidation | Problem


@query
def states(view: View, holder: ObjectRef) -> tuple[ListenerState, ...]:
    """Every listener of a Gateway or ListenerSet, in its order."""
    found = view.read(tables.BY_KIND[holder.kind], holder.key)
    gateway = view.ask(listenersets.gateway_of, holder)
    if found is None or gateway is None:
        return ()
    asked = view.ask(listenerspecs.specs, holder)
    is_refused = view.ask(parameters.closes, gateway)
    guarding = unknownguards.of_listeners(view, holder, found.metadata)
    judged: list[ListenerState] = []
    for index, (it, spec) in enumerate(zip(found.spec.listeners, asked, strict=True)):
        at = Place(holder).at("listeners", index)
        checks = tuple(_checks(view, gateway, it))
        findings = tuple(_findings(view, it, spec, checks, at))
        filters = tuple(listenerfilters.resolved(view, it, at))
        closing = (*(found for found in filters if isinstance(found, Problem)), *guarding)
        state = _state(spec, it, findings, checks, closing, is_refused)
        decided = tuple(found for found in filters if isinstance(found, nodes.Authorization))
        has_filters = state.is_served or state.lacks_certificates
        judged.append(replace(state, filters=decided if has_filters else ()))
    return tuple(judged)


def _state(
    spec: ListenerSpec,
    listener: crd.Listener,
    found: tuple[Finding, ...],
    checks: tuple[Finding, ...],
    closing: tuple[Problem, ...],
    is_refused: bool,
) -> ListenerState:
    guards = closing if spec.family is not None else ()
    told = tuple(it for it in found if isinstance(it, Problem))
    secrets = tuple(it for it in found if isinstance(it, NamespacedName))
    stopping = [it for it in told if unguarded.stops_a_listener(it)]
    is_unchecked = any(it in checks for it in stopping)
    is_bare = not secrets and not spec.allows_certificates
    lacks_certificates = listenerspecs.terminates(listener) and (is_bare or is_unchecked)
    is_stopped = is_refused or not spec.kinds or any(it not in checks for it in stopping)
    if is_stopped or lacks_certificates:
        return ListenerState(
            spec,
            is_served=False,
            closing=() if is_stopped else guards,
            problems=(*guards, *told),
            lacks_certificates=not is_stopped,
            checks_clients=bool(checks),
            terminates=lacks_certificates,
        )
    return ListenerState(
        spec,
        is_served=not guards,
        closing=guards,
        problems=(*guards, *told),
        secrets=secrets,
        clients=next((it for it in found if isinstance(it, nodes.ClientValidation)), None),
        checks_clients=bool(checks),
        terminates=listenerspecs.terminates(listener),
    )


def _checks(view: View, gateway: NamespacedName, listener: crd.Listener) -> Iterator[Finding]:
    """How clients are checked, and why not."""
    if listenerspecs.terminates(listener):
        yield from clients.validation(view, gateway, listener.port)


def _findings(
    view: View,
    listener: crd.Listener,
    spec: ListenerSpec,
    checks: tuple[Finding, ...],
    at: Place,
) -> Iterator[Finding]:
    if spec.family is None:
        yield problems.protocol_not_supported(at, listener.protocol)
        return
    yield from _conflicts(view, spec, at)
    yield from _values(listener, at)
    yield from _kinds(listener, spec, at)
    if listenerspecs.terminates(listener):
        yield from checks
        yield from certificates.certificates(view, listener, at)
    elif listener.tls is not None and listener.tls.certificate_refs:
        yield problems.certificate_without_use(at.at("tls").at("certificateRefs"))


def _conflicts(view: View, spec: ListenerSpec, at: Place) -> Iterator[Problem]:
    holder = spec.section.holder
    beside = view.ask(listenerspecs.specs, holder)
    own = (it for it in view.ask(conflicts.taken, holder) if it.section == spec.section)
    for found in own:
        problem = conflicts.conflict(view, beside, found, at)
        if told := problem or conflicts.overlap(view, beside, found, at):
            yield told


def _values(listener: crd.Listener, at: Place) -> Iterator[Problem]:
    for found in unknown_values(replace(listener, filters=None)):  # `listenerfilters` has those
        field = Place(at.subject, f"{at.path}.{found.path}")
        yield problems.listener_value_not_supported(field, found.message)
    if listener.hostname and (refusal := hostnames.refusal(listener.hostname)):
        why = f"{listener.hostname!r} {refusal}"
        yield problems.listener_value_not_supported(at.at("hostname"), why)
    allowed = listener.allowed_routes.namespaces
    if allowed.from_ == "Selector":
        selector = at.at("allowedRoutes").at("namespaces").at("selector")
        for refusal in namespaces.refusals(allowed.selector):
            yield problems.listener_value_not_supported(selector, refusal)


def _kinds(listener: crd.Listener, spec: ListenerSpec, at: Place) -> Iterator[Problem]:
    served = {(it.group, it.kind) for it in spec.kinds}
    wanted = listener.allowed_routes.kinds
    strange = [it.kind for it in wanted if (it.group, it.kind) not in served]
    if strange:
        yield problems.kinds_not_supported(at, strange)
