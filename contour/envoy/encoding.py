"""Common protobuf values, and the encoding of messages.

Equal messages give equal bytes (deterministic encoding), on every replica and after every restart,
because versions of resources are hashes of these bytes.
"""

import re

from envoy.config.core.v3 import config_source_pb2, grpc_service_pb2
from google.protobuf import any_pb2, duration_pb2, message


def encoded(content: message.Message) -> bytes:
    """The bytes of a message; maps are sorted."""
    return content.SerializeToString(deterministic=True)


TOO_DEEP = "is nested deeper than the 100 levels that Protobuf reads"


def is_readable(content: message.Message) -> bool:
    """Whether its bytes can be read again: levels are counted when they are read, and not before.
    What an `Any` holds is read by itself, and not looked at here."""
    try:
        type(content).FromString(encoded(content))
    except message.DecodeError:
        return False
    return True


def packed(content: message.Message) -> any_pb2.Any:
    """An extension's configuration as Envoy wants it: typed."""
    result = any_pb2.Any()
    result.Pack(content, deterministic=True)
    return result


def seconds(number: float) -> duration_pb2.Duration:
    """A duration, exact to the microsecond."""
    result = duration_pb2.Duration()
    result.FromMicroseconds(round(number * 1_000_000))
    return result


def aggregated() -> config_source_pb2.ConfigSource:
    """The one ADS stream, as the source of whatever a resource refers to.

    A timeout of zero means for ever. By default Envoy goes on after 15 s without a resource: if the
    control plane is frozen just then, Envoy becomes ready and answers 404 for every host. No wait
    is endless, because the server answers every name (`xds.interest`): Envoy goes on when it learns
    that endpoints, a secret or the runtime do not exist. It would wait for missing routes and
    extensions, but those that a listener or a scope names are always published.
    """
    result = config_source_pb2.ConfigSource()
    result.CopyFrom(_AGGREGATED)
    return result


_AGGREGATED = config_source_pb2.ConfigSource(
    ads=config_source_pb2.AggregatedConfigSource(),
    resource_api_version=config_source_pb2.ApiVersion.V3,
    initial_fetch_timeout=duration_pb2.Duration(),
)


def grpc(cluster: str, authority: str = "") -> grpc_service_pb2.GrpcService:
    """A gRPC service behind a cluster; without an authority, the cluster's name is sent."""
    result = grpc_service_pb2.GrpcService()
    result.envoy_grpc.cluster_name = cluster
    result.envoy_grpc.authority = authority
    return result


def script(text: str) -> str:
    """A Lua text without comments and blanks that can be left out: every filter chain holds a
    copy."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(re.sub(r" -- .*", "", it) for it in lines if it and not it.startswith("--"))
