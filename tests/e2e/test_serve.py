"""`contour serve` against a real API server, with real Envoys: what a user of a cluster sees."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.e2e import incluster
from tests.e2e.incluster import Instance

CONFIGURATION = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour}
spec:
  envoy:
    http: {address: 127.0.0.1, port: $http}
    https: {address: 127.0.0.1, port: $https}
  gateway: {controllerName: $controller}
  ingress: {statusAddress: 127.0.0.1}
"""

SERVICES = """
apiVersion: v1
kind: Service
metadata: {name: one}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: two}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: one, labels: {kubernetes.io/service-name: one}}
addressType: IPv4
endpoints: [{addresses: [$ip], conditions: {ready: true}}]
ports: [{port: $one}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: two, labels: {kubernetes.io/service-name: two}}
addressType: IPv4
endpoints: [{addresses: [$ip], conditions: {ready: true}}]
ports: [{port: $two}]
"""

PROXY = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: site}
spec: {virtualhost: {fqdn: site.example.com}, routes: [{services: [{name: one, port: 80}]}]}
"""

# Of a class of one's own: instances of other tests in this cluster say nothing about it.
OWN_CONFIGURATION = CONFIGURATION.replace("ingress: {", "ingress: {classNames: [$namespace], ")
OWN_PROXY = PROXY.replace("spec: {", "spec: {ingressClassName: $namespace, ")

GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: $namespace, namespace: ""}
spec: {controllerName: $controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gateway}
spec: {gatewayClassName: $namespace, listeners: [{name: http, protocol: HTTP, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: route}
spec:
  parentRefs: [{name: gateway}]
  hostnames: [route.example.com]
  rules: [{backendRefs: [{name: two, port: 80}]}]
"""

pytestmark = [pytest.mark.envoy, pytest.mark.cluster]


@pytest.fixture
def instance(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Instance]:
    with incluster.instance(cluster, namespace, tmp_path) as found:
        yield found


def test_an_object_of_a_cluster_is_served_and_told(instance: Instance) -> None:
    instance.apply(CONFIGURATION + "---" + SERVICES + "---" + PROXY)
    instance.start_envoy(instance.start_replica())
    instance.until_ready()
    assert instance.ask("site.example.com").backend == "one"
    instance.until_condition("HTTPProxy", "site", "Valid", status="True")
    instance.apply(PROXY.replace("name: one", "name: two"))
    instance.until_answered("site.example.com", "two")
    instance.apply(PROXY.replace("name: one", "name: three"))
    told = instance.until_condition("HTTPProxy", "site", "Valid", status="False")
    assert "spec.routes[0].services[0]" in told["errors"][0]["message"]
    assert told["observedGeneration"] == 3
    instance.delete(PROXY)
    instance.until(lambda: instance.ask("site.example.com").status == 404, "the host to be gone")


def test_what_goes_wrong_is_an_event_and_so_is_its_end(instance: Instance) -> None:
    broken = PROXY.replace("name: one", "name: three")
    route = GATEWAY.replace("[{name: two, port: 80}]", "[{name: three, port: 80}]")
    instance.apply(CONFIGURATION + "---" + SERVICES + "---" + broken)
    replica = instance.start_replica()
    instance.until_ready()
    proxy, attached = ("HTTPProxy", "site"), ("HTTPRoute", "route")
    instance.until(lambda: _events(instance, *proxy) == [UNRESOLVED], "the event of the proxy")
    instance.apply(PROXY)
    instance.until(lambda: _events(instance, *proxy) == [SOLVED, UNRESOLVED], "its end")
    instance.apply(route)
    found = ("Warning", "BackendNotFound")
    instance.until(lambda: found in _events(instance, *attached), "the event of the route")
    # Who leads next finds statuses that say so already, and tells nothing again.
    before = _told(instance)
    replica.stop()
    instance.until_ready(instance.start_replica())
    instance.apply(PROXY.replace("name: one", "name: four"))
    instance.until(lambda: len(_told(instance)) > len(before), "another event")
    after = _told(instance)
    assert {name: after[name] for name in before} == before


SOLVED = ("Normal", "Valid")
UNRESOLVED = ("Warning", "ServiceUnresolvedReference")


def _events(instance: Instance, kind: str, name: str) -> list[tuple[str, str]]:
    return sorted((t, r) for k, n, t, r, _ in _told(instance).values() if (k, n) == (kind, name))


def _told(instance: Instance) -> dict[str, tuple[str, str, str, str, int]]:
    """Every Event of the instance: what it is about, its type and reason, how often it was told."""
    path = f"/apis/events.k8s.io/v1/namespaces/{instance.namespace}/events"
    return {
        it["metadata"]["name"]: (
            it["regarding"]["kind"],
            it["regarding"]["name"],
            it["type"],
            it["reason"],
            it.get("series", {}).get("count", 1),
        )
        for it in instance.cluster.ask("GET", path)["items"]
        if it["reportingController"] == "projectcontour.io/contour"
    }


def test_what_envoys_of_a_follower_accept_is_told_by_the_leader(instance: Instance) -> None:
    instance.apply(CONFIGURATION + "---" + SERVICES + "---" + GATEWAY)
    first = instance.start_replica()
    instance.until_ready(first)
    instance.until(lambda: instance.leader is first, "the first replica to lead")
    second = instance.start_replica()
    instance.until_ready(second)
    instance.until_condition("Gateway", "gateway", "Programmed", reason="NoResources")
    envoy = instance.start_envoy(second)
    instance.until_ready(envoy)
    instance.until_condition("Gateway", "gateway", "Programmed", seconds=2, status="True")
    assert instance.ask("route.example.com").backend == "two"
    instance.until_condition("HTTPRoute", "route", "Accepted", status="True")


def test_when_the_leader_dies_another_goes_on(instance: Instance) -> None:
    instance.apply(CONFIGURATION + "---" + SERVICES + "---" + PROXY)
    first = instance.start_replica()
    instance.until_ready(first)
    instance.until(lambda: instance.leader is first, "the first replica to lead")
    second = instance.start_replica()
    envoy = instance.start_envoy(second)
    instance.until_ready(second, envoy)
    first.stop(signal.SIGKILL)
    instance.processes.remove(first)
    instance.apply(PROXY.replace("name: one", "name: two"))
    instance.until_answered("site.example.com", "two")
    generation = instance.get("HTTPProxy", "site")["metadata"]["generation"]
    instance.until(
        lambda: (
            instance.condition("HTTPProxy", "site", "Valid").get("observedGeneration") == generation
        ),
        "the second replica to tell of the newest version",
    )
    instance.until(lambda: instance.leader is second, "the second replica to lead")


def test_an_instance_waits_for_its_configuration_and_follows_it(instance: Instance) -> None:
    replica = instance.start_replica()
    instance.apply(SERVICES + "---" + OWN_PROXY)
    waiting = f"waiting for ContourConfiguration {instance.namespace}/contour"
    instance.until(lambda: waiting in replica.log.read_text(), waiting)
    status, words = replica.page("pages", "/readyz")
    assert (status, waiting in words) == (503, True)
    assert replica.page("pages", "/healthz")[0] == 200
    assert not instance.condition("HTTPProxy", "site", "Valid")
    broken = OWN_CONFIGURATION.replace(
        "  envoy:\n", "  envoy:\n    timeouts: {requestTimeout: 48h}\n"
    )
    instance.apply(broken)
    told = instance.until_condition("ContourConfiguration", "contour", "Valid", status="False")
    assert "spec.envoy.timeouts.requestTimeout" in str(told)
    assert replica.page("pages", "/readyz")[0] == 503
    instance.apply(OWN_CONFIGURATION)
    instance.until_ready(replica)
    instance.until_condition("ContourConfiguration", "contour", "Valid", status="True")
    envoy = instance.start_envoy(replica)
    instance.until_ready(envoy)
    # An error in a new version: the old one holds, and the user is told.
    instance.apply(broken)
    instance.until_condition("ContourConfiguration", "contour", "Valid", status="False")
    assert instance.ask("site.example.com").backend == "one"
    instance.delete(OWN_CONFIGURATION)
    assert instance.ask("site.example.com").backend == "one"
    assert replica.is_ready


def test_told_to_stop_it_frees_the_lease_and_ends_soon(instance: Instance) -> None:
    instance.apply(CONFIGURATION + "---" + SERVICES + "---" + PROXY)
    replica = instance.start_replica()
    envoy = instance.start_envoy(replica)
    instance.until_ready()
    instance.until(lambda: instance.leader is replica, "it to lead")
    assert replica.stop() < 5
    assert instance.leader is None
    assert replica.code == 0, replica.log.read_text()
    assert envoy.is_ready
    assert instance.ask("site.example.com").backend == "one"


FILE = "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: EnvoyGateway\n"


def test_a_file_of_envoy_gateway_is_the_configuration(instance: Instance) -> None:
    path = instance.folder / "config.yaml"
    path.write_text(f"{FILE}gateway: {{controllerName: somebody.else/entirely}}\n")
    instance.apply(SERVICES + "---" + OWN_PROXY + "---" + GATEWAY)
    replica = instance.start_replica("--config-path", str(path))
    instance.until_ready()
    path.write_text(f"{FILE}gateway: {{controllerName: {instance.controller_name}}}\n")
    instance.until_condition("GatewayClass", instance.namespace, "Accepted", status="True")
    # Gateways alone are served, each as a fleet of its own.
    instance.until_condition("Gateway", "gateway", "Accepted", status="True")
    assert not instance.condition("HTTPProxy", "site", "Valid")
    assert f"{instance.namespace}/gateway" in replica.page("debug", "/debug/config")[1]
    path.write_text("gateway: [")
    instance.until(lambda: "its last good version" in replica.last_words, "the line of the log")
    assert replica.is_ready
    instance.apply(CONFIGURATION)
    instance.until(lambda: "is not read, since" in replica.last_words, "the other line")
    assert instance.condition("Gateway", "gateway", "Accepted")["status"] == "True"


def test_a_file_beside_a_configuration_ends_the_start(instance: Instance) -> None:
    path = instance.folder / "config.yaml"
    path.write_text(FILE)
    instance.apply(CONFIGURATION)
    replica = instance.start_replica("--config-path", str(path))
    instance.until(lambda: replica.code is not None, "the end of the replica")
    assert replica.code == 2
    assert "there is also the ContourConfiguration" in replica.last_words
