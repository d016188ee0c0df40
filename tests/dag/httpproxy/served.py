"""One route of one root, as the rules answer it: for the tests of a route's policies."""

from dag import hosts, nodes
from dag.engine.incremental import Engine
from tests.dag.httpproxy.manifests import root, services
from tests.dag.world import FLEET, messages, world

SERVICES = services("s1", "s2", "s3")


def virtual_host(
    engine: Engine, host: str = "a.com", at: str = "ingress_http"
) -> nodes.VirtualHost:
    """A host that is served."""
    found = engine.answer(hosts.virtual_host, nodes.HostKey(FLEET, at, host))
    assert found is not None
    return found


def route(written: str, more: str = "") -> tuple[nodes.Route, list[str]]:
    """The only route of a root, and what its author is told."""
    engine = world(SERVICES + more + root("root", f"routes: [{written}]"))
    (found,) = virtual_host(engine).routes
    return found, messages(engine, "HTTPProxy", "root")


def forward(written: str, more: str = "") -> nodes.Forward:
    """How it forwards, with nothing to complain about."""
    found, told = route(written, more)
    assert told == []
    assert isinstance(found.action, nodes.Forward)
    return found.action


def cluster(written: str, more: str = "") -> nodes.Cluster:
    """The cluster of its first Service, with nothing to complain about."""
    found = forward(written, more).backends[0].cluster
    assert found is not None
    return found


def refusals(written: str, more: str = "") -> list[str]:
    """What the author of a route that is not served is told; a neighbour goes on."""
    neighbour = "{conditions: [{prefix: /neighbour}], services: [{name: s2, port: 80}]}"
    engine = world(SERVICES + more + root("root", f"routes: [{written}, {neighbour}]"))
    (found,) = virtual_host(engine).routes
    assert found.match.path == nodes.Prefix("/neighbour")
    return messages(engine, "HTTPProxy", "root")


def closed(written: str, more: str = "") -> list[str]:
    """What the author of a route that answers 503 is told."""
    found, told = route(written, more)
    assert found.action == nodes.Respond(503)
    return told
