"""Which addresses may ask: Envoy's RBAC filter, with one rule."""

import ipaddress

from envoy.config.rbac.v3 import rbac_pb2 as rules_pb
from envoy.extensions.filters.http.rbac.v3 import rbac_pb2 as pb

from dag import nodes

NAME = "envoy.filters.http.rbac"


def installed() -> pb.RBAC:
    """Without rules everybody may."""
    return pb.RBAC()


def policy(node: nodes.IpFilter) -> pb.RBACPerRoute:
    """Only these addresses, or all but these."""
    result = pb.RBACPerRoute()
    write_rules(result.rbac.rules, node)
    return result


def write_rules(target: rules_pb.RBAC, node: nodes.IpFilter) -> None:
    """Of requests and of connections alike."""
    target.action = rules_pb.RBAC.Action.Value(node.action)
    rule = target.policies["addresses"]
    rule.permissions.add(any=True)
    for it in node.ranges:
        rule.principals.append(principal(it))
    if not node.ranges:
        rule.principals.add().not_id.any = True


def off() -> pb.RBACPerRoute:
    """In place of the virtual host's."""
    return pb.RBACPerRoute()


def principal(node: nodes.IpRange) -> rules_pb.Principal:
    """Whoever has one of these addresses."""
    target = rules_pb.Principal()
    network = ipaddress.ip_network(node.cidr, strict=False)
    cidr = target.direct_remote_ip if node.source == "Peer" else target.remote_ip
    cidr.address_prefix = str(network.network_address)
    cidr.prefix_len.value = network.prefixlen
    return target
