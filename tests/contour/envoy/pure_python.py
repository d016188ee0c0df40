"""Reads an encoded message with the implementation of protobuf in pure Python, not the one in C.

A program: the implementation is chosen before the first import, once per process. It takes the name
of a module and of a message in it, bytes on standard input, and gives the JSON mapping.
"""

import importlib
import os
import subprocess
import sys
from typing import Any

from google.protobuf import json_format
from google.protobuf.internal import api_implementation

_CHOICE = "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"


def read(module: str, message: str, body: bytes) -> str:
    """The JSON mapping of a message, as the other implementation sees it."""
    return subprocess.run(
        [sys.executable, "-m", __name__, module, message],
        input=body,
        env={**os.environ, _CHOICE: "python"},
        capture_output=True,
        check=True,
    ).stdout.decode()


def _main(module: str, message: str) -> None:
    assert api_implementation.Type() == "python"
    found: Any = getattr(importlib.import_module(module), message)()
    found.ParseFromString(sys.stdin.buffer.read())
    for extension in _EXTENSIONS:
        importlib.import_module(extension)
    print(json_format.MessageToJson(found, preserving_proto_field_name=True, sort_keys=True))


_FILTERS = "envoy.extensions.filters"
_EXTENSIONS = (
    f"{_FILTERS}.network.http_connection_manager.v3.http_connection_manager_pb2",
    *(
        f"{_FILTERS}.http.{name}_pb2"
        for name in (
            "composite.v3.composite",
            "compressor.v3.compressor",
            "cors.v3.cors",
            "csrf.v3.csrf",
            "ext_authz.v3.ext_authz",
            "fault.v3.fault",
            "grpc_web.v3.grpc_web",
            "header_mutation.v3.header_mutation",
            "header_to_metadata.v3.header_to_metadata",
            "jwt_authn.v3.config",
            "local_ratelimit.v3.local_rate_limit",
            "lua.v3.lua",
            "oauth2.v3.oauth",
            "rbac.v3.rbac",
            "router.v3.router",
            "set_filter_state.v3.set_filter_state",
            "stateful_session.v3.stateful_session",
        )
    ),
    f"{_FILTERS}.listener.tls_inspector.v3.tls_inspector_pb2",
    f"{_FILTERS}.common.matcher.action.v3.skip_action_pb2",
    "envoy.extensions.common.matching.v3.extension_matcher_pb2",
    "envoy.extensions.compression.gzip.compressor.v3.gzip_pb2",
    "envoy.extensions.filters.network.tcp_proxy.v3.tcp_proxy_pb2",
    "envoy.extensions.http.early_header_mutation.header_mutation.v3.header_mutation_pb2",
    "envoy.extensions.access_loggers.stream.v3.stream_pb2",
    "envoy.extensions.matching.common_inputs.network.v3.network_inputs_pb2",
    "envoy.extensions.transport_sockets.tls.v3.tls_pb2",
    "google.protobuf.wrappers_pb2",
    "xds.type.matcher.v3.domain_pb2",
)


if __name__ == "__main__":
    _main(*sys.argv[1:])
