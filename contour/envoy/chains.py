"""How TLS is terminated: one filter chain for all hosts of a listener with equal settings.

A chain is named by what it is made of, so no change of a host touches it; the certificate comes by
SDS, so neither does its renewal. Which name leads to which chain: `server_names`.
"""

from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as hcm_pb2,
)
from envoy.extensions.transport_sockets.tls.v3 import tls_pb2

from contour.envoy import connection_manager, encoding, listeners, names, tls_parameters
from contour.envoy.policy import Downstream
from dag import nodes

DEFAULT = "default"
"""The chain of connections that name no host we know. Names of the others contain slashes."""

_HANDSHAKE_TIMEOUT = 10  # seconds
_PROTOCOLS = {"HTTP/2": "h2", "HTTP/1.1": "http/1.1"}


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
    versions = (tls.minimum, tls.maximum)
    tls_parameters.write_parameters(shared.tls_params, versions, tls.ciphers, tls.curves)
    shared.alpn_protocols.extend(
        alpn for version, alpn in _PROTOCOLS.items() if version in policy.http_versions
    )
    for secret in (tls.secret, *tls.more_secrets):
        tls_parameters.write_certificate(shared, secret)
    return result
