"""Replaces responses that clients must not get by an error: Envoy's custom_response filter.

Envoy calls the filter unfinished, so it runs only where it is used. It sees what the filters after
it make of a response, and Envoy's own answers, too.
"""

from envoy.extensions.filters.http.custom_response.v3 import custom_response_pb2 as pb
from envoy.extensions.http.custom_response.local_response_policy.v3 import local_response_policy_pb2

from contour.envoy import encoding
from contour.envoy.guards.attributes import Predicate

FILTER = "envoy.filters.http.custom_response"


def where(condition: Predicate, status: int) -> pb.CustomResponse:
    """Clients get an empty answer with this status in place of responses that meet the
    condition."""
    result = pb.CustomResponse()
    found = result.custom_response_matcher.matcher_list.matchers.add()
    found.predicate.CopyFrom(condition)
    answer = local_response_policy_pb2.LocalResponsePolicy()
    answer.status_code.value = status
    found.on_match.action.name = "replaced"
    found.on_match.action.typed_config.CopyFrom(encoding.packed(answer))
    return result
