"""An extension that puts a service of its own before routes: Envoy asks it for each request.

It uses all four hooks. A rule that refers to an object of kind `Authorization` is guarded:

    apiVersion: authz.example.com/v1
    kind: Authorization
    metadata: {name: staff}
    spec:
      labels: {group: staff}

The service gets the labels as `context_extensions`. AUTHZ_ADDRESS (`HOST:PORT`) says where it is;
it speaks `envoy.service.auth.v3`. While it does not answer, guarded routes answer 403. Run it with
`AUTHZ_ADDRESS=authz:9000 python -m contour.extension.examples.authorization`.
"""

import os
from collections.abc import Mapping
from datetime import timedelta

from envoy_data_plane.envoy.config.cluster.v3 import Cluster, ClusterDiscoveryType
from envoy_data_plane.envoy.config.core.v3 import (
    Address,
    GrpcService,
    GrpcServiceEnvoyGrpc,
    Http2ProtocolOptions,
    SocketAddress,
)
from envoy_data_plane.envoy.config.endpoint.v3 import (
    ClusterLoadAssignment,
    Endpoint,
    LbEndpoint,
    LocalityLbEndpoints,
)
from envoy_data_plane.envoy.config.listener.v3 import Listener
from envoy_data_plane.envoy.config.route.v3 import Route, VirtualHost
from envoy_data_plane.envoy.extensions.filters.http.ext_authz.v3 import (
    CheckSettings,
    ExtAuthz,
    ExtAuthzPerRoute,
)
from envoy_data_plane.envoy.extensions.filters.network.http_connection_manager.v3 import (
    HttpConnectionManager,
    HttpFilter,
)
from envoy_data_plane.envoy.extensions.upstreams.http.v3 import (
    HttpProtocolOptions,
    HttpProtocolOptionsExplicitHttpConfig,
)
from pydantic import BaseModel, ConfigDict

from contour.extension import Extension, RouteContext, Translation, edited, packed, run

NAME = "authz.example.com"
"""The name of the filter and of its cluster. A domain of one's own avoids conflicts of names."""
_HTTP = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"


class Spec(BaseModel):
    """The `spec` of an Authorization."""

    model_config = ConfigDict(extra="forbid")

    labels: Mapping[str, str] = {}


class Authorization(Extension):
    """Guards routes by an authorization service."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port

    async def route(self, route: Route, context: RouteContext) -> Route:
        """Guards the route: its settings take precedence over those of its host."""
        labels = {key: it for one in context.resources for key, it in one.spec(Spec).labels.items()}
        settings = CheckSettings(context_extensions=labels)
        route.typed_per_filter_config[NAME] = packed(ExtAuthzPerRoute(check_settings=settings))
        return route

    async def virtual_host(self, virtual_host: VirtualHost) -> VirtualHost:
        """Lets requests for all other routes pass."""
        virtual_host.typed_per_filter_config[NAME] = packed(ExtAuthzPerRoute(disabled=True))
        return virtual_host

    async def listener(self, listener: Listener) -> Listener:
        """Puts the filter into the chain, before all others. It is on: if it were off in the chain,
        routes would turn it on too late, and what it guards would be open."""
        service = GrpcService(
            envoy_grpc=GrpcServiceEnvoyGrpc(cluster_name=NAME), timeout=timedelta(seconds=1)
        )
        guard = HttpFilter(name=NAME, typed_config=packed(ExtAuthz(grpc_service=service)))
        for chain in listener.filter_chains:
            for it in chain.filters:
                config = it.typed_config
                if config is not None and config.type_url.endswith(".HttpConnectionManager"):
                    with edited(config, HttpConnectionManager) as manager:
                        manager.http_filters.insert(0, guard)
        return listener

    async def translation(self, translation: Translation) -> Translation:
        """Adds the cluster of the service, which speaks HTTP/2."""
        address = SocketAddress(address=self._host, port_value=self._port)
        endpoint = LbEndpoint(endpoint=Endpoint(address=Address(socket_address=address)))
        http2 = HttpProtocolOptionsExplicitHttpConfig(http2_protocol_options=Http2ProtocolOptions())
        translation.clusters[NAME] = Cluster(
            name=NAME,
            type=ClusterDiscoveryType.STRICT_DNS,
            connect_timeout=timedelta(seconds=1),
            load_assignment=ClusterLoadAssignment(
                cluster_name=NAME, endpoints=[LocalityLbEndpoints(lb_endpoints=[endpoint])]
            ),
            typed_extension_protocol_options={
                _HTTP: packed(HttpProtocolOptions(explicit_http_config=http2))
            },
        )
        return translation


if __name__ == "__main__":
    place, _, number = os.environ["AUTHZ_ADDRESS"].rpartition(":")
    run(Authorization(place, int(number)))
