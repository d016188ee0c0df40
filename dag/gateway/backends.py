"""Where the traffic of a rule goes: its backendRefs by weight (Gateway API, "BackendRef").

They name Services or, where their CRDs are installed, XBackends (`xbackends`) and Backends
(`envoybackends`).
A reference that leads nowhere keeps its share of the requests, which are answered 500; so are
those of a rule that has none. What is told of a reference into another namespace without a grant
does not depend on whether its target is there. How TLS is spoken to a backend is said by a
BackendTLSPolicy (`policies`); one that cannot be met closes the backend. Where the TLS of clients
is passed on, none of ours is spoken, whatever policies and backends say.
"""

from collections.abc import Iterable, Iterator, Sequence

from crds.gateway.references import EXPERIMENTAL_GROUP, BackendObjectReference
from crds.gateway.routes import BackendRef
from crds.kinds import ENVOY_GATEWAY
from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag import nodes, tables
from dag import services as upstreams
from dag.engine.view import View
from dag.gateway import backendtraffic, datagrams, envoybackends, policies, xbackends
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.problems.reasons import Referent
from dag.references import grants

H2C = "kubernetes.io/h2c"
WEBSOCKETS = "kubernetes.io/ws"
SECURE_WEBSOCKETS = "kubernetes.io/wss"
PROTOCOLS = frozenset({"", "http", H2C, WEBSOCKETS})
"""The values of `appProtocol` that are served."""
PROTOCOLS_OVER_TLS = PROTOCOLS | {"https", "kubernetes.io/https", SECURE_WEBSOCKETS}
"""The values that are served if a policy says how TLS is spoken."""


def clusters(
    view: View, references: Sequence[BackendRef], at: Place, *, is_passed: bool = False
) -> Iterator[nodes.Cluster | Problem | None]:
    """For each reference its cluster, or None where it leads nowhere, after why that is so; if the
    TLS of clients is passed on, those that get it."""
    for index, reference in enumerate(references):
        place = at.at("backendRefs", index)
        found = (_passed if is_passed else cluster)(view, reference, place)
        if isinstance(found, Problem):
            yield found
            yield None
        else:
            yield from _left_out(view, found, place)
            yield found


def _left_out(view: View, found: nodes.Cluster, at: Place) -> Iterator[Problem]:
    if found.port.kind != "Service":
        return
    upstream = _asked(view, at.subject.kind, (found.port.service, found.port.port))
    if isinstance(upstream, upstreams.Upstream) and upstream.left_out:
        yield problems.endpoints_left_out(at, upstream.left_out)


def cluster(view: View, reference: BackendObjectReference, at: Place) -> nodes.Cluster | Problem:
    """What a reference leads to, or why it leads nowhere."""
    found = _cluster(view, reference, at)
    if isinstance(found, Problem) or at.subject.kind not in _REQUEST_KINDS:
        return found
    return backendtraffic.bounded(view, found)


_REQUEST_KINDS = frozenset({"HTTPRoute", "GRPCRoute"})


def _passed(view: View, reference: BackendObjectReference, at: Place) -> nodes.Cluster | Problem:
    found = _cluster(view, reference, at, is_passed=True)
    return found if isinstance(found, Problem) else replace(found, tls=None)


def _cluster(
    view: View, reference: BackendObjectReference, at: Place, *, is_passed: bool = False
) -> nodes.Cluster | Problem:
    if (reference.group, reference.kind) == (EXPERIMENTAL_GROUP, xbackends.KIND):
        return _xbackend(view, reference, at)
    if (reference.group, reference.kind) == (ENVOY_GATEWAY, envoybackends.KIND):
        return _backend(view, reference, at)
    found = _upstream(view, reference, at)
    if isinstance(found, Problem):
        return found
    tls = None
    if not is_passed and at.subject.kind not in RAW_KINDS:
        tls = view.ask(policies.tls_towards, found.port)
    if isinstance(tls, Problem):
        return problems.backend_not_trusted(at, tls.message)
    served = PROTOCOLS if tls is None else PROTOCOLS_OVER_TLS
    is_stream = at.subject.kind in STREAM_KINDS
    if found.app_protocol not in served and not is_stream:
        why = f"appProtocol {found.app_protocol!r} is not served"
        return problems.backend_protocol_not_supported(at, why)
    return nodes.Cluster(
        port=found.port,
        dns=found.dns,
        protocol="http/1.1" if is_stream else _protocol(found, tls, at.subject.kind),
        tls=tls,
        limits=found.limits,
    )


STREAM_KINDS = frozenset({"TLSRoute", "TCPRoute", "UDPRoute"})
RAW_KINDS = frozenset({"TCPRoute", "UDPRoute"})
"""Routes that pass on bytes unchanged: TLS, if any, is between client and backend."""


def _protocol(
    found: upstreams.Upstream, tls: nodes.UpstreamTls | None, kind: str
) -> nodes.UpstreamProtocol:
    """The protocol towards a backend; gRPC needs HTTP/2, whatever the Service says."""
    is_http2 = kind == "GRPCRoute" or found.protocol in {"h2c", "h2"}
    if tls is None and found.protocol not in {"h2", "tls"}:
        return "h2c" if is_http2 else "http/1.1"
    return "h2" if is_http2 else "tls"


def named(
    view: View, route: ObjectRef, references: Iterable[BackendObjectReference]
) -> tuple[ObjectRef, ...]:
    """The Services, XBackends and Backends that a route leads to, sorted, whether or not they
    exist."""
    found = {_named(it, route) for it in references if (it.group, it.kind) in _KINDS}
    return tuple(sorted(it for it in found if _is_granted(view, route, it)))


_KINDS = frozenset(
    {
        ("", "Service"),
        (EXPERIMENTAL_GROUP, xbackends.KIND),
        (ENVOY_GATEWAY, envoybackends.KIND),
    }
)


def _named(reference: BackendObjectReference, route: ObjectRef) -> ObjectRef:
    return ObjectRef(reference.kind, reference.namespace or route.namespace, reference.name)


def _is_granted(view: View, route: ObjectRef, target: ObjectRef) -> bool:
    return grants.is_granted(view, grants.referrer(route), grants.backend(target))


def _not_granted(at: Place, target: ObjectRef) -> Problem:
    why = f"no ReferenceGrant in namespace {target.namespace} permits {target}"
    return problems.backend_not_permitted(at, why)


def _xbackend(view: View, reference: BackendObjectReference, at: Place) -> nodes.Cluster | Problem:
    target = _named(reference, at.subject)
    if refusal := _refusal(view, target, at):
        return refusal
    if reference.port is not None:
        return problems.backend_not_found(at, f"Must not have port for {target}: it has its own")
    return xbackends.cluster(view, target.key, at)


def _backend(view: View, reference: BackendObjectReference, at: Place) -> nodes.Cluster | Problem:
    """The cluster of a Backend. A `port` of the reference is ignored: each endpoint has its own."""
    target = _named(reference, at.subject)
    return _refusal(view, target, at) or envoybackends.cluster(view, target.key, at)


def _refusal(view: View, target: ObjectRef, at: Place) -> Problem | None:
    """Why an object of a kind whose CRD may be missing must not be referred to, whether or not it
    exists."""
    if view.read(tables.ABSENT, target.kind):
        why = f"the API server does not serve kind {target.kind}; use Service"
        return problems.backend_kind_not_supported(at, why)
    return None if _is_granted(view, at.subject, target) else _not_granted(at, target)


def _upstream(
    view: View, reference: BackendObjectReference, at: Place
) -> upstreams.Upstream | Problem:
    if (reference.group, reference.kind) != ("", "Service") or reference.port is None:
        kind = f"{reference.group}/{reference.kind}".lstrip("/")
        why = f"kind {kind} is not supported; use Service, {xbackends.KIND} or {envoybackends.KIND}"
        return problems.backend_kind_not_supported(at, why)
    target = _named(reference, at.subject)
    if not _is_granted(view, at.subject, target):
        return _not_granted(at, target)
    match _asked(view, at.subject.kind, (target.key, reference.port)):
        case Problem(reason=Referent.PortNotTCP) as found:
            return problems.backend_protocol_not_supported(at, found.message)
        case Problem() as found:
            return problems.backend_not_found(at, found.message)
        case upstreams.Upstream() as found:
            return found


def _asked(view: View, kind: str, key: tuple[NamespacedName, int]) -> upstreams.Upstream | Problem:
    """What a Service port leads to: its UDP port for a UDPRoute, else its TCP port."""
    return view.ask(datagrams.upstream if kind == "UDPRoute" else upstreams.upstream, key)


def has_tls_policy(view: View, port: nodes.ServicePort) -> bool:
    """Whether a BackendTLSPolicy says how TLS is spoken to a backend."""
    if port.kind == envoybackends.KIND:
        return view.ask(envoybackends.wanted, port.service).has_tls_policy
    return port.kind == "Service" and view.ask(policies.tls_towards, port) is not None


def is_for_websockets(view: View, found: nodes.Cluster | None) -> bool:
    """Whether a backend says that it serves WebSockets."""
    if found is None:
        return False
    if found.port.kind == xbackends.KIND:
        return view.ask(xbackends.wanted, found.port.service).protocol == "WSS"
    if found.port.kind == envoybackends.KIND:
        return envoybackends.is_for_websockets(view, found.port.service)
    upstream = view.ask(upstreams.upstream, (found.port.service, found.port.port))
    return isinstance(upstream, upstreams.Upstream) and upstream.app_protocol in {
        WEBSOCKETS,
        SECURE_WEBSOCKETS,
    }
