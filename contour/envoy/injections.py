"""Credentials that are added to requests to backends: Envoy's credential_injector filter.

It is a filter of the cluster, so mirrored requests do not get the credential. A filter in a route
would never get it, because Envoy fetches the secrets of such filters only during its own start.
Credentials come by SDS, so a cluster does not contain them, and it is used only when its credential
is there.
"""

from envoy.extensions.filters.http.credential_injector.v3 import credential_injector_pb2 as pb
from envoy.extensions.filters.http.upstream_codec.v3 import upstream_codec_pb2
from envoy.extensions.http.injected_credentials.generic.v3 import generic_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2

from contour.envoy import encoding, names
from crds.meta import ObjectRef
from dag import nodes

_NAME = "envoy.filters.http.credential_injector"
_LAST = "envoy.filters.http.upstream_codec"
"""The filter that sends the request; every list of a cluster's filters ends with it."""


def write(target: http_protocol_options_pb2.HttpProtocolOptions, node: nodes.Injection) -> None:
    """Adds the filter to a cluster."""
    source = generic_pb2.Generic(header=node.header)
    source.credential.name = names.credential(node.source).name
    source.credential.sds_config.CopyFrom(encoding.aggregated())
    content = pb.CredentialInjector(overwrite=node.overwrites)
    content.credential.name = "envoy.http.injected_credentials.generic"
    content.credential.typed_config.CopyFrom(encoding.packed(source))
    last = upstream_codec_pb2.UpstreamCodec()
    for name, it in ((_NAME, content), (_LAST, last)):
        target.http_filters.add(name=name).typed_config.CopyFrom(encoding.packed(it))


def secret(source: ObjectRef, known: nodes.Credential) -> bytes:
    """The credential of a filter."""
    result = secret_pb2.Secret(name=names.credential(source).name)
    result.generic_secret.secret.inline_bytes = known.value
    return encoding.encoded(result)
