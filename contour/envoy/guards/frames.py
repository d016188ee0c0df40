"""Protects the Content-Length and the status of responses from authorization servers.

A gRPC authorization server may add headers to responses, and Envoy 1.40 limits only its changes of
requests. With a Content-Length of its own the server, which may be a tenant's, could forge the next
response on the connection (RFC 9112, section 6.3); with the status 204 for a response that has a
body it could do the same. So both are recorded before the server's headers are added. After that
the length is restored, and a response with another status is replaced by a 500, since no filter
restores a status. Responses pass filters backwards, so `NOTED` comes after the server in the chain,
and `RESTORED` and `KEPT` before it. No server can write where they are recorded: the metadata of a
server has the server's own namespace.
"""

from collections.abc import Iterator

from cel.expr import syntax_pb2
from envoy.config.core.v3 import base_pb2
from envoy.extensions.filters.http.header_mutation.v3 import header_mutation_pb2 as mutation_pb
from envoy.extensions.filters.http.header_to_metadata.v3 import header_to_metadata_pb2 as noting_pb
from google.protobuf.message import Message
from xds.type.matcher.v3 import cel_pb2
from xds.type.matcher.v3 import http_inputs_pb2 as attributes_pb2

from contour.envoy import encoding
from contour.envoy.guards import places, replacing

NOTED = "contour.length.noted"
RESTORED = "contour.length.restored"
KEPT = "contour.status.kept"
"""A place."""

_LENGTH, _STATUS = "content-length", ":status"
_PLACE = "contour.length"
_PLACE_OF_LISTENERS = "contour.length.listener"
"""Filters between the two, such as compression, may change the length."""
_KEYS = {_LENGTH: "length", _STATUS: "status"}


def noted() -> noting_pb.Config:
    """Records nothing unless a route configures it."""
    return noting_pb.Config()


def restored() -> mutation_pb.HeaderMutation:
    """Changes nothing unless a route configures it."""
    return mutation_pb.HeaderMutation()


def policy() -> Iterator[tuple[str, Message]]:
    """For routes whose server may add headers."""
    yield NOTED, _noting(_PLACE)
    yield RESTORED, mutation_pb.HeaderMutationPerRoute(mutations=_restoring(_PLACE))
    yield KEPT, places.filled(replacing.FILTER, _keeping(_PLACE))


def before() -> Iterator[tuple[str, Message]]:
    """The filters of a chain before servers of listeners that may add headers."""
    yield "status.kept", _keeping(_PLACE_OF_LISTENERS)
    yield "length.restored", mutation_pb.HeaderMutation(mutations=_restoring(_PLACE_OF_LISTENERS))


def after() -> Iterator[tuple[str, Message]]:
    """The filter of a chain after these servers."""
    yield "length.noted", _noting(_PLACE_OF_LISTENERS)


def _noting(place: str) -> noting_pb.Config:
    result = noting_pb.Config()
    for header, key in _KEYS.items():
        rule = result.response_rules.add(header=header)
        rule.on_header_present.metadata_namespace = place
        rule.on_header_present.key = key
    return result


def _restoring(place: str) -> mutation_pb.Mutations:
    result = mutation_pb.Mutations()
    changes = result.response_mutations
    changes.add().remove = _LENGTH
    back = changes.add().append
    back.header.key = _LENGTH
    back.header.value = f"%DYNAMIC_METADATA({place}:{_KEYS[_LENGTH]})%"
    back.append_action = base_pb2.HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD
    return result


def _keeping(place: str) -> Message:
    return replacing.where(_is_changed(place), 500)


def _is_changed(place: str) -> replacing.Predicate:
    """`response.headers[":status"] != metadata.filter_metadata[place]["status"]`."""
    result = replacing.Predicate()
    found = result.single_predicate
    found.input.name = "envoy.matching.inputs.cel_data_input"
    attributes = attributes_pb2.HttpAttributesCelMatchInput()
    found.input.typed_config.CopyFrom(encoding.packed(attributes))
    expression = _call(
        "_!=_",
        _entry(_field("response", "headers"), _STATUS),
        _entry(_entry(_field("metadata", "filter_metadata"), place), _KEYS[_STATUS]),
    )
    _number(expression, 1)
    wanted = cel_pb2.CelMatcher()
    wanted.expr_match.cel_expr_parsed.expr.CopyFrom(expression)
    found.custom_match.name = "envoy.matching.matchers.cel_matcher"
    found.custom_match.typed_config.CopyFrom(encoding.packed(wanted))
    return result


def _field(of: str, name: str) -> syntax_pb2.Expr:
    result = syntax_pb2.Expr()
    result.select_expr.operand.ident_expr.name = of
    result.select_expr.field = name
    return result


def _entry(of: syntax_pb2.Expr, key: str) -> syntax_pb2.Expr:
    wanted = syntax_pb2.Expr()
    wanted.const_expr.string_value = key
    return _call("_[_]", of, wanted)


def _call(function: str, *arguments: syntax_pb2.Expr) -> syntax_pb2.Expr:
    result = syntax_pb2.Expr()
    result.call_expr.function = function
    result.call_expr.args.extend(arguments)
    return result


def _number(target: syntax_pb2.Expr, first: int) -> int:
    """Numbers the nodes of an expression, as Envoy wants them. Returns the next number."""
    target.id, following = first, first + 1
    for it in target.call_expr.args if target.HasField("call_expr") else ():
        following = _number(it, following)
    if target.HasField("select_expr"):
        following = _number(target.select_expr.operand, following)
    return following
