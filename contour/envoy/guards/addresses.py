"""Which client addresses may send requests: Envoy's RBAC filter, with one rule."""

import ipaddress
from collections.abc import Iterable

from envoy.config.rbac.v3 import rbac_pb2 as rules_pb
from envoy.extensions.filters.http.rbac.v3 import rbac_pb2 as pb

from dag import nodes

NAME = "envoy.filters.http.rbac"


def installed() -> pb.RBAC:
    """Without rules every request passes."""
    return pb.RBAC()


def policy(node: nodes.IpFilter) -> pb.RBACPerRoute:
    """Only these addresses, or all but these."""
    result = pb.RBACPerRoute()
    write_rules(result.rbac.rules, node)
    return result


def write_rules(target: rules_pb.RBAC, node: nodes.IpFilter) -> None:
    """Fills in the rules, for requests and for connections."""
    target.action = rules_pb.RBAC.Action.Value(node.action)
    rule = target.policies["addresses"]
    rule.permissions.add(any=True)
    for it in node.ranges:
        rule.principals.append(principal(it))
    if not node.ranges:
        rule.principals.add().not_id.any = True


def off() -> pb.RBACPerRoute:
    """Turns off the virtual host's rules."""
    return pb.RBACPerRoute()


def principal(node: nodes.IpRange) -> rules_pb.Principal:
    """Clients with one of these addresses."""
    target = rules_pb.Principal()
    network = ipaddress.ip_network(node.cidr, strict=False)
    cidr = target.direct_remote_ip if node.source == "Peer" else target.remote_ip
    cidr.address_prefix = str(network.network_address)
    cidr.prefix_len.value = network.prefixlen
    return target


def is_judged(route: nodes.Policies | None, host: nodes.Policies | None) -> bool:
    """Whether a guard of a route depends on the client's address, which may come from headers."""
    return any(_judges(_held(it, route, host)) for it in _BY_ADDRESS)


_BY_ADDRESS = ("ip_filter", "access", "local_rate_limit", "rate_limits", "limits")


_ByAddress = (
    nodes.IpFilter
    | nodes.Access
    | nodes.RateLimits
    | nodes.LocalRateLimit
    | nodes.LocalLimits
    | tuple[nodes.Limit, ...]
    | nodes.Off
    | None
)


def _held(kind: str, route: nodes.Policies | None, host: nodes.Policies | None) -> _ByAddress:
    own = getattr(route, kind, None)
    return own if own is not None else getattr(host, kind, None)


def _judges(found: _ByAddress) -> bool:
    match found:
        case nodes.IpFilter():
            return _are_of_clients(found.ranges)
        case nodes.Access():
            return any(_are_of_clients(it.ranges) for it in found.rules)
        case nodes.RateLimits():
            return any(map(_counts_by_address, found.descriptors))
        case nodes.LocalLimits():
            return any(_counts_by_address(it.entries) for it in found.limits)
        case tuple():
            return any(_counts_by_address(it.entries) for it in found)
        case _:
            return False


def _are_of_clients(ranges: Iterable[nodes.IpRange]) -> bool:
    return any(it.source == "Remote" for it in ranges)


def _counts_by_address(entries: Iterable[object]) -> bool:
    return any(isinstance(it, nodes.RemoteAddress | nodes.ClientRange) for it in entries)
