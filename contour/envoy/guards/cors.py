"""Requests from other origins (CORS): Envoy answers preflights.

For Envoy `*` means any origin; it answers with the origin of the request, never with `*`, so that
credentials work, too. Envoy applies no CORS policy to a route without a cluster: redirects and
direct responses have no CORS headers, so nothing is opened; rules warn about that.
"""

from envoy.extensions.filters.http.cors.v3 import cors_pb2 as pb

from contour.envoy import matches
from dag import nodes

NAME = "envoy.filters.http.cors"


def installed() -> pb.Cors:
    """Without a policy nothing is done."""
    return pb.Cors()


def policy(node: nodes.Cors) -> pb.CorsPolicy:
    """What browsers are told."""
    result = pb.CorsPolicy(
        allow_methods=",".join(node.methods),
        allow_headers=",".join(node.headers),
        expose_headers=",".join(node.exposed),
        max_age="" if node.max_age is None else str(node.max_age),
    )
    for origin in node.origins:
        target = result.allow_origin_string_match.add()
        if origin.operator == "present":
            target.exact = "*"
        else:
            matches.write_value(target, origin)
    result.allow_credentials.value = node.credentials
    result.allow_private_network_access.value = node.private_network
    # A backend that answers OPTIONS for every path would admit origins that we do not.
    result.forward_not_matching_preflights.value = False
    return result


def off() -> pb.CorsPolicy:
    """Turns off the virtual host's policy."""
    result = pb.CorsPolicy()
    result.filter_enabled.default_value.SetInParent()
    return result
