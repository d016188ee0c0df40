"""Ordered rules for requests: a second RBAC filter of Envoy. It comes after tokens and
authorization servers, so that rules may use their results.

Envoy's own rules are not ordered. So the rules become one condition: allowed by a rule, or by the
rules after it; denied by no rule, and allowed by the rules after it.

Envoy compares each value of a repeated header on its own (since the fix of CVE-2026-26308). So that
no client passes by adding a value to those of a proxy, a filter before the rules records the whole
header, its values joined by commas, and rules that allow are compared with that.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from envoy.config.rbac.v3 import rbac_pb2 as rules_pb
from envoy.extensions.filters.http.header_to_metadata.v3 import header_to_metadata_pb2 as noting_pb
from envoy.extensions.filters.http.rbac.v3 import rbac_pb2 as pb
from envoy.type.matcher.v3 import value_pb2

from contour.envoy import matches
from contour.envoy.guards import addresses, recording, tokens
from dag import nodes
from dag.values import regexes

NAME = "envoy.filters.http.rbac.access"
NOTED = "contour.headers.noted"
"""The filter that records whole headers."""

_PLACE = "contour.headers"
_MARK = "="
"""The prefix of recorded values, since Envoy does not record empty ones."""


def installed() -> pb.RBAC:
    """Without rules every request passes."""
    return pb.RBAC()


def policy(node: nodes.Access) -> pb.RBACPerRoute:
    """Requests that meet the condition pass."""
    result = pb.RBACPerRoute()
    rules = result.rbac.rules
    rules.action = rules_pb.RBAC.Action.ALLOW
    rule = rules.policies["access"]
    rule.permissions.add(any=True)
    rule.principals.append(_condition(node))
    return result


def off() -> pb.RBACPerRoute:
    """Turns off the virtual host's rules."""
    return pb.RBACPerRoute()


def notes(node: nodes.Access) -> noting_pb.Config | None:
    """The headers that are compared as a whole; None if none is."""
    result = noting_pb.Config()
    for name in dict.fromkeys(_compared_as_a_whole(node)):
        result.request_rules.append(recording.rule(name, _PLACE, name, "^", _MARK))
    return result if result.request_rules else None


def _compared_as_a_whole(node: nodes.Access) -> Iterator[str]:
    for rule in node.rules:
        for name, values in rule.headers:
            if rule.action == "ALLOW" or any(map(_is_list, values)):
                yield name


def _is_list(value: str) -> bool:
    """Whether a value may be sent as several ones."""
    return "," in value


def _condition(node: nodes.Access) -> rules_pb.Principal:
    found = _everybody() if node.default == "ALLOW" else _not(_everybody())
    turns = [(action, list(rules)) for action, rules in groupby(node.rules, lambda it: it.action)]
    for action, rules in reversed(turns):
        meant = [_requests(it) for it in rules]
        found = _any([*meant, found]) if action == "ALLOW" else _all([_not(_any(meant)), found])
    return found


def _requests(rule: nodes.AccessRule) -> rules_pb.Principal:
    """The requests to which a rule applies."""
    wanted: list[rules_pb.Principal] = []
    if rule.methods:
        wanted.append(_any([_header(":method", it) for it in rule.methods]))
    if rule.path is not None:
        path = _path(rule.path)
        wanted.append(_not(path) if rule.is_other_path else path)
    if rule.ranges:
        wanted.append(_any([addresses.principal(it) for it in rule.ranges]))
    for name, values in rule.headers:
        one = _listed if rule.action == "DENY" else _whole
        wanted.append(_any([one(name, it) for it in values]))
    wanted.extend(_claims(it) for it in rule.claims)
    return _all(wanted)


def _header(name: str, value: str) -> rules_pb.Principal:
    result = rules_pb.Principal()
    result.header.name = name
    result.header.string_match.exact = value
    return result


def _whole(name: str, value: str) -> rules_pb.Principal:
    """A header with this value and no other one, however often it is sent."""
    result, wanted = _note(name)
    wanted.string_match.exact = _MARK + value
    return result


def _listed(name: str, value: str) -> rules_pb.Principal:
    """A header with this value, perhaps among others: a denied value must not hide among them."""
    result = rules_pb.Principal()
    result.header.name = name
    expression = f"(.*,)?[ \\t]*{regexes.quoted(value)}[ \\t]*(,.*)?"
    result.header.string_match.safe_regex.regex = expression
    if not _is_list(value):
        return result
    joined, wanted = _note(name)
    wanted.string_match.safe_regex.regex = _MARK + expression
    return _any([result, joined, _is_too_long(name)])


def _is_too_long(name: str) -> rules_pb.Principal:
    """A header that is present but was not recorded, because its values have more than 8 KiB
    together."""
    result = rules_pb.Principal()
    result.header.name = name
    result.header.present_match = True
    noted_, wanted = _note(name)
    wanted.present_match = True
    return _all([result, _not(noted_)])


def _note(name: str) -> tuple[rules_pb.Principal, value_pb2.ValueMatcher]:
    """Requests whose recorded header meets the matcher, which is to be filled in."""
    result = rules_pb.Principal()
    matcher = result.sourced_metadata.metadata_matcher
    matcher.filter = _PLACE
    matcher.path.add(key=name)
    return result, matcher.value


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
