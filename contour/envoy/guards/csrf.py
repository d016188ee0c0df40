"""Requests that change something must come from pages of the same host (CSRF).

Envoy compares the host and the port of `Origin`, or else of `Referer`, with those of the request.
"""

from envoy.extensions.filters.http.csrf.v3 import csrf_pb2 as pb
from envoy.type.v3 import percent_pb2

from contour.envoy import matches
from dag import nodes

NAME = "envoy.filters.http.csrf"
_ALL = 1_000_000


def installed() -> pb.CsrfPolicy:
    """Without a policy nothing is compared."""
    return _of(0)


def policy(node: nodes.Csrf) -> pb.CsrfPolicy:
    """The origins that may send requests which change something.

    If only a share is enforced, Envoy compares all requests and draws those that it answers 403.
    """
    result = _of(node.enforced)
    if node.enforced < _ALL:
        result.shadow_enabled.default_value.CopyFrom(_share(_ALL))
    for it in node.origins:
        target = result.additional_origins.add()
        if it.operator == "present":
            target.safe_regex.regex = ".*"
        else:
            matches.write_value(target, it)
    return result


def off() -> pb.CsrfPolicy:
    """Turns off the virtual host's policy."""
    return _of(0)


def _of(enforced: int) -> pb.CsrfPolicy:
    result = pb.CsrfPolicy()
    result.filter_enabled.default_value.CopyFrom(_share(enforced))
    return result


def _share(number: int) -> percent_pb2.FractionalPercent:
    return percent_pb2.FractionalPercent(
        numerator=number, denominator=percent_pb2.FractionalPercent.MILLION
    )
