"""Where a process listens, and the names of objects, as ContourConfiguration writes them."""

from typing import Annotated

from pydantic import StringConstraints

from crds.fields import Flag, NonEmpty, PortOrNone
from crds.meta import model

Address = Annotated[str, StringConstraints(min_length=1, max_length=253)]


@model
class ObjectName:
    """An object in any namespace."""

    namespace: str
    """Its namespace."""
    name: str
    """Its name."""


@model
class Endpoint:
    """An address and a port to listen at."""

    address: NonEmpty | None = None
    """The address."""
    port: PortOrNone | None = None
    """The port."""


@model
class DebugEndpoint:
    """An address and a port to serve debugging pages at."""

    address: str | None = None
    """The address."""
    port: PortOrNone | None = None
    """The port."""


@model
class MetricsTLS:
    """Files for serving metrics over TLS."""

    ca_file: str | None = None
    """The authority that certificates of clients are checked against."""
    cert_file: str | None = None
    """The certificate."""
    key_file: str | None = None
    """Its key."""


@model
class MetricsEndpoint:
    """An address and a port to serve metrics at."""

    address: Address | None = None
    """The address."""
    port: PortOrNone | None = None
    """The port."""
    tls: MetricsTLS | None = None
    """Serve them over TLS."""


@model
class XDSServerTLS:
    """Files for serving Envoys over TLS."""

    ca_file: str | None = None
    """The authority that certificates of Envoys are checked against."""
    cert_file: str | None = None
    """The certificate."""
    key_file: str | None = None
    """Its key."""
    insecure: Flag | None = None
    """Serve without TLS."""


@model
class XDSServer:
    """Where Envoys get their configuration."""

    address: NonEmpty | None = None
    """The address."""
    port: PortOrNone | None = None
    """The port."""
    tls: XDSServerTLS | None = None
    """How Envoys are served over TLS."""
