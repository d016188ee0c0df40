"""The cluster for Envoy's administration interface, and the listener for probes of a fleet's pods.

The listener works before the control plane is reached. It serves `/ready` and `/stats/prometheus`,
or only the first. The configuration may add others over xDS.
"""

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_components_pb2, endpoint_pb2
from envoy.config.listener.v3 import listener_pb2

from contour import monitoring
from contour.bootstrap import packing, settings

_PATHS = ("/ready", "/stats/prometheus")


def cluster(given: settings.Settings) -> cluster_pb2.Cluster:
    """The administration interface."""
    endpoint = endpoint_components_pb2.Endpoint(address=packing.pipe(given.admin))
    return cluster_pb2.Cluster(
        name=monitoring.CLUSTER,
        connect_timeout=packing.seconds(1),
        type=cluster_pb2.Cluster.STATIC,
        load_assignment=endpoint_pb2.ClusterLoadAssignment(
            cluster_name=monitoring.CLUSTER,
            endpoints=[
                endpoint_components_pb2.LocalityLbEndpoints(
                    lb_endpoints=[endpoint_components_pb2.LbEndpoint(endpoint=endpoint)]
                )
            ],
        ),
    )


def listener(address: settings.SocketAddress, hides_stats: bool) -> listener_pb2.Listener:
    """The listener for probes."""
    paths = _PATHS[:1] if hides_stats else _PATHS
    site = monitoring.MonitorListener(monitoring.NAME, address.host, address.port, paths)
    return monitoring.listener(site)
