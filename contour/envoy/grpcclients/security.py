"""Mutual TLS between gRPC clients and servers, and which clients a server answers.

Sources: gRFC A29 (certificates come from a provider that the bootstrap names; clients compare the
names of servers) and A41 (the RBAC filter). Measured with grpcio 1.85: both work, renewed files are
used on new connections, and an application without the provider refuses the resource.
"""

from envoy.config.core.v3 import base_pb2
from envoy.config.rbac.v3 import rbac_pb2 as rules_pb2
from envoy.extensions.filters.http.rbac.v3 import rbac_pb2
from envoy.extensions.transport_sockets.tls.v3 import common_pb2, tls_pb2
from envoy.type.matcher.v3 import string_pb2

from contour.envoy import encoding
from provisioning import identities


def write_client(target: base_pb2.TransportSocket, namespace: str) -> None:
    """Clients present their certificate, and accept only servers of one namespace."""
    context = tls_pb2.UpstreamTlsContext()
    _write_provider(context.common_tls_context)
    # gRPC supports only the older of the two fields for this.
    server = string_pb2.StringMatcher(exact=identities.grpc_server(namespace))
    names = common_pb2.CertificateValidationContext(match_subject_alt_names=[server])
    context.common_tls_context.validation_context.MergeFrom(names)
    _write(target, context)


def write_server(target: base_pb2.TransportSocket) -> None:
    """Servers present their certificate, and require one of clients."""
    context = tls_pb2.DownstreamTlsContext()
    context.require_client_certificate.value = True
    _write_provider(context.common_tls_context)
    _write(target, context)


def callers(namespaces: frozenset[str] | None) -> rbac_pb2.RBAC:
    """The filter with which a server refuses calls from clients of other namespaces; None: from
    those of no namespace, such as an Envoy, whose certificate is of the same authority."""
    made = rbac_pb2.RBAC()
    made.rules.action = rules_pb2.RBAC.ALLOW
    policy = made.rules.policies["clients"]
    policy.permissions.add(any=True)
    if namespaces is None:
        name = policy.principals.add().authenticated.principal_name
        name.prefix = identities.grpc_client("")
    for it in sorted(namespaces or ()):
        name = policy.principals.add().authenticated.principal_name
        name.exact = identities.grpc_client(it)
    return made


def _write_provider(target: tls_pb2.CommonTlsContext) -> None:
    own, authority = (
        target.tls_certificate_provider_instance,
        target.validation_context.ca_certificate_provider_instance,
    )
    own.instance_name = authority.instance_name = identities.GRPC_PROVIDER


def _write(
    target: base_pb2.TransportSocket,
    context: tls_pb2.UpstreamTlsContext | tls_pb2.DownstreamTlsContext,
) -> None:
    target.name = "envoy.transport_sockets.tls"
    target.typed_config.CopyFrom(encoding.packed(context))
