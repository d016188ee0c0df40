"""Protects the Content-Length of responses from authorization servers.

A gRPC authorization server may add headers to responses, and Envoy 1.40 limits only its changes of
requests. With a Content-Length of its own the server, which may be a tenant's, could forge the next
response on the connection (RFC 9112, section 6.3). So the length is recorded before the server's
headers are added, and restored after that; responses pass filters backwards, so `NOTED` comes after
the server in the chain and `RESTORED` before it. No server can write where the length is recorded:
the metadata of a server has the server's own namespace.
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
    """Records nothing unless a route configures it."""
    return noting_pb.Config()


def restored() -> mutation_pb.HeaderMutation:
    """Changes nothing unless a route configures it."""
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
