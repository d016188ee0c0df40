"""What a route answers by itself: a redirect, or a response.

Source: HTTPProxy reference, "HTTPRequestRedirectPolicy", "HTTPDirectResponsePolicy".
"""

from crds import answers as crd
from dag import nodes
from dag.problems import Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place
from dag.values import headers, statuses

MAX_BODY = 4096
"""Bytes; Envoy refuses a whole RouteConfiguration for a longer one."""


def redirect(
    place: Place, policy: crd.HTTPRequestRedirectPolicy, match: nodes.Match
) -> nodes.Redirect:
    """The redirect of a route."""
    if policy.path is not None and policy.prefix is not None:
        raise Refused(problems.redirect_not_valid(place, "path and prefix cannot both be set"))
    if policy.prefix is not None and not isinstance(match.path, nodes.Prefix):
        raise Refused(
            problems.redirect_not_valid(
                place.at("prefix"), "replaces a prefix, but the route matches none"
            )
        )
    for written in (policy.path, policy.prefix):
        if written is not None and (refusal := headers.value_refusal(written)):
            raise Refused(problems.redirect_not_valid(place, f"the path {refusal}"))
    return nodes.Redirect(
        status=policy.status_code,
        scheme=policy.scheme,
        host=policy.hostname,
        port=policy.port,
        full_path=policy.path,
        prefix=policy.prefix,
    )


def response(place: Place, policy: crd.HTTPDirectResponsePolicy) -> Findings[nodes.Respond]:
    """The direct response of a route."""
    size = len(policy.body.encode())
    if size > MAX_BODY:
        text = f"has {size} bytes, more than {MAX_BODY}"
        raise Refused(problems.response_not_valid(place.at("body"), text))
    body = yield from sent(place.at("body"), policy.status_code, policy.body)
    return nodes.Respond(policy.status_code, body)


def sent(place: Place, status: int | None, body: str) -> Findings[str]:
    """The body that clients get of an answer: none with some statuses."""
    why = statuses.body_refusal(status)
    if not body or why is None:
        return body
    yield problems.ignored_field(place, f"has no effect: {why}")
    return ""
