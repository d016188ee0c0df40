"""The names in the certificates of an instance: who is the control plane, and who is which fleet.

For those who issue certificates and those who check them. An instance has an authority of its own,
so names need only differ within it. The control plane's name is in no certificate of an Envoy: who
gets hold of one can neither pose as the control plane nor speak to it as another replica.
"""

CONTROL_PLANE = "contour"
"""What Envoys, and replicas among themselves, demand of the control plane's certificate."""


def control_plane(service: str, namespace: str) -> tuple[str, ...]:
    """The names of the control plane that is reached through a Service."""
    return tuple(dict.fromkeys((CONTROL_PLANE, *_of_a_service(service, namespace))))


def fleet(service: str, namespace: str) -> tuple[str, ...]:
    """The names of a fleet, which are those of the Service in front of it."""
    return tuple(it for it in _of_a_service(service, namespace) if it != CONTROL_PLANE)


def gateway_fleet(gateway: str, namespace: str) -> tuple[str, ...]:
    """The names of the fleet of one Gateway: never the short one, which other namespaces have."""
    return tuple(it for it in _of_a_service(gateway, namespace) if it != gateway)


def grpc_client(namespace: str) -> str:
    """The URI in the certificate of the gRPC applications of a namespace."""
    return f"projectcontour://grpc-client/{namespace}"


def grpc_server(namespace: str) -> str:
    """The URI in the same certificate by which clients know the servers of a namespace."""
    return f"projectcontour://grpc-server/{namespace}"


GRPC_PROVIDER = "contour"
"""What the bootstrap of a gRPC application calls its certificate, and what it is told to show."""

RATE_LIMIT_SERVICE = "projectcontour://rate-limit-service"
"""The URI in the certificate of the rate limit service of an instance."""

RATE_LIMIT_CLIENT = "contour-rate-limit-client"
"""The name in the certificate that Envoys show that service. It checks DNS names only, and trusts
public authorities, too: none of them certifies a name without a dot."""


def rate_limit_service(service: str, namespace: str) -> tuple[str, ...]:
    """The names of the rate limit service, which is reached through a Service."""
    return (*_of_a_service(service, namespace), RATE_LIMIT_SERVICE)


def _of_a_service(service: str, namespace: str) -> tuple[str, ...]:
    name = f"{service}.{namespace}"
    return service, name, f"{name}.svc", f"{name}.svc.cluster.local"
