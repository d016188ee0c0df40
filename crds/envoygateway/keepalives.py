"""How dead connections are noticed, those of clients and those to backends (Envoy Gateway 1.9)."""

from crds.fields import GatewayDuration, Percent, Positive32
from crds.meta import model


@model
class TCPKeepalive:
    """Probes of the kernel by which dead connections are noticed and closed."""

    probes: Positive32 | None = None
    """After how many probes without an answer a connection is dead. The default is 9."""
    idle_time: GatewayDuration | None = None
    """How long a connection rests before the first probe, in whole seconds. The default is 2h."""
    interval: GatewayDuration | None = None
    """The time between two probes, in whole seconds. The default is 75s."""


@model
class HTTP2Keepalive:
    """Pings by which dead HTTP/2 connections are noticed."""

    interval: GatewayDuration | None = None
    """The time between two pings on a connection, at least a millisecond."""
    timeout: GatewayDuration | None = None
    """How long the answer to a ping may take, less than `interval`. The default is 20s."""
    interval_jitter: Percent | None = None
    """By how many percent the interval is varied at random. The default is 15."""
    idle_interval: GatewayDuration | None = None
    """How long a connection rests before a ping is sent on it."""
