"""Who counts the requests that RateLimitFilters limit: a rate limit service that Envoys ask.

On one machine that is a process beside Envoy (`contour.ratelimits`). Without a service a
RateLimitFilter cannot be served. HTTPProxies have a service of their own, which the configuration
names (`dag.defaults`).
"""

from dag import nodes
from dag.configuration import settings
from dag.engine.view import Table, View, query

FLEET = "ratelimit"
"""What rate limit services are served as."""

DOMAIN = "contour"
"""Under which Envoys ask; all of them have one."""

SOCKET: Table[tuple[()], str] = Table("socket of the rate limit service")
"""Where the service of this machine answers; no row if there is none."""

SOCKET_NAME = "ratelimit.sock"
"""Of the file of that socket."""

TIMEOUT = 1.0
"""Seconds after which Envoy decides without an answer."""


@query
def service(view: View, _: tuple[()]) -> nodes.RateLimitService | None:
    """The service that is asked; None if there is none."""
    socket = view.read(SOCKET, ())
    if socket is None:
        return None
    written = view.ask(settings.settings, ()).limit_filters
    return nodes.RateLimitService(
        nodes.LocalCluster(socket), DOMAIN, TIMEOUT, fail_open=not written.fail_closed
    )
