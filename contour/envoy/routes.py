"""One route: what it matches, what is done, and whose it is.

The object that asked for a route is named in its metadata, under the keys that access logs of
Contour use (`%METADATA(ROUTE:envoy.access_loggers.file:io.projectcontour.name)%`).
"""

from functools import lru_cache

from envoy.config.route.v3 import route_components_pb2 as pb

from contour.envoy import encoding, forwarding, headers, matches, redirects
from crds.meta import ObjectRef
from dag import nodes

_METADATA = "envoy.access_loggers.file"


def write_route(
    target: pb.Route, node: nodes.Route, host: str, names: forwarding.ClusterNames
) -> None:
    """Fills in a route of the virtual host `host`."""
    target.MergeFromString(_owner(node.origin))
    matches.write_match(target.match, node.match)
    headers.write_policies(target, node.request_headers, node.response_headers)
    match node.action:
        case nodes.Redirect() as redirect:
            redirects.write_redirect(target.redirect, redirect, node.match.path, host)
        case nodes.Respond() as respond:
            _write_response(target.direct_response, respond)
        case nodes.Forward(backends) as forward if any(it.cluster and it.weight for it in backends):
            forwarding.write_forward(target.route, forward, node.match.path, names)
        case nodes.Forward():
            target.direct_response.status = 500


def _write_response(target: pb.DirectResponseAction, node: nodes.Respond) -> None:
    target.status = node.status
    if node.body:
        target.body.inline_string = node.body


@lru_cache(maxsize=65536)
def _owner(origin: ObjectRef) -> bytes:
    """The metadata of a route, encoded: most objects own several."""
    result = pb.Route()
    owner = result.metadata.filter_metadata[_METADATA]
    owner["io.projectcontour.kind"] = origin.kind
    owner["io.projectcontour.namespace"] = origin.namespace
    owner["io.projectcontour.name"] = origin.name
    return encoding.encoded(result)
