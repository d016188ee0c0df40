"""The Services of a route: which get its requests, in which shares, and which are mirrors.

Shares are computed over all Services of the list before any of them is left out: the traffic of a
Service that cannot be resolved never moves to one with weight 0. A Service whose certificate cannot
be checked as the HTTPProxy demands closes the route. Source: HTTPProxy reference, "Service".
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from crds import httpproxy as crd
from crds import policies
from crds.meta import NamespacedName
from dag import clientcertificate, nodes, services
from dag.configuration import headerdefaults, settings
from dag.engine.view import View
from dag.httpproxy import cookies, headerpolicies
from dag.problems import Problem, Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place
from dag.references import upstreamtls
from dag.values import durations


class UpstreamOptions(NamedTuple):
    """How every Service of a list is reached."""

    balancing: nodes.Balancing = "RoundRobin"
    health_check: nodes.HealthCheck | None = None
    outliers: nodes.OutlierDetection | None = None
    idle_timeout: float | None = None
    sni: str = ""
    """The server name of TLS: the host that requests are forwarded with, if that is rewritten."""
    is_stream: bool = False
    """They get connections, which have any protocol."""


class ServiceCluster(NamedTuple):
    """A Service of a list, and the cluster it is reached by."""

    place: Place
    written: crd.Service
    cluster: nodes.Cluster
    weight: int


def weighted_services(
    view: View, place: Place, written: Sequence[crd.Service], options: UpstreamOptions
) -> Findings[tuple[ServiceCluster, ...]]:
    """The Services that get requests."""
    listed = [(n, it) for n, it in enumerate(written) if not it.mirror]
    is_even = not any(it.weight for _, it in listed)
    found: list[ServiceCluster] = []
    for index, service in listed:
        at = place.at("services", index)
        cluster = yield from _cluster(view, at, service, options)
        if cluster is not None:
            found.append(ServiceCluster(at, service, cluster, 1 if is_even else service.weight))
    return tuple(found)


def mirrors(
    view: View, place: Place, written: Sequence[crd.Service], options: UpstreamOptions
) -> Findings[tuple[nodes.Mirror, ...]]:
    """The mirrors; the weight of a mirror is a percentage."""
    found: list[nodes.Mirror] = []
    for index, service in enumerate(written):
        if service.mirror:
            at = place.at("services", index)
            if service.weight > 100:
                text = "is the percentage of requests that are copied, so it means 100"
                yield problems.ignored_field(at.at("weight"), text)
            cluster = yield from _cluster(view, at, service, options)
            if cluster is not None:
                found.append(nodes.Mirror(cluster, min(service.weight or 100, 100)))
    return tuple(found)


def backends(
    view: View, place: Place, clusters: Iterable[ServiceCluster], route: crd.Route
) -> Iterator[nodes.Backend]:
    """The shares of a route, each with its own headers and cookies."""
    everywhere = view.ask(settings.headers, ())
    for it in clusters:
        at = headerpolicies.Target(place, it.place, it.written.name, it.written.port)
        requests, responses = it.written.request_headers_policy, it.written.response_headers_policy
        own = headerpolicies.of_service(at, requests, route.request_headers_policy, "request")
        answer = headerpolicies.of_service(at, responses, route.response_headers_policy, "response")
        variables = at.variables()
        yield nodes.Backend(
            it.cluster,
            it.weight,
            headerdefaults.request(own, everywhere, variables),
            headerdefaults.response(answer, everywhere, variables),
            headerpolicies.host_of_service(it.place, requests),
            cookies.rewrites(it.place, it.written.cookie_rewrite_policies),
        )


def _cluster(
    view: View, place: Place, service: crd.Service, options: UpstreamOptions
) -> Findings[nodes.Cluster | None]:
    name = NamespacedName(place.subject.namespace, service.name)
    found = view.ask(services.upstream, (name, service.port))
    if isinstance(found, Problem):
        yield problems.service_unresolved(place, found.message)
        return None
    if found.left_out:
        yield problems.endpoints_left_out(place, found.left_out)
    if found.unspoken and not service.protocol and not options.is_stream:
        yield problems.ignored_field(place, found.unspoken)
    protocol = service.protocol or found.protocol
    if protocol in _OVER_TLS and (why := view.ask(clientcertificate.unusable, ())):
        yield problems.client_certificate_not_valid(place, why)
    return nodes.Cluster(
        port=found.port,
        dns=found.dns,
        protocol=protocol,
        balancing=options.balancing,
        tls=_tls(view, place, service, found, protocol, options.sni),
        health_check=options.health_check,
        health_port=_health_port(view, service, found) if options.health_check else None,
        outliers=options.outliers,
        slow_start=_slow_start(place, service.slow_start_policy, options.balancing),
        limits=found.limits,
        idle_timeout=options.idle_timeout,
    )


def _health_port(
    view: View, service: crd.Service, found: services.Upstream
) -> nodes.ServicePort | int | None:
    """Where health is asked for: at a port of the Service, or at one of the endpoints that no port
    of the Service has."""
    if service.health_port is None or found.dns is not None:
        return service.health_port
    if service.health_port == service.port:
        return None
    named = view.ask(services.port, (found.port.service, service.health_port))
    return service.health_port if named is None else named


_OVER_TLS = ("h2", "tls")


def _tls(
    view: View,
    place: Place,
    service: crd.Service,
    upstream: services.Upstream,
    protocol: nodes.UpstreamProtocol,
    sni: str,
) -> nodes.UpstreamTls | None:
    asked = headerpolicies.host_of_service(place, service.request_headers_policy) or sni
    name = asked or upstream.server_name
    if protocol not in _OVER_TLS:
        if service.validation is not None:
            text = "there is no certificate to check without protocol h2 or tls"
            raise Refused(problems.UPSTREAM.not_valid(place.at("validation"), text))
        return None
    if service.validation is None:
        return nodes.UpstreamTls(sni=name) if name else None
    at = place.at("validation")
    return upstreamtls.checked(view, at, service.validation, problems.UPSTREAM, name)


def _slow_start(
    place: Place, policy: policies.SlowStartPolicy | None, balancing: nodes.Balancing
) -> nodes.SlowStart | None:
    if policy is None:
        return None
    at = place.at("slowStartPolicy")
    if balancing not in ("RoundRobin", "WeightedLeastRequest"):
        text = "works with the strategies RoundRobin and WeightedLeastRequest only"
        raise Refused(problems.slow_start_not_valid(at, text))
    window = durations.read(at.at("window"), policy.window, problems.slow_start_not_valid)
    aggression = float(policy.aggression)
    if window <= 0 or not 0 < aggression <= 1000:
        text = "needs a window longer than 0 and an aggression above 0, at most 1000"
        raise Refused(problems.slow_start_not_valid(at, text))
    return nodes.SlowStart(window, aggression, policy.min_weight_percent)
