"""Authorization by ordered rules: the first rule that a request meets decides.

The claims of a token are not known here; a rule that asks for them may or may not be met.
"""

import ipaddress
from typing import NamedTuple

from dag import nodes
from dag.evaluation import matching
from dag.evaluation.requests import Request


class Decision(NamedTuple):
    """What becomes of a request, and why."""

    is_allowed: bool
    words: str


def decision(node: nodes.Access, request: Request) -> Decision | None:
    """What the rules decide; None if it depends on claims."""
    is_uncertain = False
    for number, rule in enumerate(node.rules):
        if not _is_met(rule, request):
            continue
        if rule.claims:
            is_uncertain = True
            continue
        if is_uncertain:
            return None
        words = "allows" if rule.action == "ALLOW" else "denies"
        return Decision(rule.action == "ALLOW", f"authorization: rule {number} {words} it")
    if is_uncertain:
        return None
    return Decision(node.default == "ALLOW", "authorization: no rule is about the request")


def _is_met(rule: nodes.AccessRule, request: Request) -> bool:
    """Whether a request meets all conditions but claims."""
    if rule.methods and request.method not in rule.methods:
        return False
    if rule.path is not None:
        is_there = matching.is_path(rule.path, request.bare_path)
        if is_there == rule.is_other_path:
            return False
    if rule.ranges and not any(is_from(it, request) for it in rule.ranges):
        return False
    return all(_has(request, name, values, rule.action) for name, values in rule.headers)


def is_from(node: nodes.IpRange, request: Request) -> bool:
    """Whether the address of a request is in a range."""
    address = ipaddress.ip_address(request.address(node.source))
    return address in ipaddress.ip_network(node.cidr, strict=False)


def _has(request: Request, name: str, values: tuple[str, ...], action: str) -> bool:
    value = request.header(name)
    if value is None:
        return False
    said = {value} if action == "ALLOW" else {value, *(it.strip(" \t") for it in value.split(","))}
    return not said.isdisjoint(values)
