"""Requests for a host that belongs to another listener than the server name of their connection.

The table of the API's own suite (HTTPRouteHTTPSListenerDetectMisdirectedRequests); Envoy's part is
played here by the rule that `nodes.ServerNames` states.
"""

from collections.abc import Iterator

import pytest

from dag import hosts, nodes
from dag.engine.incremental import Engine
from dag.values import hostnames
from tests.dag.gateway.manifests import gateway, gateway_class, host, https, route, service, to
from tests.dag.world import FLEET, world
from tests.testbed import pairs

LISTENERS = {
    "none": "",
    "second": "second-example.org",
    "wildcard": "*.wildcard.org",
    "fourth": "fourth-example.wildcard.org",
}


ROWS = [
    ("example.org", "example.org", 200),
    ("example.org", "second-example.org", 421),
    ("example.org", "unknown-example.org", 404),
    ("second-example.org", "second-example.org", 200),
    ("second-example.org", "example.org", 421),
    ("second-example.org", "unknown-example.org", 421),
    ("second-example.org", "third-example.wildcard.org", 421),
    ("third-example.wildcard.org", "third-example.wildcard.org", 200),
    ("third-example.wildcard.org", "fifth-example.wildcard.org", 200),
    ("third-example.wildcard.org", "fourth-example.wildcard.org", 421),
    ("third-example.wildcard.org", "second-example.org", 421),
    ("fourth-example.wildcard.org", "fourth-example.wildcard.org", 200),
    ("fourth-example.wildcard.org", "fifth-example.wildcard.org", 421),
    ("unknown-example.org", "example.org", 200),
    ("unknown-example.org", "unknown-example.org", 404),
]
"""The server name of a connection, the host of a request, the answer."""


@pytest.fixture(scope="module", name="it")
def _it() -> Engine:
    return world(manifests("s1") + service("s1") + pairs.secret("cert"))


def manifests(backend: str) -> str:
    """A Gateway with these listeners, and a route to the backend on each."""
    listeners = (https(name, rest=host(it) if it else "") for name, it in LISTENERS.items())
    attached = (
        route(name, to(backend), hosts=hosts_of(name), parents=section(name)) for name in LISTENERS
    )
    return "".join((gateway_class(), gateway("gw", *listeners), *attached))


def hosts_of(name: str) -> tuple[str, ...]:
    return ("example.org",) if name == "none" else ()


def section(name: str) -> str:
    return f"{{name: gw, sectionName: {name}}}"


@pytest.mark.parametrize(("server_name", "requested", "status"), ROWS)
def test_what_a_request_is_answered(
    it: Engine, server_name: str, requested: str, status: int
) -> None:
    found = chosen(it, requested)
    assert found is not None
    assert found.server_names is not None
    if not is_of(server_name, found.server_names):
        assert status == 421
    else:
        is_served = isinstance(found.routes[0].action, nodes.Forward)
        assert status == (200 if is_served else 404)


def test_hosts_on_plain_http_have_no_server_names() -> None:
    it = world(gateway_class() + gateway("gw") + route("r", hosts=("a.com",)) + service("s1"))
    found = it.answer(hosts.virtual_host, nodes.HostKey(FLEET, "ingress_http", "a.com"))
    assert found is not None
    assert found.server_names is None


def chosen(it: Engine, requested: str) -> nodes.VirtualHost | None:
    """The most specific virtual host, as Envoy chooses it."""
    return next(_candidates(it, requested), None)


def _candidates(it: Engine, requested: str) -> Iterator[nodes.VirtualHost]:
    for name in hostnames.covering(requested):
        found = it.answer(hosts.virtual_host, nodes.HostKey(FLEET, "ingress_https", name))
        if found is not None:
            yield found


def is_of(server_name: str, names: nodes.ServerNames) -> bool:
    return hostnames.covers(names.pattern, server_name) and not any(
        hostnames.covers(it, server_name) for it in names.exceptions
    )
