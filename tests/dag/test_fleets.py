"""Which fleets there are to be, and on which ports clients find them."""

import pytest

from dag import fleets, hosts, listeners
from dag.engine.incremental import Engine
from dag.fleets import Fleet
from dag.plan import STATUSES
from tests.dag.gateway.manifests import (
    configuration,
    gateway,
    gateway_class,
    http,
    listener,
)
from tests.dag.world import FLEET, apply, delete, key, world

PUBLISHED = "networkPublishing: {type: ClusterIPService}"


def settings(envoy: str = PUBLISHED, mode: str = "Single") -> str:
    return configuration(f"gateway: {{mode: {mode}}}, envoy: {{{envoy}}}")


def without_gateways(envoy: str = PUBLISHED) -> str:
    return settings(envoy).replace("gateway: {mode: Single}, ", "")


def fleet(engine: Engine, name: str = FLEET) -> Fleet:
    found = engine.answer(fleets.fleet, name)
    assert found is not None
    return found


def ports(engine: Engine, name: str = FLEET) -> list[str]:
    """As `name number/protocol->bound`."""
    return [f"{it.name} {it.number}/{it.protocol}->{it.bound}" for it in fleet(engine, name).ports]


def test_without_gateways_the_ports_are_those_of_the_settings() -> None:
    assert ports(world(without_gateways())) == ["http 80/TCP->8080", "https 443/TCP->8443"]
    it = world(without_gateways(f"{PUBLISHED}, externalPorts: {{http: 81, https: 444}}"))
    assert ports(it) == ["http 81/TCP->8080", "https 444/TCP->8443"]
    assert fleet(it).is_due


def test_until_there_is_a_gateway_the_ports_are_those_of_the_settings_and_so_they_are_again() -> (
    None
):
    it = world(settings())
    usual = ["http 80/TCP->8080", "https 443/TCP->8443"]
    assert (ports(it), fleet(it).is_due) == (usual, True)
    apply(it, gateway_class() + gateway("gw", http(port=8080), http("other", port=9090)))
    assert ports(it) == ["http-8080 8080/TCP->16080", "http-9090 9090/TCP->17090"]
    delete(it, "Gateway", "gw")
    assert ports(it) == usual


def test_the_ports_follow_those_of_the_gateway_in_charge() -> None:
    it = world(settings() + gateway_class() + gateway("gw"))
    assert ports(it) == ["http 80/TCP->8080"]
    apply(it, gateway("gw", http(), listener("dns", 53, "UDP"), listener("db", 53, "TCP")))
    assert ports(it) == ["tcp-53 53/TCP->8053", "udp-53 53/UDP->8053", "http 80/TCP->8080"]
    apply(it, gateway("younger", http(port=81), created="09"))
    delete(it, "Gateway", "gw")
    assert ports(it) == ["http-81 81/TCP->8081"]


def test_ports_that_the_settings_name_are_there_beside_those_of_the_gateway() -> None:
    said = settings(f"{PUBLISHED}, externalPorts: {{http: 80, https: 443}}")
    it = world(said + gateway_class() + gateway("gw", http(port=8080)))
    assert ports(it) == [
        "http 80/TCP->8080", "https 443/TCP->8443", "http-8080 8080/TCP->16080",
    ]  # fmt: skip
    apply(it, gateway("gw", listener("db", 443, "TCP")))
    assert ports(it) == ["http 80/TCP->8080", "https 443/TCP->8443"]


def test_a_shared_fleet_for_gateways_alone_waits_for_their_listeners() -> None:
    it = world(settings(mode="Single, only: true"))
    assert (ports(it), fleet(it).is_due) == ([], False)
    apply(it, gateway_class() + gateway("gw", http(port=8080)))
    assert (ports(it), fleet(it).is_due) == (["http-8080 8080/TCP->16080"], True)
    delete(it, "Gateway", "gw")
    assert (ports(it), fleet(it).is_due) == ([], False)


@pytest.mark.parametrize(("metrics", "port", "bound"), [(8001, 1, 8003), (8089, 89, 8091)])
def test_a_listener_is_not_moved_to_a_port_that_its_pods_need(
    metrics: int, port: int, bound: int
) -> None:
    text = settings(f"{PUBLISHED}, metrics: {{port: {metrics}}}")
    it = world(text + gateway_class() + gateway("gw", http(port=port)))
    assert ports(it) == [f"http-{port} {port}/TCP->{bound}"]


def test_every_gateway_has_a_fleet_and_ingress_keeps_one() -> None:
    it = world(settings(mode="PerGateway") + gateway_class() + gateway("a/gw") + gateway("b/gw"))
    assert fleet(it, "a/gw").gateway == ("a", "gw")
    assert fleet(it, "b/gw").gateway_class == "contour"
    assert ports(it, "a/gw") == ["http 80/TCP->8080"]
    assert (fleet(it).gateway, fleet(it).is_due) == (None, True)
    assert ports(it) == ["http 80/TCP->8080", "https 443/TCP->8443"]
    delete(it, "Gateway", "a/gw")
    assert it.answer(fleets.fleet, "a/gw") is None
    apply(it, settings())
    assert it.answer(fleets.fleet, "b/gw") is None


def test_what_a_gateway_cannot_have_now_does_not_end_its_fleet() -> None:
    it = world(settings(mode="PerGateway") + gateway_class() + gateway("gw"))
    assert fleet(it, "default/gw").is_managed
    reference = "parametersRef: {group: example.com, kind: Strange, name: it}"
    apply(it, gateway("gw", rest=f"infrastructure: {{{reference}}}"))
    assert not fleet(it, "default/gw").is_managed


def test_a_gateway_that_is_refused_leaves_the_shared_fleet_its_labels_and_address() -> None:
    it, labels = world(settings() + gateway_class()), "labels: {team: a}"
    address = "addresses: [{type: IPAddress, value: 192.0.2.7}]"
    apply(it, gateway("gw", rest=f"{address}, infrastructure: {{{labels}}}"))
    before = fleet(it)
    assert (before.labels, [it.value for it in before.addresses]) == ({"team": "a"}, ["192.0.2.7"])
    reference = "parametersRef: {group: example.com, kind: Strange, name: it}"
    apply(it, gateway("gw", rest=f"{address}, infrastructure: {{{labels}, {reference}}}"))
    assert (fleet(it).labels, fleet(it).addresses) == (before.labels, before.addresses)


@pytest.mark.parametrize(
    ("envoy", "is_managed"),
    [
        ("", False),
        (PUBLISHED, True),
        (f"{PUBLISHED}, managed: true", True),
        (f"{PUBLISHED}, managed: false", False),
        ("workload: {type: Deployment}", False),
    ],
)
def test_a_fleet_is_managed_where_it_is_published_and_not_let_go(
    envoy: str, is_managed: bool
) -> None:
    assert fleet(world(without_gateways(envoy))).is_managed is is_managed


def test_the_fleet_of_a_configuration_that_is_being_deleted_is_left_to_who_removes_it() -> None:
    it = world(without_gateways())
    leaving = "metadata: {deletionTimestamp: '2030-01-01T00:00:00Z', "
    apply(it, without_gateways().replace("metadata: {", leaving))
    assert not fleet(it).is_managed


@pytest.mark.parametrize(
    ("listener_settings", "found"),
    [
        ("http3: true", ["http3-443 443/UDP->8443"]),
        ("http3: false", []),
        ("http3: true, useProxyProtocol: true", []),
    ],
)
def test_http3_has_the_udp_port_of_https(listener_settings: str, found: list[str]) -> None:
    it = world(without_gateways(f"{PUBLISHED}, listener: {{{listener_settings}}}"))
    assert [port for port in ports(it) if "UDP" in port] == found


@pytest.mark.parametrize(
    ("metrics", "hides"),
    [("port: 9000", False), ("tls: {}", True), ("tls: {certFile: /c, keyFile: /k}", True)],
)
def test_metrics_over_tls_are_nowhere_in_the_clear(metrics: str, hides: bool) -> None:
    it = world(without_gateways(f"{PUBLISHED}, metrics: {{{metrics}}}"))
    assert fleet(it).hides_stats is hides


def test_every_fleet_starts_with_the_bootstrap_of_the_configuration() -> None:
    envoy = f"{PUBLISHED}, bootstrap: {{value: 'a: 1'}}"
    it = world(settings(envoy, "PerGateway") + gateway_class() + gateway("a/gw"))
    found = [fleet(it, name).bootstrap for name in (FLEET, "a/gw")]
    assert [it and it.custom.value for it in found] == ["a: 1", "a: 1"]
    apply(it, settings(mode="PerGateway"))
    assert fleet(it, "a/gw").bootstrap is None


INGRESS = """
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: i}
spec: {rules: [{host: i.example.com, http: $paths}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: j}
spec: {ingressClassName: ours, rules: [{host: j.example.com, http: $paths}]}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: ours}
spec: {controller: projectcontour.io/ingress-controller}
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: p}
spec:
  virtualhost: {fqdn: p.example.com}
  routes: [{directResponsePolicy: {statusCode: 200}}]
"""
PATHS = "{paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}"
UNSERVED = (("Ingress", "i"), ("Ingress", "j"), ("HTTPProxy", "p"))
OTHERS = {"i.example.com", "j.example.com", "p.example.com"}


@pytest.mark.parametrize("mode", ["Single", "PerGateway"])
def test_where_gateways_alone_are_served_nothing_else_is(mode: str) -> None:
    text = settings(mode=mode)
    ingress = INGRESS.replace("$paths", PATHS)
    it = world(text + ingress + gateway_class() + gateway("gw", http(port=8081)))
    assert hosts_of(it) == OTHERS
    apply(it, text.replace(f"mode: {mode}", f"mode: {mode}, only: true"))
    assert hosts_of(it) == set()
    assert all(it.answer(STATUSES[kind], key(name)) is None for kind, name in UNSERVED)
    if mode == "Single":
        assert ports(it) == ["http-8081 8081/TCP->16081"]
    else:
        assert it.answer(fleets.fleet, FLEET) is None
        assert it.answer(listeners.listeners, FLEET) == ()
        assert ports(it, "default/gw") == ["http-8081 8081/TCP->16081"]
    apply(it, text)
    assert hosts_of(it) == OTHERS


def hosts_of(engine: Engine) -> set[str]:
    """The hosts that are served, but for those of everybody."""
    return {it.host for it, found in engine.answers(hosts.virtual_host) if found} & OTHERS
