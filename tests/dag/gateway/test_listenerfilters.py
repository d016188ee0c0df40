"""Filters of listeners: where they stand, and what is told of those that cannot be served."""

import pytest

from dag import listeners, nodes
from dag.gateway import filteredlisteners, policystatus
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    gateway,
    gateway_class,
    host,
    http,
    https,
    listener,
    listener_set,
    policy,
    route,
    service,
    stream_route,
)
from tests.dag.httpproxy import manifests as httpproxy
from tests.dag.world import FLEET, key, routes, secure_host, world
from tests.testbed import pairs

FINE = ["Accepted", "ResolvedRefs", "Programmed"]
LOST = "Programmed=False/Invalid"


def with_listeners(*given: str, rest: str = "") -> str:
    return gateway_class() + gateway("gw", *given, rest=rest)


def filtered(*requests: str) -> str:
    """The filters of a listener."""
    return f"filters: {{requests: [{', '.join(requests)}]}}"


def asking(server: str, rest: str = "") -> str:
    """A filter of a listener: a server that decides, by its name or as YAML."""
    reference = server if server.startswith("{") else f"{{name: {server}, port: 80}}"
    http_ = f"protocol: HTTP, http: {{{rest}}}, backendRef: {reference}"
    return f"{{type: ExternalAuth, externalAuth: {{{http_}}}}}"


EXTENSION = "{type: ExtensionRef, extensionRef: {group: x.com, kind: Foo, name: f}}"
FILTERS = filtered(asking("s1"), EXTENSION)
GUARDED = ["Accepted=False/UnsupportedValue", "ResolvedRefs", LOST]
SHUT = "so the listener answers every request with 503"


def test_a_listener_with_filters_is_served_with_them_in_their_order() -> None:
    it = world(
        with_listeners(
            http("two", f"{host('x.a.com')}, {filtered(asking('s1'), asking('s2'))}"),
            http("one", f"{host('*.a.com')}, {filtered(asking('s2'))}"),
            http("none", host("y.a.com")),
        )
        + route("r", hosts=("x.a.com", "z.a.com"))
        + service("s1")
        + service("s2")
    )
    assert all(status_text.listener(it, name) == FINE for name in ("one", "two", "none"))
    assert routes(it, "x.a.com") == ["/ -> default/s1:80"]
    found = it.answer(filteredlisteners.filters, nodes.ListenerKey(FLEET, "ingress_http"))
    assert found is not None
    assert [(it.name, it.host, it.exceptions, _server(it)) for it in found] == [
        ("gateway/default/gw/one/0", "*.a.com", ("x.a.com", "y.a.com"), "s2"),
        ("gateway/default/gw/two/0", "x.a.com", (), "s1"),
        ("gateway/default/gw/two/1", "x.a.com", (), "s2"),
    ]


def _server(found: nodes.ListenerFilter) -> str:
    cluster = found.authorization.cluster
    assert isinstance(cluster, nodes.Cluster)
    return cluster.port.service.name


def test_the_policy_of_a_server_that_decides_is_told_of_the_gateway() -> None:
    trusted = policy("p", "hostname: s1.com, wellKnownCACertificates: System")
    it = world(
        with_listeners(http("http", filtered(asking("s1"))))
        + service("s1", port="port: 80, appProtocol: https")
        + trusted
    )
    assert status_text.listener(it, "http") == FINE
    found = it.answer(policystatus.backend_tls_policy, key("p"))
    assert found is not None
    assert [each.ancestor.name for each in found.ancestors] == ["gw"]
    (asked,) = it.answer(filteredlisteners.filters, nodes.ListenerKey(FLEET, "ingress_http")) or ()
    assert isinstance(asked.authorization.cluster, nodes.Cluster)
    assert asked.authorization.cluster.tls is not None


BAD_FILTERS = {
    EXTENSION: (
        "Accepted=False/UnsupportedValue",
        f"requests[1].type: the type ExtensionRef is not supported; use ExternalAuth, {SHUT}",
    ),
    "{type: Later}": (
        "Accepted=False/UnsupportedValue",
        f"requests[1].type: the type Later is not supported; use ExternalAuth, {SHUT}",
    ),
    asking("s1").replace("HTTP", "SOAP"): (
        "Accepted=False/UnsupportedValue",
        f"requests[1].externalAuth.protocol: 'SOAP' is none of HTTP, GRPC, {SHUT}",
    ),
    asking("s1", "allowedResponseHeaders: [host]"): (
        "Accepted=False/InvalidListenerFilter",
        "requests[1].externalAuth.http.allowedResponseHeaders: 'host' cannot be changed here:"
        f" rewrite the host name instead, {SHUT}",
    ),
    asking("s1", "path: check"): (
        "Accepted=False/InvalidListenerFilter",
        "requests[1].externalAuth.http.path: 'check' is no path: / first, then visible characters"
        f" without ? and #, {SHUT}",
    ),
    asking("nobody"): (
        "ResolvedRefs=False/InvalidListenerFilterRef",
        f"requests[1].externalAuth.backendRef: Service default/nobody not found, {SHUT}",
    ),
    asking("{name: s1, namespace: other, port: 80}"): (
        "ResolvedRefs=False/RefNotPermitted",
        "requests[1].externalAuth.backendRef: no ReferenceGrant in namespace other permits Service"
        f" other/s1, {SHUT}",
    ),
}


@pytest.mark.parametrize("bad", BAD_FILTERS)
def test_a_listener_whose_filter_cannot_be_served_answers_503_and_says_so(bad: str) -> None:
    condition, words = BAD_FILTERS[bad]
    guarded = http("shut", f"{host('x.a.com')}, {filtered(asking('s1'), bad)}")
    it = world(
        with_listeners(http("open", host("*.a.com")), guarded)
        + route("r", hosts=("y.a.com", "x.a.com"))
        + service("s1")
    )
    told = status_text.listener(it, "shut")
    assert condition in told
    assert LOST in told
    messages = status_text.listener_messages(it, "shut")
    own = messages[0 if condition.startswith("Accepted") else 1]
    assert own == messages[2] == f"spec.listeners[1].filters.{words}"
    assert "Programmed" in status_text.gateway(it)
    assert routes(it, "x.a.com") == ["/ -> 503"]
    assert status_text.listener(it, "open") == FINE
    assert routes(it, "y.a.com") == ["/ -> default/s1:80"]
    assert not it.answer(filteredlisteners.filters, nodes.ListenerKey(FLEET, "ingress_http"))


def test_a_closed_listener_closes_its_routes_and_the_hosts_of_other_apis() -> None:
    stream = "tcpproxy: {services: [{name: s1, port: 80}]}"
    it = world(
        with_listeners(http("http", FILTERS), https("https", rest=FILTERS))
        + pairs.secret("cert")
        + route("r", hosts=("g.com",))
        + service("s1")
        + httpproxy.root("p", f"routes: [{httpproxy.on('/x', 's1')}]", "p.com")
        + httpproxy.tls_root("t", stream, fqdn="t.com")
    )
    assert status_text.listener(it, "http") == status_text.listener(it, "https") == GUARDED
    for name in ("ingress_http", "ingress_https"):
        assert routes(it, "*", name) == routes(it, "g.com", name) == ["/ -> 503"]
    assert routes(it, "p.com") == ["/ -> 503"]
    assert secure_host(it, "t.com").stream == CLOSED_STREAM


CLOSED_STREAM = nodes.Stream((nodes.WeightedCluster(None),))


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_a_listener_set_with_filters_on_a_stream_sends_nothing_on(protocol: str) -> None:
    """The CRD of ListenerSets lacks the rule that filters need HTTP or HTTPS."""
    sets = listener_set("set", listener("raw", 9000, protocol, FILTERS))
    raw = stream_route(f"{protocol}Route", "r", "{name: s1, port: 80}")
    it = world(
        with_listeners(http(), rest="allowedListeners: {namespaces: {from: Same}}")
        + sets
        + service("s1", port=f"port: 80, protocol: {protocol}")
        + raw.replace("{name: gw}", "{kind: ListenerSet, name: set}")
    )
    assert status_text.set_listener(it, "raw", "set") == [
        "Accepted=False/InvalidListenerFilter",
        "ResolvedRefs",
        LOST,
    ]
    found = it.answer(listeners.listener, nodes.ListenerKey(FLEET, f"{protocol.lower()}-9000"))
    assert found is not None
    assert found.stream == CLOSED_STREAM
