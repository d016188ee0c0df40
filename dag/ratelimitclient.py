"""How Envoys call the rate limit service for RateLimitFilters and BackendTrafficPolicies.

On one machine it is a process beside Envoy (`contour.ratelimits`). In a cluster it is there if
the configuration asks for it: pods that count in a Redis, or, without a Redis, the same process
beside the replica that leads, which counts in memory (`ratelimitservice`). Without a service such
limits cannot be served. HTTPProxies have a service of their own, which the configuration
names (`dag.defaults`).
"""

from typing import NamedTuple

from crds.meta import NamespacedName, ObjectRef
from dag import nodes
from dag.configuration import settings
from dag.engine.view import Table, View, query
from dag.references import redisaccess, secrets, trust

FLEET = "ratelimit"
"""The fleet as which rate limit services get their configuration."""

DOMAIN = "contour"
"""The rate limit domain under which all Envoys ask."""

SOCKET: Table[tuple[()], str] = Table("socket of the rate limit service")
"""The socket of the service on this machine; no row if there is none."""

SOCKET_NAME = "ratelimit.sock"
"""The file name of that socket."""


class Provisioned(NamedTuple):
    """The names of the objects of an instance's rate limit service in a cluster."""

    service: NamespacedName
    """The Service in front of its pods. Its ServiceAccount has the same name."""
    leader: NamespacedName
    """The Service in front of the replica that leads, where that one counts."""
    certificate: NamespacedName
    """The Secret with its certificate."""
    client_certificate: NamespacedName
    """The Secret with the certificate that Envoys show to the service."""
    identity: str
    """The URI in its certificate."""


PROVISIONED: Table[tuple[()], Provisioned] = Table("provisioned rate limit service")
"""The names, in a cluster; no row on one machine."""

PORT, PORT_NAME = 8081, "grpc"
"""The port of the Service and of its pods, and the name of that port."""

TIMEOUT = 1.0
"""Seconds after which Envoy decides without an answer."""

MOST_CONDITIONS = 97
"""The most conditions of one limit: in the service's configuration each is a message inside that of
the one before, below three others, and Protobuf reads messages that are nested 100 deep."""


def refusal(number: int) -> str:
    """Why the service cannot count a limit with so many conditions; empty if it can."""
    if number <= MOST_CONDITIONS:
        return ""
    return f"has {number} conditions on requests, more than {MOST_CONDITIONS}"


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
    written = view.ask(settings.settings, ()).limit_filters
    if view.read(SOCKET, ()) is not None:
        lacking = next(redisaccess.missing(view, written.redis, home(view)), None)
        return f"the rate limit service is not ready: {lacking[1]}" if lacking else ""
    found = view.read(PROVISIONED, ())
    if found is None or written.service is None:
        return "the rate limit service is not enabled"
    refusal = view.ask(secrets.refusal, found.client_certificate) or view.ask(
        trust.refusal, trusted(found.client_certificate)
    )
    return f"the rate limit service is not ready: {refusal.message}" if refusal else ""


def home(view: View) -> str:
    """The namespace of the ContourConfiguration, and of the Secrets that it names."""
    found = view.ask(settings.chosen_name, ())
    return found.namespace if found is not None else ""


def _cluster(view: View) -> nodes.ExtensionCluster | nodes.LocalCluster:
    if (socket := view.read(SOCKET, ())) is not None:
        return nodes.LocalCluster(socket)
    found = view.read(PROVISIONED, ())
    assert found is not None
    is_leader = view.ask(settings.settings, ()).limit_filters.redis is None
    service = found.leader if is_leader else found.service
    port = nodes.ServicePort(service, PORT, PORT_NAME)
    tls = nodes.UpstreamTls(
        trust=trusted(found.client_certificate),
        names=(nodes.AlternativeName("URI", found.identity),),
        sni=f"{service.name}.{service.namespace}",
        client_certificate=found.client_certificate,
    )
    ports = (nodes.WeightedPort(port),)
    if is_leader:  # which takes calls over HTTP/1.1 (`contour.ratelimits`)
        return nodes.ExtensionCluster(service, ports, "tls", tls=tls, has_trailers=True)
    return nodes.ExtensionCluster(service, ports, tls=tls)


def trusted(certificate: NamespacedName) -> nodes.Trust:
    """The authority of the instance, as the Secret of a certificate has it that it has signed."""
    return nodes.Trust((ObjectRef("Secret", *certificate),))
