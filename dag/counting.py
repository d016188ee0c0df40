"""Who counts the requests that RateLimitFilters limit: a rate limit service that Envoys ask.

On one machine that is a process beside Envoy (`contour.ratelimits`), in a cluster a service that
the instance makes, if the configuration asks for it (`ratelimitservice`). Without a service a
RateLimitFilter cannot be served. HTTPProxies have a service of their own, which the configuration
names (`dag.defaults`).
"""

from typing import NamedTuple

from crds.meta import NamespacedName, ObjectRef
from dag import nodes
from dag.configuration import settings
from dag.engine.view import Table, View, query
from dag.references import secrets, trust

FLEET = "ratelimit"
"""What rate limit services are served as."""

DOMAIN = "contour"
"""Under which Envoys ask; all of them have one."""

SOCKET: Table[tuple[()], str] = Table("socket of the rate limit service")
"""Where the service of this machine answers; no row if there is none."""

SOCKET_NAME = "ratelimit.sock"
"""Of the file of that socket."""


class Provisioned(NamedTuple):
    """What the parts of the service of an instance in a cluster are called."""

    service: NamespacedName
    """The Service in front of it."""
    certificate: NamespacedName
    """The Secret with its certificate."""
    client_certificate: NamespacedName
    """The Secret with the certificate that Envoys show it."""
    identity: str
    """The URI in its certificate."""


PROVISIONED: Table[tuple[()], Provisioned] = Table("provisioned rate limit service")
"""In a cluster; no row on one machine."""

PORT, PORT_NAME = 8081, "grpc"
"""Of the Service, and of its pods."""

TIMEOUT = 1.0
"""Seconds after which Envoy decides without an answer."""


@query
def service(view: View, _: tuple[()]) -> nodes.RateLimitService | None:
    """The service that is asked; None if there is none."""
    if view.ask(obstacle, ()):
        return None
    written = view.ask(settings.settings, ()).limit_filters
    is_open = not written.fail_closed
    return nodes.RateLimitService(_cluster(view), DOMAIN, TIMEOUT, fail_open=is_open)


@query
def obstacle(view: View, _: tuple[()]) -> str:
    """Why no service can be asked, as the end of a sentence; empty if one can."""
    if view.read(SOCKET, ()) is not None:
        return ""
    found = view.read(PROVISIONED, ())
    if found is None or view.ask(settings.settings, ()).limit_filters.service is None:
        return "the rate limit service is not enabled"
    refusal = view.ask(secrets.refusal, found.client_certificate) or view.ask(
        trust.refusal, _trust(found)
    )
    return f"the rate limit service is not ready: {refusal.message}" if refusal else ""


def _cluster(view: View) -> nodes.ExtensionCluster | nodes.LocalCluster:
    if (socket := view.read(SOCKET, ())) is not None:
        return nodes.LocalCluster(socket)
    found = view.read(PROVISIONED, ())
    assert found is not None
    port = nodes.ServicePort(found.service, PORT, PORT_NAME)
    tls = nodes.UpstreamTls(
        trust=_trust(found),
        names=(nodes.AlternativeName("URI", found.identity),),
        sni=f"{found.service.name}.{found.service.namespace}",
        client_certificate=found.client_certificate,
    )
    return nodes.ExtensionCluster(found.service, (nodes.WeightedPort(port),), tls=tls)


def _trust(found: Provisioned) -> nodes.Trust:
    """The authority of the instance, as the Secret with the certificate of Envoys has it."""
    return nodes.Trust((ObjectRef("Secret", *found.client_certificate),))
