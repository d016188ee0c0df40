"""How TLS is terminated or passed through: one filter chain for all hosts with equal settings.

A chain is named by its content, so a change of a host never changes it; neither does the renewal of
a certificate, which comes by SDS. Which server name leads to which chain: `server_names`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from envoy.config.listener.v3 import listener_components_pb2, listener_pb2
from envoy.extensions.transport_sockets.tls.v3 import common_pb2, tls_pb2
from google.protobuf.message import Message

from contour.envoy import (
    answered,
    clienttraffic,
    connection_manager,
    encoding,
    matches,
    names,
    tls_parameters,
)
from contour.envoy.policy import Downstream
from dag import nodes

Filter = tuple[str, Message]
"""A network filter: its name and its configuration."""

DEFAULT = "default"
"""The chain of connections without a known server name. Names of the others contain slashes."""
_PROTOCOLS = {"HTTP/2": "h2", "HTTP/1.1": "http/1.1"}


def http(name: str, listener: str, tls: nodes.Tls, policy: Downstream) -> bytes:
    """A Listener with nothing but a chain for HTTP."""
    policy = policy._replace(traffic=tls.traffic)
    if name == DEFAULT:
        manager = connection_manager.default(listener, policy, tls)
    else:
        manager = connection_manager.secure(listener, policy, tls)
    terms = _Terms(termination(tls, policy), clienttraffic.handshake(policy))
    result, chain = _begun(name, terms)
    answered.write_filters(chain, manager, policy)
    return encoding.encoded(result)


def stream(
    name: str,
    tls: nodes.Tls | None,
    filters: Iterable[Filter],
    policy: Downstream,
    handshake: float | None = None,
) -> bytes:
    """A Listener with nothing but a chain for a stream, with or without TLS. `handshake` is its own
    limit in seconds, in place of that of the settings."""
    terms = None
    if tls is not None:
        most = policy.timeouts.tls_handshake if handshake is None else handshake
        terms = _Terms(termination(tls, policy, is_http=False), most)
    result, chain = _begun(name, terms)
    for filter_, content in filters:
        added = chain.filters.add(name=filter_)
        added.typed_config.CopyFrom(encoding.packed(content))
    return encoding.encoded(result)


class _Terms(NamedTuple):
    """How TLS is terminated, and how many seconds the handshake may take (0: no limit)."""

    tls: tls_pb2.DownstreamTlsContext
    handshake: float


def _begun(
    name: str, terms: _Terms | None
) -> tuple[listener_pb2.Listener, listener_components_pb2.FilterChain]:
    """A Listener with one chain without filters."""
    result = listener_pb2.Listener()
    chain = result.filter_chains.add(name=name)
    if terms is not None:
        chain.transport_socket_connect_timeout.CopyFrom(encoding.seconds(terms.handshake))
        chain.transport_socket.name = "envoy.transport_sockets.tls"
        chain.transport_socket.typed_config.CopyFrom(encoding.packed(terms.tls))
    return result, chain


def termination(
    tls: nodes.Tls, policy: Downstream, *, is_http: bool = True
) -> tls_pb2.DownstreamTlsContext:
    """The TLS settings, for TCP and for QUIC."""
    result = tls_pb2.DownstreamTlsContext()
    shared = result.common_tls_context
    tls_parameters.write_parameters(
        shared.tls_params,
        (tls.minimum, tls.maximum),
        tls.ciphers or policy.edge.ciphers,
        tls.curves or policy.edge.curves,
    )
    versions = tls.http_versions or (policy.http_versions if is_http else ())
    shared.alpn_protocols.extend(it for version, it in _PROTOCOLS.items() if version in versions)
    for secret in (tls.secret, *tls.more_secrets):
        tls_parameters.write_certificate(shared, secret)
    shared.tls_params.signature_algorithms.extend(tls.signatures)
    if tls.resumption is not None:
        result.disable_stateless_session_resumption = not tls.resumption.stateless
        result.disable_stateful_session_resumption = not tls.resumption.stateful
    if tls.clients is not None:
        _write_clients(result, tls.clients)
    return result


def _write_clients(target: tls_pb2.DownstreamTlsContext, node: nodes.ClientValidation) -> None:
    """Fills in the validation of client certificates: without authorities, and unless any
    certificate is accepted, all are refused."""
    target.require_client_certificate.value = not node.is_optional
    checks = common_pb2.CertificateValidationContext(
        only_verify_leaf_cert_crl=node.only_leaf_revocations,
        allow_expired_certificate=node.takes_expired,
        verify_certificate_spki=node.spki,
        verify_certificate_hash=node.hashes,
    )
    for name in node.names:
        kind = common_pb2.SubjectAltNameMatcher.SanType.Value(name.kind)
        matcher = checks.match_typed_subject_alt_names.add(san_type=kind, oid=name.oid)
        matches.write_value(matcher.matcher, name.match)
    if node.accepts_untrusted:
        checks.trust_chain_verification = common_pb2.CertificateValidationContext.ACCEPT_UNTRUSTED
    if node.trust is None and node.accepts_untrusted:
        target.common_tls_context.validation_context.CopyFrom(checks)
    else:
        trust = names.trust(node.trust or nodes.Trust())
        tls_parameters.write_trust(target.common_tls_context, trust, checks)
