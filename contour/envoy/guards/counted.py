"""Which requests are counted: each condition of a limit as an action of Envoy, with one entry.

If an action makes no entry, there is no descriptor, so the request is not counted. Each condition
has a key of its own, since several may concern the same header. Elsewhere: what is counted with
them (`ratelimits`).
"""

import json
from typing import TypeAlias

from envoy.config.route.v3 import route_components_pb2 as pb
from envoy.extensions.rate_limit_descriptors.expr.v3 import expr_pb2
from envoy.type.matcher.v3 import address_pb2

from contour.envoy import encoding, matches
from contour.xds import wire
from dag import nodes

Action: TypeAlias = pb.RateLimit.Action

_YES, _NO = "yes", "no"


def condition(entry: nodes.CountedEntry, index: int) -> tuple[str, str]:
    """The key and the value of a condition's entry; if the value is empty, each value is counted
    separately."""
    match entry:
        case nodes.HeaderValueMatch():
            return f"match-{index}", entry.value
        case nodes.RequestHeader():
            return f"header-{index}", ""
        case nodes.ClientRange():
            return f"range-{index}", f"{'!' if entry.inverted else ''}{entry.cidr}"
        case nodes.RemoteAddress():
            return "remote_address", ""
        case nodes.PathMatch():
            return f"path-{index}", _YES
        case nodes.QueryValueMatch():
            return f"query-match-{index}", _YES
        case nodes.QueryValue():
            return f"query-{index}", ""


def write_key(target: Action, key: str, value: str) -> None:
    """An entry that every request has."""
    target.generic_key.descriptor_key, target.generic_key.descriptor_value = key, value


def write_condition(target: Action, entry: nodes.CountedEntry, index: int) -> None:
    """An entry that only requests have which meet a condition."""
    key, value = condition(entry, index)
    match entry:
        case nodes.HeaderValueMatch():
            write_header_match(target.header_value_match, entry)
            target.header_value_match.descriptor_key = key
        case nodes.RequestHeader():
            target.request_headers.header_name = entry.name
            target.request_headers.descriptor_key = key
        case nodes.ClientRange():
            target.MergeFromString(_range(key, value, entry))
        case nodes.RemoteAddress():
            target.remote_address.SetInParent()
        case nodes.PathMatch():
            _write_path(target, entry, key)
        case nodes.QueryValueMatch():
            parameter = target.query_parameter_value_match
            parameter.descriptor_key, parameter.descriptor_value = key, value
            parameter.expect_match.value = entry.expect
            matches.write_query(
                parameter.query_parameters.add(name=entry.query.name), entry.query.value
            )
        case nodes.QueryValue():
            target.query_parameters.query_parameter_name = entry.name
            target.query_parameters.descriptor_key = key


def write_header_match(target: Action.HeaderValueMatch, node: nodes.HeaderValueMatch) -> None:
    """An entry that only requests have whose headers match, or do not."""
    target.descriptor_value = node.value
    target.expect_match.value = node.expect
    for it in node.headers:
        matches.write_header(target.headers.add(name=it.name), it)


def _range(key: str, value: str, entry: nodes.ClientRange) -> bytes:
    """An action for clients within a range; for others there is no descriptor, so they are not
    counted. `RemoteAddressMatch` is known to Envoy since 1.38 at the latest, and not to the wheel
    of xDS messages; its fields are those of Envoy's `route_components.proto`, and `invert_match` is
    one of its `address.proto`."""
    address, _, length = entry.cidr.partition("/")
    matcher = address_pb2.AddressMatcher()
    matcher.ranges.add(address_prefix=address).prefix_len.value = int(length)
    if entry.inverted:
        matcher.MergeFromString(bytes((2 << 3, 1)))
    match = (
        wire.field(1, value.encode())
        + wire.field(2, key.encode())
        + wire.field(4, matcher.SerializeToString())
    )
    return wire.field(13, match)


def _write_path(target: Action, entry: nodes.PathMatch, key: str) -> None:
    """Envoy compares `:path`, which includes the query, with conditions that must all be true. So
    the path is compared with the negation of each alternative, and the result is inverted."""
    path = entry.path
    if isinstance(path, nodes.Regex):
        _write_expression(target, entry, path.expression, key)
        return
    followed = ("?", "/") if isinstance(path, nodes.Segments) else ("?",)
    if isinstance(path, nodes.Prefix):
        meant = [nodes.ValueMatch("prefix", path.path)]
    else:
        meant = [nodes.ValueMatch("exact", path.path)]
        meant += [nodes.ValueMatch("prefix", path.path + it) for it in followed]
    found = target.header_value_match
    found.descriptor_key, found.descriptor_value = key, _YES
    found.expect_match.value = entry.inverted
    for it in meant:
        header = nodes.HeaderMatch(":path", it, inverted=True)
        matches.write_header(found.headers.add(name=":path"), header)


def _write_expression(target: Action, entry: nodes.PathMatch, expression: str, key: str) -> None:
    """No header has the path without its query, so Envoy's expressions (CEL) compare it."""
    whole = json.dumps(f"^(?:{expression})$", ensure_ascii=False)
    yes, no = (_NO, _YES) if entry.inverted else (_YES, _NO)
    text = f'request.url_path.matches({whole}) ? "{yes}" : "{no}"'
    target.extension.name = "envoy.rate_limit_descriptors.expr"
    made = expr_pb2.Descriptor(descriptor_key=key, text=text)
    target.extension.typed_config.CopyFrom(encoding.packed(made))
