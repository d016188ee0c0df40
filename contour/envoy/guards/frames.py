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

from envoy.config.core.v3 import base_pb2
from envoy.extensions.filters.http.header_mutation.v3 import header_mutation_pb2 as mutation_pb
from envoy.extensions.filters.http.header_to_metadata.v3 import header_to_metadata_pb2 as noting_pb
from google.protobuf.message import Message

from contour.envoy.guards import attributes, places, recording, replacing

NOTED = "contour.length.noted"
RESTORED = "contour.length.restored"
KEPT = "contour.status.kept"

_LENGTH, _STATUS = "content-length", ":status"
_PLACE = "contour.length"
_PLACE_OF_LISTENERS = "contour.length.listener"
"""Another one, since filters between the two, such as compression, may change the length."""
_KEYS = {_LENGTH: "length", _STATUS: "status"}


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
    rules = (recording.rule(header, place, key) for header, key in _KEYS.items())
    return noting_pb.Config(response_rules=rules)


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


def _is_changed(place: str) -> attributes.Predicate:
    """`response.headers[":status"] != metadata.filter_metadata[place]["status"]`."""
    recorded = attributes.entry(attributes.field("metadata", "filter_metadata"), place)
    return attributes.condition(
        attributes.differs(
            attributes.entry(attributes.field("response", "headers"), _STATUS),
            attributes.entry(recorded, _KEYS[_STATUS]),
        )
    )
