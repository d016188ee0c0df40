"""Addresses and ports to listen on, and references to objects, as in a ContourConfiguration."""

from typing import Annotated

from pydantic import StringConstraints

from crds.fields import Flag, NonEmpty, PortOrNone
from crds.grpcclients import GrpcClients
from crds.meta import model
from crds.unserved import Unserved

_FLAGS = "the flags of `contour serve` set it, because Envoys connect before this is read"
Address = Annotated[str, StringConstraints(min_length=1, max_length=253)]


@model
class ObjectName:
    """A reference to an object in any namespace, by namespace and name."""

    namespace: str
    """The namespace that the referenced object is in."""
    name: str
    """The name of the referenced object in its namespace."""


@model
class Endpoint:
    """An IP address and a port on which a process listens."""

    address: NonEmpty | None = None
    """The IP address to listen on. In a cluster the default is `0.0.0.0`, all IPv4 addresses."""
    port: PortOrNone | None = None
    """The TCP port to listen on. If it is absent or 0, the default port of the purpose applies."""


@model
class DebugEndpoint:
    """The IP address and port on which the control plane serves its debug pages. Whoever can
    connect to it sees the whole configuration."""

    address: str | None = None
    """The IP address to listen on; by default `127.0.0.1`, for the same machine or pod alone."""
    port: PortOrNone | None = None
    """The TCP port to listen on. The default is 6060; 0 means the default."""


@model
class MetricsTLS:
    """The files by which metrics are served over TLS. Without both `certFile` and `keyFile` it is
    an error, and the metrics are not served at all rather than in plain text."""

    ca_file: str | None = None
    """The path of a PEM file with the certificate authority that client certificates are verified
    against. Without it clients need no certificate."""
    cert_file: str | None = None
    """The path of a PEM file with the certificate of the server."""
    key_file: str | None = None
    """The path of a PEM file with the private key of the certificate."""


@model
class MetricsEndpoint:
    """The IP address and port on which metrics are served, in plain text or over TLS."""

    address: Address | None = None
    """The IP address to listen on. In a cluster the default is `0.0.0.0`, all IPv4 addresses."""
    port: PortOrNone | None = None
    """The TCP port to listen on: by default 8000 for the control plane and 8002 for Envoy. With TLS
    it cannot be shared with the health port."""
    tls: MetricsTLS | None = None
    """The metrics are served over TLS with these files. By default they are served in plain
    text."""


@model
class XDSServerTLS:
    """The files by which Envoys are served over TLS. The flags of `contour serve` name them
    instead."""

    ca_file: str | None = None
    """The path of a PEM file with the certificate authority that Envoys' certificates are verified
    against."""
    cert_file: str | None = None
    """The path of a PEM file with the certificate of the server."""
    key_file: str | None = None
    """The path of a PEM file with the private key of the certificate."""
    insecure: Flag | None = None
    """If true, Envoys would be served without TLS. Setting it has no effect."""


@model
class XDSServer:
    """The server from which Envoys and gRPC clients get their configuration by xDS. The flags of
    `contour serve` set its address, port and files."""

    address: Annotated[NonEmpty | None, Unserved(instead=_FLAGS)] = None
    """The IP address to listen on for Envoys."""
    port: Annotated[PortOrNone | None, Unserved(instead=_FLAGS)] = None
    """The TCP port to listen on for Envoys."""
    tls: Annotated[XDSServerTLS | None, Unserved(instead=_FLAGS)] = None
    """The files by which Envoys are served over TLS."""
    grpc_clients: GrpcClients | None = None
    """The Services that gRPC clients without a proxy may call, and the names by which they ask. By
    default there are none. Upstream Contour does not have this field."""
