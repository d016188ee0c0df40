"""The forwarding of a route: timeouts, retries, and what changes on the way.

Source: HTTPProxy reference, "TimeoutPolicy", "RetryPolicy", "HTTPInternalRedirectPolicy".
Elsewhere: the Services and their shares (`backends`), how they are spread (`balancing`), prefixes
(`rewrites`), headers (`headerpolicies`).
"""

from crds import httpproxy as crd
from crds import policies
from crds.answers import HTTPInternalRedirectPolicy
from dag import nodes
from dag.configuration import settings
from dag.engine.view import View
from dag.httpproxy import backends, balancing, cookies, headerpolicies, healthchecks, rewrites
from dag.problems import Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place
from dag.values import durations

NOWHERE = nodes.Respond(503)
"""The answer if no Service can take traffic."""


def forward(
    view: View, place: Place, route: crd.Route, match: nodes.Match
) -> Findings[nodes.Forward | nodes.Respond]:
    """Where requests go, or 503 if no Service can take them."""
    rewrite = _rewrite(place, route, match)
    timeout, idle_timeout, idle_connection = _timeouts(place, route.timeout_policy)
    spread = yield from balancing.of_requests(place, route.load_balancer_policy)
    manner = backends.UpstreamOptions(
        spread.balancing,
        healthchecks.of_http(place, route.health_check_policy),
        healthchecks.outliers(place, route.outlier_detection),
        idle_connection,
        rewrite.host if rewrite else "",
    )
    services = yield from backends.weighted_services(view, place, route.services, manner)
    mirrors = yield from backends.mirrors(view, place, route.services, manner)
    redirected = yield from _internal_redirect(view, place, route.internal_redirect_policy)
    forward = nodes.Forward(
        tuple(backends.backends(view, place, services, route)),
        timeout,
        idle_timeout,
        rewrite,
        _retry(place.at("retryPolicy"), route.retry_policy),
        route.enable_websockets,
        mirrors,
        spread.hash_policies,
        redirected,
        cookies.rewrites(place, route.cookie_rewrite_policies),
        missing=503,
    )
    return forward if any(it.weight for it in services) else NOWHERE


def _rewrite(place: Place, route: crd.Route, match: nodes.Match) -> nodes.Rewrite | None:
    host, header = headerpolicies.host(place, route.request_headers_policy)
    prefix = rewrites.prefix(place.at("pathRewritePolicy"), route.path_rewrite_policy, match)
    if not host and not header and prefix is None:
        return None
    return nodes.Rewrite(host=host, host_header=header, prefix=prefix)


def _timeouts(
    place: Place, policy: policies.TimeoutPolicy | None
) -> tuple[float | None, float | None, float | None]:
    """The timeouts: of the answer, of an idle request, and of an idle connection."""
    if policy is None:
        return None, None, None
    at, not_valid = place.at("timeoutPolicy"), problems.timeout_not_valid
    return (
        durations.timeout(at.at("response"), policy.response, not_valid),
        durations.timeout(at.at("idle"), policy.idle, not_valid),
        durations.timeout(at.at("idleConnection"), policy.idle_connection, not_valid),
    )


def _retry(place: Place, policy: policies.RetryPolicy | None) -> nodes.Retry | None:
    if policy is None:
        return None
    codes = policy.retriable_status_codes
    if not all(100 <= it <= 599 for it in codes) or policy.count >= 2**32:
        text = "status codes are from 100 to 599, and the count is less than 4294967296"
        raise Refused(problems.retry_not_valid(place, text))
    per_try = place.at("perTryTimeout")
    return nodes.Retry(
        on=policy.retry_on or ("5xx",),
        attempts=max(policy.count or 1, 0),
        per_try_timeout=durations.timeout(
            per_try, policy.per_try_timeout, problems.timeout_not_valid
        ),
        status_codes=codes,
    )


def _internal_redirect(
    view: View, place: Place, policy: HTTPInternalRedirectPolicy | None
) -> Findings[nodes.InternalRedirect | None]:
    if policy is None:
        return None
    if view.ask(settings.num_trusted_hops, ()):
        yield problems.not_enforced(place.at("internalRedirectPolicy"), _NOT_FOLLOWED)
    wanted = policy.max_internal_redirects
    return nodes.InternalRedirect(
        1 if wanted is None else wanted,
        policy.redirect_response_codes,
        policy.allow_cross_scheme_redirect,
        policy.deny_repeated_route_redirect,
    )


_NOT_FOLLOWED = (
    "redirects to other hosts, and to routes with filters or limits by the client's address, are"
    " passed to the client, since numTrustedHops is set: Envoy no longer knows the address"
)
