"""The message class of each resource type, for decoding."""

from collections.abc import Callable, Mapping

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import extension_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2, scoped_route_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2
from envoy.service.runtime.v3 import rtds_pb2
from google.protobuf.message import Message

from contour.xds import resources

TYPES: Mapping[str, Callable[[], Message]] = {
    resources.CLUSTER: cluster_pb2.Cluster,
    resources.ENDPOINTS: endpoint_pb2.ClusterLoadAssignment,
    resources.SECRET: secret_pb2.Secret,
    resources.EXTENSION: extension_pb2.TypedExtensionConfig,
    resources.RUNTIME_LAYER: rtds_pb2.Runtime,
    resources.LISTENER: listener_pb2.Listener,
    resources.ROUTE: route_pb2.RouteConfiguration,
    resources.SCOPE: scoped_route_pb2.ScopedRouteConfiguration,
}
