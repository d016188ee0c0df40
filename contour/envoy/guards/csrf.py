"""Requests that change something come from pages of the host that they ask (CSRF).

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
    """Who may send what changes something.

    Where a share is not enforced, Envoy compares all requests and draws which it answers 403.
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
    """In place of the virtual host's."""
    return _of(0)


def _of(enforced: int) -> pb.CsrfPolicy:
    result = pb.CsrfPolicy()
    result.filter_enabled.default_value.CopyFrom(_share(enforced))
    return result


def _share(number: int) -> percent_pb2.FractionalPercent:
    return percent_pb2.FractionalPercent(
        numerator=number, denominator=percent_pb2.FractionalPercent.MILLION
    )
