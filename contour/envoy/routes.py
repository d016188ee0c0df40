"""One route: its match, its action, and the object that it comes from.

A route is named after the object that it comes from, for access logs (`%ROUTE_NAME%`). Contour also
puts that into metadata, which costs Envoy 3 KB per route, a third of its memory with 10,000 hosts.
So only routes with WebSockets have metadata, and all routes if an access log asks for it.
"""

from envoy.config.route.v3 import route_components_pb2 as pb

from contour.envoy import encoding, forwarding, headers, matches, redirects, shards
from contour.envoy.guards import cookies, policies, ratelimits
from crds.meta import ObjectRef
from dag import nodes


def write_route(
    target: pb.Route, node: nodes.Route, host: nodes.VirtualHost, names: forwarding.ClusterNames
) -> None:
    """Fills in a route of a virtual host."""
    target.name = "/".join(node.origin)
    matches.write_match(target.match, node.match)
    if isinstance(node.action, nodes.Respond):
        headers.write_policies(target, None, node.action.headers)
    headers.write_policies(target, node.request_headers, node.response_headers)
    match node.action:
        case nodes.Redirect() as redirect:
            redirects.write_redirect(target.redirect, redirect, node.match.path, host.host)
        case nodes.Respond() as respond:
            _write_response(target.direct_response, respond)
        case nodes.Forward(backends) as forward if any(it.cluster and it.weight for it in backends):
            forwarding.write_forward(target.route, forward, node.match.path, names)
            if forward.websockets:
                target.metadata.filter_metadata[shards.ADMISSION][shards.UPGRADE] = "websocket"
            if forward.cookies:
                rewrites = encoding.packed(cookies.policy(forward.cookies))
                target.typed_per_filter_config[cookies.NAME].CopyFrom(rewrites)
        case nodes.Forward() as forward:
            target.direct_response.status = forward.missing
    if node.policies is not None:
        _write_guards(target, policies.needed(node.policies, host.policies), names)


def write_origin(target: pb.Route, origin: ObjectRef) -> None:
    """Adds the object that a route comes from as metadata for access logs, as Contour does."""
    told = target.metadata.filter_metadata["envoy.access_loggers.file"]
    for name, value in zip(("kind", "namespace", "name"), origin, strict=True):
        told[f"io.projectcontour.{name}"] = value


def _write_guards(target: pb.Route, node: nodes.Policies, names: forwarding.ClusterNames) -> None:
    policies.write_policies(target, node, names)
    if isinstance(node.rate_limits, nodes.RateLimits) and target.HasField("route"):
        ratelimits.write_descriptors(target.route, node.rate_limits)


def _write_response(target: pb.DirectResponseAction, node: nodes.Respond) -> None:
    target.status = node.status
    if not isinstance(node.body, str):
        target.body_format.text_format_source.inline_string = headers.formatted(node.body)
    elif node.body:
        target.body.inline_string = node.body
