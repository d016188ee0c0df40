"""Guards of a `tcpproxy`: those of its host that need no request.

IP filters and limits apply, where a limit counts connections. A guard that needs requests (tokens,
authorization, origins, headers to count by) cannot be served, and is never just left out: it closes
all connections, and the status says so. `routes` beside a `tcpproxy` keep all guards of the host.
Source: HTTPProxy reference, "VirtualHost", "TCPProxy".
"""

from collections.abc import Iterable, Iterator

from crds import virtualhost
from crds.meta import NamespacedName
from dag import defaults, nodes
from dag.engine.view import View
from dag.httpproxy import guards
from dag.problems import Problem
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place

CLOSED = nodes.Stream((nodes.WeightedCluster(None),))

_OFF = (
    "a connection of a tcpproxy is no request to be authorized; "
    "authorization.authPolicy.disabled has nobody asked"
)


def guarded(
    view: View,
    place: Place,
    host: virtualhost.VirtualHost,
    found: guards.HostGuards,
    stream: nodes.Stream,
) -> Findings[nodes.Stream]:
    """The stream with its guards; closed if one of them cannot be served for streams."""
    policies = found.policies or nodes.Policies()
    refusals = tuple(_refusals(place, host, policies))
    descriptors, told = _descriptors(view, place, host, policies)
    yield from (*refusals, *told)
    if refusals or any(it.severity == "error" for it in told):
        return CLOSED
    made = nodes.StreamGuards(
        ip_filter=policies.ip_filter if isinstance(policies.ip_filter, nodes.IpFilter) else None,
        limit=_limit(place.subject.key, policies),
        descriptors=descriptors,
    )
    if made == nodes.StreamGuards():
        return stream
    return nodes.Stream(stream.shares, stream.idle_timeout, made)


def _refusals(
    place: Place, host: virtualhost.VirtualHost, policies: nodes.Policies
) -> Iterator[Problem]:
    """The guards that need requests. Upstream has reasons for the first two."""
    if host.jwt_providers:
        text = "a connection of a tcpproxy shows no token"
        yield problems.stream_without_tokens(place.at("jwtProviders"), text)
    if isinstance(policies.authorization, nodes.Authorization):
        yield problems.stream_without_authorization(place.at("authorization"), _OFF)
    if host.cors_policy is not None:
        text = "a connection of a tcpproxy has no origin"
        yield problems.stream_without_cors(place.at("corsPolicy"), text)
    if host.max_request_bytes is not None:
        text = "a connection of a tcpproxy has no requests to be measured"
        yield problems.stream_without_size(place.at("maxRequestBytes"), text)


def _limit(root: NamespacedName, policies: nodes.Policies) -> nodes.ConnectionLimit | None:
    found = policies.local_rate_limit
    if not isinstance(found, nodes.LocalRateLimit):
        return None
    return nodes.ConnectionLimit(found.requests, found.unit, found.burst, str(root))


Descriptors = tuple[tuple[nodes.GenericKey | nodes.RemoteAddress, ...], ...]


def _descriptors(
    view: View, place: Place, host: virtualhost.VirtualHost, policies: nodes.Policies
) -> tuple[Descriptors, tuple[Problem, ...]]:
    """The descriptors of a connection for the rate limit service, and problems with the others.

    Of a default of the configuration the usable ones count: its author did not know this host.
    """
    limits = policies.rate_limits
    if not isinstance(limits, nodes.RateLimits) or not view.ask(defaults.counts, ()):
        return (), ()
    found = tuple(tuple(_of_connections(it)) for it in limits.descriptors)
    kept = tuple(
        it for it, written in zip(found, limits.descriptors, strict=True) if len(it) == len(written)
    )
    if len(kept) == len(found):
        return kept, ()
    at, text = place.at("rateLimitPolicy"), "a connection of a tcpproxy has no headers to count by"
    if host.rate_limit_policy is not None and host.rate_limit_policy.global_ is not None:
        at = at.at("global").at("descriptors")
        return kept, (problems.stream_without_headers(at, text),)
    text = f"a default of the configuration has no effect: {text}"
    return kept, (problems.not_enforced(at, text),)


def _of_connections(
    entries: Iterable[nodes.DescriptorEntry],
) -> Iterator[nodes.GenericKey | nodes.RemoteAddress]:
    return (it for it in entries if isinstance(it, nodes.GenericKey | nodes.RemoteAddress))
