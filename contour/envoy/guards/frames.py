"""The length of an answer stays what it was before an authorization server had a say.

A server that is asked by gRPC may add headers to answers, and Envoy 1.40 limits only what it does
to requests. With a Content-Length of its own it could forge the next answer on the connection (RFC
9112, section 6.3), and the server may be a tenant's. So the length is noted before its headers are
added, and put back after; answers run backwards, so `NOTED` stands behind the server in the chain
and `RESTORED` before it. No server can write where it is noted: metadata of theirs have their name.
"""

from collections.abc import Iterator

from envoy.config.core.v3 import base_pb2
from envoy.extensions.filters.http.header_mutation.v3 import header_mutation_pb2 as mutation_pb
from envoy.extensions.filters.http.header_to_metadata.v3 import header_to_metadata_pb2 as noting_pb
from google.protobuf.message import Message

NOTED = "contour.length.noted"
RESTORED = "contour.length.restored"

_HEADER = "content-length"
_PLACE, _KEY = "contour.length", "length"


def noted() -> noting_pb.Config:
    """Notes nothing unless a route says so."""
    return noting_pb.Config()


def restored() -> mutation_pb.HeaderMutation:
    """Changes nothing unless a route says so."""
    return mutation_pb.HeaderMutation()


def policy() -> Iterator[tuple[str, Message]]:
    """For routes whose server may add headers."""
    noting = noting_pb.Config()
    rule = noting.response_rules.add(header=_HEADER)
    rule.on_header_present.metadata_namespace = _PLACE
    rule.on_header_present.key = _KEY
    yield NOTED, noting
    restoring = mutation_pb.HeaderMutationPerRoute()
    changes = restoring.mutations.response_mutations
    changes.add().remove = _HEADER
    back = changes.add().append
    back.header.key = _HEADER
    back.header.value = f"%DYNAMIC_METADATA({_PLACE}:{_KEY})%"
    back.append_action = base_pb2.HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD
    yield RESTORED, restoring
