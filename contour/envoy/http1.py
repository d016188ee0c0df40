"""Settings of HTTP/1, for clients and for backends."""

from envoy.config.core.v3 import protocol_pb2
from envoy.extensions.http.header_formatters.preserve_case.v3 import preserve_case_pb2

from contour.envoy import encoding

_KEEPING = "envoy.http.stateful_header_formatters.preserve_case"


def keep_case(target: protocol_pb2.Http1ProtocolOptions) -> None:
    """Keeps the case of header names as the sender wrote it.

    Envoy stores the case of what it receives: for requests on client connections, for responses on
    connections to backends.
    """
    formatter = target.header_key_format.stateful_formatter
    formatter.name = _KEEPING
    content = preserve_case_pb2.PreserveCaseFormatterConfig()
    formatter.typed_config.CopyFrom(encoding.packed(content))
