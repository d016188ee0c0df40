"""Which requests may pass, by ordered rules: a second of Envoy's RBAC filters, behind tokens and
authorization servers, whose results the rules may ask for.

Envoy's own rules are not ordered. So they become one condition: what a rule allows, or else the
next one; what no rule denies, and the next one allows.
"""

from collections.abc import Sequence
from itertools import groupby

from envoy.config.rbac.v3 import rbac_pb2 as rules_pb
from envoy.extensions.filters.http.rbac.v3 import rbac_pb2 as pb
from envoy.type.matcher.v3 import value_pb2

from contour.envoy import matches
from contour.envoy.guards import addresses, tokens
from dag import nodes
from dag.values import regexes

NAME = "envoy.filters.http.rbac.access"


def installed() -> pb.RBAC:
    """Without rules everybody may."""
    return pb.RBAC()


def policy(node: nodes.Access) -> pb.RBACPerRoute:
    """Who meets the condition may."""
    result = pb.RBACPerRoute()
    rules = result.rbac.rules
    rules.action = rules_pb.RBAC.Action.ALLOW
    rule = rules.policies["access"]
    rule.permissions.add(any=True)
    rule.principals.append(_condition(node))
    return result


def off() -> pb.RBACPerRoute:
    """In place of the virtual host's."""
    return pb.RBACPerRoute()


def _condition(node: nodes.Access) -> rules_pb.Principal:
    found = _everybody() if node.default == "ALLOW" else _not(_everybody())
    turns = [(action, list(rules)) for action, rules in groupby(node.rules, lambda it: it.action)]
    for action, rules in reversed(turns):
        meant = [_requests(it) for it in rules]
        found = _any([*meant, found]) if action == "ALLOW" else _all([_not(_any(meant)), found])
    return found


def _requests(rule: nodes.AccessRule) -> rules_pb.Principal:
    """The requests that a rule is about."""
    wanted: list[rules_pb.Principal] = []
    if rule.methods:
        wanted.append(_any([_header(":method", it) for it in rule.methods]))
    if rule.path is not None:
        path = _path(rule.path)
        wanted.append(_not(path) if rule.is_other_path else path)
    if rule.ranges:
        wanted.append(_any([addresses.principal(it) for it in rule.ranges]))
    for name, values in rule.headers:
        one = _listed if rule.action == "DENY" else _header
        wanted.append(_any([one(name, it) for it in values]))
    wanted.extend(_claims(it) for it in rule.claims)
    return _all(wanted)


def _header(name: str, value: str) -> rules_pb.Principal:
    result = rules_pb.Principal()
    result.header.name = name
    result.header.string_match.exact = value
    return result


def _listed(name: str, value: str) -> rules_pb.Principal:
    """Envoy compares the values of a repeated header as one text: what is denied must not hide
    among others."""
    result = rules_pb.Principal()
    result.header.name = name
    expression = f"(.*,)?[ \\t]*{regexes.quoted(value)}[ \\t]*(,.*)?"
    result.header.string_match.safe_regex.regex = expression
    return result


def _path(node: nodes.Path) -> rules_pb.Principal:
    match node:
        case nodes.Exact(path):
            return _path_is(nodes.ValueMatch("exact", path))
        case nodes.Regex(expression):
            return _path_is(nodes.ValueMatch("regex", expression))
        case nodes.Prefix(path):
            return _path_is(nodes.ValueMatch("prefix", path))
        case nodes.Segments(path):
            below = _path_is(nodes.ValueMatch("prefix", f"{path}/"))
            return _any([_path_is(nodes.ValueMatch("exact", path)), below])


def _path_is(node: nodes.ValueMatch) -> rules_pb.Principal:
    result = rules_pb.Principal()
    matches.write_value(result.url_path.path, node)
    return result


def _claims(node: nodes.Claims) -> rules_pb.Principal:
    return _any([_claim(node, it) for it in node.values])


def _claim(node: nodes.Claims, value: str) -> rules_pb.Principal:
    result = rules_pb.Principal()
    matcher = result.sourced_metadata.metadata_matcher
    matcher.filter = tokens.NAME
    for key in (node.payload, *node.path):
        matcher.path.add(key=key)
    wanted = value_pb2.ValueMatcher()
    wanted.string_match.exact = value
    if node.is_list:
        matcher.value.list_match.one_of.CopyFrom(wanted)
    else:
        matcher.value.CopyFrom(wanted)
    return result


def _everybody() -> rules_pb.Principal:
    return rules_pb.Principal(any=True)


def _not(one: rules_pb.Principal) -> rules_pb.Principal:
    return rules_pb.Principal(not_id=one)


def _any(several: Sequence[rules_pb.Principal]) -> rules_pb.Principal:
    return several[0] if len(several) == 1 else _set(several, is_any=True)


def _all(several: Sequence[rules_pb.Principal]) -> rules_pb.Principal:
    if not several:
        return _everybody()
    return several[0] if len(several) == 1 else _set(several, is_any=False)


def _set(several: Sequence[rules_pb.Principal], *, is_any: bool) -> rules_pb.Principal:
    together = rules_pb.Principal.Set(ids=several)
    if is_any:
        return rules_pb.Principal(or_ids=together)
    return rules_pb.Principal(and_ids=together)
