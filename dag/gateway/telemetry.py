"""Which requests of a Gateway are traced, as an XTelemetryPolicy says (GEP-5253).

The oldest policy holds for a Gateway, on all HTTP listeners of it and its ListenerSets. It replaces
`spec.tracing` of the ContourConfiguration there. If it cannot be served, nothing is traced: spans
would go to a collector that it does not name. Elsewhere: what its owner is told
(`telemetrystatus`).
"""

from collections.abc import Iterator

from crds.gateway.known import unknown_values
from crds.gateway.references import GROUP
from crds.gateway.telemetrypolicy import (
    TelemetryAttribute,
    TelemetryProvider,
    TelemetryTracing,
    XTelemetryPolicy,
)
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass, replace
from dag import nodes, tables
from dag.engine.view import Index, View, query
from dag.gateway import backends, servedlisteners, statusoverflow
from dag.problems import Problem
from dag.problems import telemetry as problems
from dag.problems.places import Findings, Place, gathered
from dag.seniority import Senior, senior

KIND = "XTelemetryPolicy"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a policy asks for."""

    is_default: bool = False
    """The policy asks for the default, as without a policy."""
    tracing: nodes.Tracing | None = None
    """None: nothing is traced."""
    problems: tuple[Problem, ...] = ()


@query
def wanted(view: View, key: NamespacedName) -> Wanted:
    """What a policy asks for, and what is wrong with it."""
    found = view.read(tables.TELEMETRY_POLICIES, key)
    asked = found.spec.tracing if found is not None else None
    if asked is None:
        return Wanted(is_default=True)
    own = problems.policy(key).at("tracing")
    unknown = tuple(
        problems.value_not_known(Place(own.subject, f"{own.path}.{it.path}"), it.message)
        for it in unknown_values(asked)
    )
    if unknown or asked.provider is None:
        is_default = not unknown and asked.mode == "ImplementationDefault"
        return Wanted(is_default, problems=unknown)
    tracing, told = gathered(_tracing(view, asked, asked.provider, own))
    return Wanted(tracing=tracing, problems=told)


@query
def winner(view: View, gateway: NamespacedName) -> NamespacedName | None:
    """The policy that holds for a Gateway: the oldest whose status has room for it."""
    claims = sorted(view.bucket(POLICIES, gateway))
    return next((it.key for it in claims if not is_untold(view, it.key, gateway)), None)


def is_untold(view: View, policy: NamespacedName, gateway: NamespacedName) -> bool:
    """Whether the status of a policy has no room for a Gateway: then it must not hold there."""
    return gateway in (view.read(statusoverflow.UNTOLD, ObjectRef(KIND, *policy)) or ())


@query
def of_listener(view: View, key: nodes.ListenerKey) -> Wanted | None:
    """What the policy of a listener's Gateway asks for; None for the default, or no policy."""
    for maker in view.bucket(servedlisteners.MAKERS, key):
        policy = view.ask(winner, maker.key) if maker.kind == "Gateway" else None
        found = view.ask(wanted, policy) if policy is not None else None
        if found is not None and not found.is_default:
            return replace(found, problems=())
    return None


def collectors(view: View, gateway: NamespacedName) -> tuple[ObjectRef, ...]:
    """The Service or XBackend that the spans of a Gateway go to, whether or not it exists."""
    policy = view.ask(winner, gateway)
    found = view.read(tables.TELEMETRY_POLICIES, policy) if policy is not None else None
    if policy is None or found is None or found.spec.tracing is None:
        return ()
    provider = found.spec.tracing.provider
    referrer = ObjectRef(KIND, *policy)
    return backends.named(view, referrer, [provider.backend_ref] if provider else [])


def _tracing(
    view: View, asked: TelemetryTracing, provider: TelemetryProvider, own: Place
) -> Findings[nodes.Tracing | None]:
    cluster = backends.cluster(view, provider.backend_ref, own.at("provider").at("backendRef"))
    if isinstance(cluster, Problem):
        yield problems.not_resolved(cluster)
        return None
    parents = asked.parent_based_sampling
    rate = parents.sampling_rate if parents is not None else None
    if rate is not None and rate.numerator < rate.denominator:
        at = own.at("parentBasedSampling").at("samplingRate")
        yield problems.value_not_supported(at, "only all requests of sampled parents are traced")
        return None
    for index, it in enumerate(provider.headers):
        if "%" in it.value:
            at = own.at("provider").at("headers", index).at("value")
            yield problems.value_not_supported(at, "Envoy cannot send a % in it")
            return None
    given = asked.sampling_rate
    tags = yield from _tags(asked.attributes, own)
    return nodes.Tracing(
        replace(cluster, protocol="h2c" if cluster.tls is None else "h2"),
        asked.service_name or "contour",
        tags=tags,
        headers=_headers(provider),
        span_name=asked.span_name or "",
        sampling=nodes.Sampling(
            (given.numerator, given.denominator) if given is not None else (1, 1),
            follows_parent=parents is None or parents.mode != "Disabled",
        ),
    )


def _headers(provider: TelemetryProvider) -> tuple[tuple[str, str], ...]:
    """The first of equal names counts."""
    found: dict[str, str] = {}
    for it in provider.headers:
        found.setdefault(it.name.lower(), it.value)
    return tuple(found.items())


def _tags(
    written: tuple[TelemetryAttribute, ...], own: Place
) -> Findings[tuple[nodes.CustomTag, ...]]:
    found: dict[str, nodes.CustomTag] = {}
    for index, it in enumerate(written):
        key = it.attribute_key
        if key is not None and key not in nodes.REQUEST_PROPERTIES:
            at = own.at("attributes", index).at("attributeKey")
            yield problems.attribute_not_known(at, key)
            continue
        tag = nodes.CustomTag(it.name, it.literal_value or "", it.header_name or "", key or "")
        found.setdefault(it.name, tag)
    return tuple(found.values())


def _by_gateway(
    _: NamespacedName, found: XTelemetryPolicy
) -> Iterator[tuple[NamespacedName, Senior]]:
    for it in found.spec.target_refs:
        if (it.group, it.kind) == (GROUP, "Gateway"):
            yield NamespacedName(found.metadata.namespace, it.name), senior(found.metadata)


POLICIES: Index[NamespacedName, Senior] = Index(
    "XTelemetryPolicies of a Gateway", tables.TELEMETRY_POLICIES, _by_gateway
)

INDEXES = (POLICIES,)
