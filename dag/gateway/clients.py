"""Client certificates that the TLS listeners of a Gateway ask for (GEP-91, "FrontendTLSConfig").

The configuration of a port replaces the default. A listener whose authorities cannot be read is not
served: without them it would let everybody in. With `AllowInsecureFallback` clients get in with any
certificate or none, and the Gateway's status says so.
"""

from collections.abc import Iterator

from crds.gateway.frontend import FrontendTLSConfig, FrontendTLSValidation
from crds.gateway.known import unknown_values
from crds.gateway.references import GROUP, ObjectReference
from crds.meta import NamespacedName, ObjectRef
from dag import nodes, tables
from dag.engine.view import View, query
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems import listeners as listener_problems
from dag.problems.places import Place
from dag.references import grants, trust


def validation(
    view: View, gateway: NamespacedName, port: int
) -> Iterator[nodes.ClientValidation | Problem]:
    """The check of client certificates on a port; nothing if none are asked for."""
    yield from view.ask(required, (gateway, port))


@query
def required(
    view: View, key: tuple[NamespacedName, int]
) -> tuple[nodes.ClientValidation | Problem, ...]:
    """`validation`, computed once for all listeners of a port."""
    gateway, port = key
    found = view.read(tables.GATEWAYS, gateway)
    frontend = found.spec.tls.frontend if found is not None and found.spec.tls else None
    if frontend is None:
        return ()
    wanted, at = _of_port(frontend, port, problems.gateway(gateway).at("tls").at("frontend"))
    return tuple(_validation(view, wanted, at)) if wanted is not None else ()


@query
def is_insecure(view: View, gateway: NamespacedName) -> bool:
    """Whether some port lets clients in with any certificate or none."""
    found = view.read(tables.GATEWAYS, gateway)
    frontend = found.spec.tls.frontend if found is not None and found.spec.tls else None
    if frontend is None:
        return False
    wanted = (frontend.default.validation, *(it.tls.validation for it in frontend.per_port))
    return any(it is not None and it.mode == "AllowInsecureFallback" for it in wanted)


def _of_port(
    frontend: FrontendTLSConfig, port: int, at: Place
) -> tuple[FrontendTLSValidation | None, Place]:
    for index, own in enumerate(frontend.per_port):
        if own.port == port:
            return own.tls.validation, at.at("perPort", index).at("tls").at("validation")
    return frontend.default.validation, at.at("default").at("validation")


def _validation(
    view: View, wanted: FrontendTLSValidation, at: Place
) -> Iterator[nodes.ClientValidation | Problem]:
    for unknown in unknown_values(wanted):
        field = Place(at.subject, f"{at.path}.{unknown.path}")
        yield listener_problems.listener_value_not_supported(field, unknown.message)
    found = [
        _authority(view, it, at.at("caCertificateRefs", index))
        for index, it in enumerate(wanted.ca_certificate_refs)
    ]
    yield from (it for it in found if isinstance(it, Problem))
    good = tuple(sorted({it for it in found if isinstance(it, ObjectRef)}))
    if not good:
        yield listener_problems.no_valid_authority(at)
    elif wanted.mode == "AllowInsecureFallback":
        yield nodes.ClientValidation(nodes.Trust(good), is_optional=True, accepts_untrusted=True)
    else:
        yield nodes.ClientValidation(nodes.Trust(good))


def _authority(view: View, reference: ObjectReference, at: Place) -> ObjectRef | Problem:
    if why_not := trust.kind_refusal(view, reference.group, reference.kind):
        return listener_problems.authority_kind_not_supported(at, why_not)
    own = at.subject.namespace
    name = NamespacedName(reference.namespace or own, reference.name)
    ref = trust.named(reference.kind, name)
    if ref.namespace and not _is_permitted(view, own, ref):
        return listener_problems.authority_not_permitted(at, reference.kind, name)
    if why := view.ask(trust.refusal, nodes.Trust((ref,))):
        return listener_problems.authority_not_valid(at, why.message)
    return ref


def _is_permitted(view: View, own: str, ref: ObjectRef) -> bool:
    """Whether a Gateway in the namespace `own` may refer to the object."""
    referrer = grants.Referrer(GROUP, "Gateway", own)
    return grants.is_granted(view, referrer, grants.Target("", ref.kind, *ref.key))
