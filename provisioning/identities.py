"""The names in the certificates of an instance: of the control plane and of its fleets.

For issuing and for checking certificates. An instance has an authority of its own, so names need to
be unique only within it. No certificate of an Envoy has the control plane's name: whoever steals
one can neither pose as the control plane nor speak to it as another replica.
"""

CONTROL_PLANE = "contour"
"""The name that Envoys and other replicas demand in the control plane's certificate."""


def control_plane(service: str, namespace: str) -> tuple[str, ...]:
    """The names of the control plane that is reached through a Service."""
    return tuple(dict.fromkeys((CONTROL_PLANE, *_of_a_service(service, namespace))))


def fleet(service: str, namespace: str) -> tuple[str, ...]:
    """The names of a fleet: those of the Service in front of it."""
    return tuple(it for it in _of_a_service(service, namespace) if it != CONTROL_PLANE)


def gateway_fleet(gateway: str, namespace: str) -> tuple[str, ...]:
    """The name of a Gateway's fleet: the longest of those of a Service. Names of Gateways have
    dots, so shorter ones are not unique: `a.b.svc` is of `b`, and of a namespace called `svc`."""
    return _of_a_service(gateway, namespace)[-1:]


def grpc_client(namespace: str) -> str:
    """The URI in the certificate of the gRPC applications of a namespace."""
    return f"projectcontour://grpc-client/{namespace}"


def grpc_server(namespace: str) -> str:
    """The URI in the same certificate by which clients identify the servers of a namespace."""
    return f"projectcontour://grpc-server/{namespace}"


GRPC_PROVIDER = "contour"
"""The certificate provider in the bootstrap of gRPC applications, which xDS refers to."""

RATE_LIMIT_SERVICE = "projectcontour://rate-limit-service"
"""The URI in the certificate of the rate limit service of an instance."""

RATE_LIMIT_CLIENT = "contour-rate-limit-client"
"""The name in the client certificate of Envoys for that service. The service checks only DNS names,
and trusts public authorities, too: none of these certifies a name without a dot."""


def rate_limit_service(service: str, namespace: str) -> tuple[str, ...]:
    """The names of the rate limit service, which is reached through a Service."""
    return (*_of_a_service(service, namespace), RATE_LIMIT_SERVICE)


def _of_a_service(service: str, namespace: str) -> tuple[str, ...]:
    name = f"{service}.{namespace}"
    return service, name, f"{name}.svc", f"{name}.svc.cluster.local"
