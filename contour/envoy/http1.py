"""How HTTP/1 is spoken, to clients and to backends."""

from envoy.config.core.v3 import protocol_pb2
from envoy.extensions.http.header_formatters.preserve_case.v3 import preserve_case_pb2

from contour.envoy import encoding

_KEEPING = "envoy.http.stateful_header_formatters.preserve_case"


def keep_case(target: protocol_pb2.Http1ProtocolOptions) -> None:
    """Leaves names of headers in upper and lower case, as whoever sent them wrote them.

    Envoy keeps what its reader saw: on connections of clients that of requests, on those to
    backends that of answers.
    """
    formatter = target.header_key_format.stateful_formatter
    formatter.name = _KEEPING
    content = preserve_case_pb2.PreserveCaseFormatterConfig()
    formatter.typed_config.CopyFrom(encoding.packed(content))
