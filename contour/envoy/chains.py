"""How TLS is terminated: one filter chain for all hosts of a listener with equal settings.

A chain is named by what it is made of, so no change of a host touches it; the certificate comes by
SDS, so neither does its renewal. Which name leads to which chain: `server_names`. Ciphers: the
default list of Contour's configuration reference.
"""

from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as hcm_pb2,
)
from envoy.extensions.transport_sockets.tls.v3 import common_pb2, tls_pb2

from contour.envoy import connection_manager, encoding, listeners, names
from contour.envoy.policy import Downstream
from dag import nodes

DEFAULT = "default"
"""The chain of connections that name no host we know. Names of the others contain slashes."""

_HANDSHAKE_TIMEOUT = 10  # seconds
_VERSIONS = {"1.2": common_pb2.TlsParameters.TLSv1_2, "1.3": common_pb2.TlsParameters.TLSv1_3}
_PROTOCOLS = {"HTTP/2": "h2", "HTTP/1.1": "http/1.1"}
_CIPHERS = (
    "[ECDHE-ECDSA-AES128-GCM-SHA256|ECDHE-ECDSA-CHACHA20-POLY1305]",
    "[ECDHE-RSA-AES128-GCM-SHA256|ECDHE-RSA-CHACHA20-POLY1305]",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
)


def named(listener: str, tls: nodes.Tls, policy: Downstream) -> bytes:
    """A Listener of which nothing but the chain for these settings is filled in."""
    return _encoded(names.chain(tls), connection_manager.secure(listener, policy), tls, policy)


def default(listener: str, tls: nodes.Tls, policy: Downstream) -> bytes:
    """A Listener of which nothing but the chain for the host `*` is filled in."""
    return _encoded(DEFAULT, connection_manager.default(listener, policy), tls, policy)


def _encoded(
    name: str, manager: hcm_pb2.HttpConnectionManager, tls: nodes.Tls, policy: Downstream
) -> bytes:
    result = listener_pb2.Listener()
    chain = result.filter_chains.add(name=name)
    chain.transport_socket_connect_timeout.CopyFrom(encoding.seconds(_HANDSHAKE_TIMEOUT))
    chain.transport_socket.name = "envoy.transport_sockets.tls"
    chain.transport_socket.typed_config.CopyFrom(encoding.packed(_termination(tls, policy)))
    http = chain.filters.add(name=listeners.CONNECTION_MANAGER)
    http.typed_config.CopyFrom(encoding.packed(manager))
    return encoding.encoded(result)


def _termination(tls: nodes.Tls, policy: Downstream) -> tls_pb2.DownstreamTlsContext:
    result = tls_pb2.DownstreamTlsContext()
    shared = result.common_tls_context
    shared.tls_params.tls_minimum_protocol_version = _VERSIONS[tls.minimum]
    shared.tls_params.tls_maximum_protocol_version = _VERSIONS[tls.maximum]
    shared.tls_params.cipher_suites.extend(_CIPHERS)
    shared.alpn_protocols.extend(
        alpn for version, alpn in _PROTOCOLS.items() if version in policy.http_versions
    )
    secret = shared.tls_certificate_sds_secret_configs.add(name=names.secret(tls.secret).name)
    secret.sds_config.CopyFrom(encoding.aggregated())
    return result
