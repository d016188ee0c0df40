"""ExtensionServices: services that Envoy itself calls, and their statuses.

A reference that leads nowhere gets no share. Without any valid one there is no cluster, and what
needs the service is closed. Source: ExtensionService reference. Elsewhere: what calls the service
(`authorization`, `settings`).
"""

from collections.abc import Mapping

from crds.extensionservice import ExtensionService, ExtensionServiceTarget
from crds.meta import NamespacedName
from crds.policies import TimeoutPolicy
from crds.records import dataclass
from dag import clientcertificate, contourstatus, limits, nodes, services, tables
from dag.engine.view import Query, View, query
from dag.problems import Problem, Refused
from dag.problems import extensions as problems
from dag.problems.places import Findings, Place, gathered
from dag.problems.reasons import Referent
from dag.references import upstreamtls
from dag.statuses import ContourStatus
from dag.values import durations, strategies, weights


@dataclass(frozen=True, slots=True)
class Extension:
    """An ExtensionService, read."""

    cluster: nodes.ExtensionCluster | None
    """None if it cannot be asked."""
    timeout: float | None = None
    """Seconds that an answer may take; None leaves it to the object that names the service."""
    problems: tuple[Problem, ...] = ()


@query
def extension(view: View, key: NamespacedName) -> Extension | None:
    """The ExtensionService, read; None if there is no such object."""
    found = view.read(tables.EXTENSION_SERVICES, key)
    if found is None:
        return None
    (cluster, timeout), told = gathered(_cluster(view, found))
    return Extension(cluster, timeout, told)


@query
def status(view: View, key: NamespacedName) -> ContourStatus | None:
    """The status of an ExtensionService."""
    found = view.ask(extension, key)
    return contourstatus.status(problems.KIND, found.problems) if found is not None else None


def _cluster(
    view: View, found: ExtensionService
) -> Findings[tuple[nodes.ExtensionCluster | None, float | None]]:
    place, spec = problems.spec(found.metadata.key), found.spec
    protocol = spec.protocol or "h2"
    ports = yield from _ports(view, place, spec.services)
    balancing = yield from _balancing(place, found)
    try:
        timeout, idle = _timeouts(place.at("timeoutPolicy"), spec.timeout_policy)
        tls = _tls(view, place.at("validation"), found, protocol)
    except Refused as refused:
        yield refused.problem
        return None, None
    if protocol == "h2" and (why := view.ask(clientcertificate.unusable, ())):
        yield problems.client_certificate_not_valid(place.at("services"), why)
    if spec.timeout_policy is not None and spec.timeout_policy.idle is not None:
        yield problems.ignored_field(place.at("timeoutPolicy").at("idle"))
    most = limits.written(spec.circuit_breaker_policy)
    cluster = nodes.ExtensionCluster(
        found.metadata.key, ports, protocol, balancing, tls, most, idle
    )
    return (cluster if ports else None), timeout


def _ports(
    view: View, place: Place, written: tuple[ExtensionServiceTarget, ...]
) -> Findings[tuple[nodes.WeightedPort, ...]]:
    is_even = not any(it.weight for it in written)
    ports: list[nodes.WeightedPort] = []
    for index, target in enumerate(written):
        at = place.at("services", index)
        name = NamespacedName(place.subject.namespace, target.name)
        upstream = view.ask(services.upstream, (name, target.port))
        if isinstance(upstream, Problem):
            is_external = upstream.reason is Referent.ExternalNameRefused
            say = problems.external_name if is_external else problems.service_unresolved
            yield say(at, upstream.message)
        elif upstream.dns is not None:
            yield problems.external_name(at, f"Service {name} is of type ExternalName")
        elif is_even or target.weight:
            if upstream.left_out:
                yield problems.endpoints_left_out(at, upstream.left_out)
            ports.append(nodes.WeightedPort(upstream.port, target.weight or 1))
    counted = weights.scaled([it.weight for it in ports])
    return tuple(it._replace(weight=n) for it, n in zip(ports, counted, strict=True))


def _balancing(place: Place, found: ExtensionService) -> Findings[nodes.Balancing]:
    policy = found.spec.load_balancer_policy
    strategy = policy.strategy if policy is not None else ""
    if strategy not in strategies.PLAIN:
        yield problems.ignored_field(place.at("loadBalancerPolicy").at("strategy"))
    return strategies.PLAIN.get(strategy, "RoundRobin")


def _timeouts(place: Place, policy: TimeoutPolicy | None) -> tuple[float | None, float | None]:
    """The timeouts: of an answer, and of an idle connection."""
    if policy is None:
        return None, None
    idle = place.at("idleConnection")
    return (
        durations.timeout(place.at("response"), policy.response, problems.timeout_not_valid),
        durations.timeout(idle, policy.idle_connection, problems.timeout_not_valid),
    )


def _tls(
    view: View, place: Place, found: ExtensionService, protocol: str
) -> nodes.UpstreamTls | None:
    validation = found.spec.validation
    if validation is None:
        return None
    if protocol != "h2":
        text = "there is no certificate to check without protocol h2"
        raise Refused(problems.validation_without_tls(place, text))
    return upstreamtls.checked(view, place, validation, problems.UPSTREAM)


STATUSES: Mapping[str, Query[NamespacedName, ContourStatus | None]] = {"ExtensionService": status}
