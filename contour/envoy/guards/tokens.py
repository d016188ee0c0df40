"""Requests need a valid token (JWT): Envoy's jwt_authn filter, told of its providers by ECDS.

The providers of all hosts of a fleet are one filter configuration, and hosts share filter chains.
As a part of those, a new provider would drain every connection; by ECDS it drains none. A route
names its provider; where that is not there (yet), Envoy answers 403 and lists what is there, so
requirements have names that say nothing to anybody. A provider is a part of the
configuration of its own, so that one that Envoy refuses hurts nobody else.
"""

from collections.abc import Mapping
from hashlib import blake2b

from envoy.config.core.v3 import config_source_pb2, extension_pb2
from envoy.extensions.filters.http.jwt_authn.v3 import config_pb2 as pb

from contour.envoy import encoding
from dag import nodes

NAME = "envoy.filters.http.jwt_authn"
"""The filter, and the resource that configures it."""


def discovered() -> config_source_pb2.ExtensionConfigSource:
    """What stands in every filter chain: where the providers come from."""
    result = config_source_pb2.ExtensionConfigSource(
        config_source=encoding.aggregated(),
        type_urls=[f"type.googleapis.com/{pb.JwtAuthentication.DESCRIPTOR.full_name}"],
    )
    result.default_config.CopyFrom(encoding.packed(pb.JwtAuthentication()))
    return result


def head() -> bytes:
    """The filter's configuration without providers."""
    result = extension_pb2.TypedExtensionConfig(name=NAME)
    result.typed_config.Pack(pb.JwtAuthentication(bypass_cors_preflight=True))
    return encoding.encoded(result)


def provider(node: nodes.JwtProvider, clusters: Mapping[nodes.AnyCluster, str]) -> bytes:
    """A JwtAuthentication of which nothing but this provider is filled in."""
    result = pb.JwtAuthentication()
    result.requirement_map[_requirement(node.name)].provider_name = node.name
    target = result.providers[node.name]
    target.issuer = node.issuer
    target.audiences.extend(node.audiences)
    target.forward = node.forward
    for claim, header in node.claim_headers:
        target.claim_to_headers.add(claim_name=claim, header_name=header)
    match node.jwks:
        case nodes.LocalJwks(text):
            target.local_jwks.inline_string = text
        case nodes.RemoteJwks() as remote:
            _write_remote(target.remote_jwks, remote, clusters[remote.cluster])
    return encoding.encoded(result)


def _write_remote(target: pb.RemoteJwks, node: nodes.RemoteJwks, cluster: str) -> None:
    """Fetched before the first request needs it; a server that fails is asked again soon."""
    target.http_uri.uri = node.uri
    target.http_uri.cluster = cluster
    target.http_uri.timeout.CopyFrom(encoding.seconds(node.timeout))
    if node.cache is not None:
        target.cache_duration.CopyFrom(encoding.seconds(node.cache))
    target.async_fetch.fast_listener = True
    target.async_fetch.failed_refetch_duration.CopyFrom(encoding.seconds(1))


def policy(node: nodes.Jwt) -> pb.PerRouteConfig:
    """The provider whose tokens are required."""
    return pb.PerRouteConfig(requirement_name=_requirement(node.provider))


def _requirement(provider: str) -> str:
    return blake2b(provider.encode(), digest_size=16).hexdigest()


def off() -> pb.PerRouteConfig:
    """In place of the virtual host's."""
    return pb.PerRouteConfig(disabled=True)
