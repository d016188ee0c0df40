"""Validates tokens (JWT) of requests: Envoy's jwt_authn filter, which gets its providers by ECDS.

The providers of all hosts of a fleet are one filter configuration, and hosts share filter chains.
If it were part of a chain, a new provider would drain every connection; by ECDS it drains none. A
route names its requirement; if that does not exist (yet), Envoy answers 403 and lists the existing
names, so requirements have names that reveal nothing. Each requirement is a part of its own, with
the providers that it names, so that one that Envoy refuses affects no other. Keys are inline: a
change of the configuration drops all keys that Envoy has fetched itself, and until it has them
again it answers 401 to valid tokens.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from envoy.config.core.v3 import config_source_pb2, extension_pb2
from envoy.extensions.filters.http.jwt_authn.v3 import config_pb2 as pb
from google.protobuf import empty_pb2

from contour.envoy import encoding
from dag import nodes

NAME = "envoy.filters.http.jwt_authn"
"""The filter, and the resource that configures it."""


def discovered() -> config_source_pb2.ExtensionConfigSource:
    """The filter in every filter chain, with the source of its providers."""
    result = config_source_pb2.ExtensionConfigSource(
        config_source=encoding.aggregated(),
        type_urls=[f"type.googleapis.com/{pb.JwtAuthentication.DESCRIPTOR.full_name}"],
    )
    result.default_config.CopyFrom(encoding.packed(pb.JwtAuthentication()))
    return result


def head() -> bytes:
    """The name and the type of the configuration, without content: requirements are added as
    parts."""
    result = extension_pb2.TypedExtensionConfig(name=NAME)
    result.typed_config.Pack(pb.JwtAuthentication())
    return encoding.encoded(result)


class Required(NamedTuple):
    """A requirement of routes, with its name."""

    name: str
    leniency: nodes.Leniency = "none"


def requirement(required: Required, providers: Sequence[tuple[nodes.JwtProvider, str]]) -> bytes:
    """A JwtAuthentication with only one requirement, and the providers that satisfy it.

    Each provider comes with its key set, as JSON; a token of any of them is accepted. Providers of
    the same name in several requirements are equal.
    """
    result = pb.JwtAuthentication()
    for node, keys in providers:
        _write_provider(result.providers[node.name], node, keys)
    names = [node.name for node, _ in providers]
    _write_requirement(result.requirement_map[_requirement(required.name)], names, required)
    return encoding.encoded(result)


def _write_requirement(target: pb.JwtRequirement, names: Sequence[str], required: Required) -> None:
    wanted = [pb.JwtRequirement(provider_name=it) for it in names]
    if required.leniency == "missing":
        wanted.append(pb.JwtRequirement(allow_missing=empty_pb2.Empty()))
    elif required.leniency == "failed":
        wanted.append(pb.JwtRequirement(allow_missing_or_failed=empty_pb2.Empty()))
    if len(wanted) == 1:
        target.provider_name = names[0]
    else:
        target.requires_any.requirements.extend(wanted)


def _write_provider(target: pb.JwtProvider, node: nodes.JwtProvider, keys: str) -> None:
    target.issuer = node.issuer
    target.audiences.extend(node.audiences)
    target.forward = node.forward
    for claim, header in node.claim_headers:
        target.claim_to_headers.add(claim_name=claim, header_name=header)
    target.local_jwks.inline_string = keys
    target.clear_route_cache = node.is_rerouting
    if node.sources is not None:
        for name, prefix in node.sources.headers:
            target.from_headers.add(name=name, value_prefix=prefix)
        target.from_cookies.extend(node.sources.cookies)
        target.from_params.extend(node.sources.parameters)
    if node.payload:
        target.payload_in_metadata = node.payload
        target.normalize_payload_in_metadata.space_delimited_claims.append("scope")


def policy(node: nodes.Jwt) -> pb.PerRouteConfig:
    """The provider whose tokens are required."""
    return pb.PerRouteConfig(requirement_name=_requirement(node.provider))


def _requirement(provider: str) -> str:
    return blake2b(provider.encode(), digest_size=16).hexdigest()


def off() -> pb.PerRouteConfig:
    """Turns off the virtual host's requirement."""
    return pb.PerRouteConfig(disabled=True)
