"""How a route forwards: to which Services, in which shares, within which limits.

Shares are told over all Services of the list before any of them is left out: a Service that
cannot be resolved never moves its traffic to one that was given none. Source: HTTPProxy
reference, "Service", "TimeoutPolicy", "RetryPolicy", "LoadBalancerPolicy". Elsewhere: prefixes
(`rewrites`), headers (`headerpolicies`).
"""

from typing import get_args

from crds import httpproxy as crd
from crds import policies
from crds.meta import NamespacedName
from dag import durations, nodes, services
from dag.httpproxy import headerpolicies, rewrites
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place, Refused
from dag.view import View

NOWHERE = nodes.Respond(503)
"""What is answered where no Service can take traffic."""


def forward(
    view: View, place: Place, route: crd.Route, match: nodes.Match
) -> Findings[nodes.Forward | nodes.Respond]:
    """Where requests go, or 503 where nothing can take them."""
    host = yield from headerpolicies.host(place, route.request_headers_policy)
    prefix = rewrites.prefix(place.at("pathRewritePolicy"), route.path_rewrite_policy, match)
    timeout, idle_timeout = _timeouts(place.at("timeoutPolicy"), route.timeout_policy)
    retry = _retry(place.at("retryPolicy"), route.retry_policy)
    backends = yield from _backends(view, place, route)
    if not any(it.weight for it in backends):
        return NOWHERE
    return nodes.Forward(
        backends,
        timeout,
        idle_timeout,
        nodes.Rewrite(host=host, prefix=prefix) if host or prefix is not None else None,
        retry,
        route.enable_websockets,
    )


def _backends(view: View, place: Place, route: crd.Route) -> Findings[tuple[nodes.Backend, ...]]:
    balancing = yield from _balancing(place.at("loadBalancerPolicy"), route.load_balancer_policy)
    takers = [(n, it) for n, it in enumerate(route.services) if not it.mirror]
    is_even = not any(it.weight for _, it in takers)
    found = []
    for index, service in takers:
        at = place.at("services", index)
        cluster = yield from _cluster(view, at, service, balancing)
        if cluster is not None:
            found.append(nodes.Backend(cluster, 1 if is_even else service.weight))
    return tuple(found)


def _cluster(
    view: View, place: Place, service: crd.Service, balancing: nodes.Balancing
) -> Findings[nodes.Cluster | None]:
    name = NamespacedName(place.subject.namespace, service.name)
    found = view.ask(services.upstream, (name, service.port))
    if isinstance(found, services.Unresolved):
        yield problems.service_unresolved(place, found.message)
        return None
    protocol: nodes.UpstreamProtocol = "h2c" if service.protocol == "h2c" else found.protocol
    return nodes.Cluster(found.port, found.dns, protocol, balancing)


def _balancing(
    place: Place, policy: policies.LoadBalancerPolicy | None
) -> Findings[nodes.Balancing]:
    strategy = policy.strategy if policy is not None else ""
    for known in get_args(nodes.Balancing):
        if strategy == known:
            return known  # type: ignore[no-any-return]
    if strategy not in {"", "Cookie", "RequestHash"}:  # those two are told as not served yet
        yield problems.ignored_field(place.at("strategy"), f"{strategy!r} is no strategy")
    return "RoundRobin"


def _timeouts(
    place: Place, policy: policies.TimeoutPolicy | None
) -> tuple[float | None, float | None]:
    if policy is None:
        return None, None
    return _timeout(place.at("response"), policy.response), _timeout(place.at("idle"), policy.idle)


def _timeout(place: Place, text: str | None) -> float | None:
    try:
        return durations.timeout(text)
    except ValueError as why:
        raise Refused(problems.route_not_valid(place, "TimeoutPolicyNotValid", str(why))) from None


def _retry(place: Place, policy: policies.RetryPolicy | None) -> nodes.Retry | None:
    if policy is None:
        return None
    codes = policy.retriable_status_codes
    if not all(100 <= it <= 599 for it in codes) or policy.count >= 2**32:
        text = "status codes are from 100 to 599, and the count is less than 4294967296"
        raise Refused(problems.route_not_valid(place, "RetryPolicyNotValid", text))
    return nodes.Retry(
        on=policy.retry_on or ("5xx",),
        attempts=max(policy.count or 1, 0),
        per_try_timeout=_timeout(place.at("perTryTimeout"), policy.per_try_timeout),
        status_codes=codes,
    )
