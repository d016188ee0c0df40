"""Envoys of Gateways as EnvoyProxies say, in a cluster with pods: each type of Service, a bootstrap
of one's own, one with which Envoy does not start, parameters that become invalid, and a tenant who
asks for too much."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from contour.infrastructure import rollback
from provisioning.keeping import rollouts
from tests.pods import runner
from tests.testbed.load import Load, Request, Tally
from tests.workflows.instances import CONTROLLER, Instance, provisioned
from tests.workflows.site import MANIFESTS, PATIENCE, Raw, Site, Told

pytestmark = pytest.mark.timeout(600)

HOST, PAY = "edge.example.com", Told(200, "pay")
SPEC = {
    "contour": {"replicas": 1},
    "envoy": {"networkPublishing": {"type": "LoadBalancerService"}},
    "gateway": {"controllerName": CONTROLLER, "mode": "PerGateway"},
}
_ADMIN = {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 19000}}}
_EXTRA = {"name": "extra", "connect_timeout": "1s"}
_AUTHORITY = {"trusted_ca": {"filename": "/nowhere"}}
_TLS = {
    "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
    "common_tls_context": {"validation_context": _AUTHORITY},
}
_BAD = {**_EXTRA, "name": "bad", "transport_socket": {"name": "tls", "typed_config": _TLS}}
_UNDONE = "was undone, for its first new Envoy failed: container envoy"
_WORDS = "Invalid path: /nowhere"


@pytest.fixture(scope="module")
def instance(shared_site: Site) -> Instance:
    """With a fleet for Ingress and HTTPProxy, and one for each of three Gateways."""
    site = shared_site
    crd = str(MANIFESTS / "optional" / "gateway.envoyproxy.io.yaml")
    site.kubectl("apply", "--server-side", "-f", crd)
    found = provisioned(site, SPEC, gateway=False)
    site.apply("envoyproxies.yaml", namespace="default", home=found.namespace)
    return found


def test_each_type_of_service_is_reached_and_a_tenant_gets_no_more(instance: Instance) -> None:
    site = instance.site
    site.until_told(site.pods.address("default", "balanced-edge"), HOST, told=PAY)
    (port,) = _service(site, "ported")["spec"]["ports"]
    node = site.pods.node_address("node-1")
    site.until(lambda: _asked(site, node, port["nodePort"]), lambda it: it == PAY)
    inner = _service(site, "inner")["spec"]
    assert inner["type"] == "ClusterIP"
    assert "nodePort" not in inner["ports"][0]
    _is_reached_from_a_pod(site, inner["clusterIP"])
    before = site.get("envoyproxy", "default", "balanced")["spec"]
    _is_refused_with_a_tenants_token(site, instance.namespace)
    whole = [{"op": "replace", "path": "/spec", "value": before}]
    site.kubectl(
        "patch", "envoyproxy", "balanced", "-n", "default", "--type=json", "-p", json.dumps(whole)
    )
    site.until_condition("gateway", "default", "balanced", "Accepted")


def test_a_bootstrap_is_undone_or_started_with_and_no_request_is_lost(instance: Instance) -> None:
    site = instance.site
    with _load(site) as tally:
        _is_undone(instance)
        _is_started_with(instance)
        _goes_on(site, tally)
    tally.require_all("pay")


def test_envoys_stay_while_their_class_is_invalid_and_no_request_is_lost(
    instance: Instance,
) -> None:
    """The last valid version of its parameters holds; the class alone says that they are wrong."""
    site = instance.site
    with _load(site) as tally:
        before = _envoy(site)
        privileged = {"securityContext": {"privileged": True}}
        _set_class(instance, {"replicas": 2, "container": privileged})
        told = site.until_condition("gatewayclass", "", "edge", "Accepted", "False")
        assert "container.securityContext.privileged" in told["message"]
        _goes_on(site, tally)
        assert _envoy(site) == before
        _set_class(instance, {"replicas": 1, "pod": {"annotations": {"again": "valid"}}})
        site.until_condition("gatewayclass", "", "edge", "Accepted")
        assert _other_envoy(site, before)["metadata"]["annotations"]["again"] == "valid"
        _goes_on(site, tally)
    tally.require_all("pay")


def _is_undone(instance: Instance) -> None:
    """Both fleets, a DaemonSet and a Deployment, go back to what they had."""
    site = instance.site
    site.until(lambda: _workloads(instance), lambda found: all(map(rollouts.is_proven, found)))
    before = _envoy(site)
    _start_with(instance, _BAD)
    for look in (lambda: _told(site), lambda: _told_of_instance(instance)):
        site.until(look, lambda it: _UNDONE in it and _WORDS in it, 2 * PATIENCE)
    for it in _workloads(instance):
        assert rollback.UNDONE in it["metadata"]["annotations"]
        assert "nowhere" not in json.dumps(it["spec"])
    assert _envoy(site) == before
    site.pods.until_ready(instance.namespace, "app=envoy", 2)


def _is_started_with(instance: Instance) -> None:
    """The edit is tried again: another admin port, and one more cluster."""
    site = instance.site
    before = _envoy(site)
    _start_with(instance, _EXTRA)
    pod = _other_envoy(site, before)
    site.until(lambda: _told(site), lambda it: _UNDONE not in it)
    stats = site.pods.request(pod["status"]["podIP"], 8002, "/stats/prometheus").body
    assert b'envoy_cluster_name="extra"' in stats
    assert _get_from(site, pod["metadata"]["name"], "shutdown-manager", "127.0.0.1:19000") == 0
    site.until(
        lambda: [it["metadata"].get("annotations", {}) for it in _workloads(instance)],
        lambda found: not any(rollback.UNDONE in it for it in found),
    )


def _is_refused_with_a_tenants_token(site: Site, home: str) -> None:
    """A tenant may write what is in its namespace, and gets neither another image nor rights."""
    rules = [
        {"apiGroups": ["gateway.envoyproxy.io"], "resources": ["envoyproxies"], "verbs": ["*"]},
        {"apiGroups": ["gateway.networking.k8s.io"], "resources": ["gateways"], "verbs": ["*"]},
    ]
    token = site.cluster.service_account("default", "tenant", rules)
    config = str(site.cluster.kubeconfig(token, "default"))
    (before,) = site.pods.until_ready("default", _OF_BALANCED, 1)
    as_tenant = ("--kubeconfig", config)
    for field, value in _TOO_MUCH:
        container = {field.partition(".")[0]: value}
        spec = {"provider": {"type": "Kubernetes", "kubernetes": {
            "envoyService": {"type": "LoadBalancer"}, "envoyDeployment": {"container": container},
        }}}  # fmt: skip
        whole = [{"op": "replace", "path": "/spec", "value": spec}]
        patch = ("--type=json", "-p", json.dumps(whole))
        done = site.cluster.kubectl(*as_tenant, "patch", "envoyproxy", "edge", "-n", home, *patch)
        assert "Forbidden" in done.stderr
        site.kubectl(*as_tenant, "patch", "envoyproxy", "balanced", "-n", "default", *patch)
        told = site.until(
            lambda: site.conditions("gateway", "default", "balanced")["Accepted"],
            lambda it, path=f"envoyDeployment.container.{field}": path in it["message"],  # type: ignore[misc]
        )
        assert (told["status"], told["reason"]) == ("False", "InvalidParameters")
    (after,) = site.pods.until_ready("default", _OF_BALANCED, 1)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    address = site.pods.address("default", "balanced-edge")
    assert site.ask(address, HOST) == PAY


_TOO_MUCH: tuple[tuple[str, object], ...] = (
    ("securityContext.privileged", {"privileged": True}),
    ("image", "theirs:1"),
)
_OF_BALANCED = "gateway.networking.k8s.io/gateway-name=balanced"


def _start_with(instance: Instance, cluster: Raw) -> None:
    value = {"admin": _ADMIN, "static_resources": {"clusters": [cluster]}}
    instance.configure({"envoy": {"bootstrap": {"type": "Merge", "value": json.dumps(value)}}})


def _set_class(instance: Instance, deployment: Raw) -> None:
    spec = {"provider": {"type": "Kubernetes", "kubernetes": {"envoyDeployment": deployment}}}
    patch = [{"op": "replace", "path": "/spec", "value": spec}]
    what = ("envoyproxy", "edge", "-n", instance.namespace)
    instance.site.kubectl("patch", *what, "--type=json", "-p", json.dumps(patch))


@contextmanager
def _load(site: Site) -> Iterator[Tally]:
    """Requests to the balanced Gateway while the context lasts."""
    address = site.pods.address("default", "balanced-edge")
    site.until_told(address, HOST, told=PAY)
    with Load(80, [Request(HOST)], rate=50, address=address, clients=4).in_background() as tally:
        yield tally


def _goes_on(site: Site, tally: Tally) -> None:
    """Waits for a hundred more requests."""
    seen = tally.sent
    site.until(lambda: tally.sent, lambda it: it > seen + 100)


def _envoy(site: Site) -> str:
    """The UID of the one pod of the balanced Gateway, once others are gone."""
    (found,) = site.pods.until_ready("default", _OF_BALANCED, 1, PATIENCE)
    return str(found["metadata"]["uid"])


def _other_envoy(site: Site, old: str) -> Raw:
    """The pod that came in its place, once it is gone."""
    (found,) = site.pods.until(
        lambda pods: (
            [it["metadata"]["uid"] != old and runner.is_ready(it) for it in pods] == [True]
        ),
        *("default", _OF_BALANCED),
        seconds=2 * PATIENCE,
    )
    return found


def _workloads(instance: Instance) -> tuple[Raw, ...]:
    """The DaemonSet of the instance's fleet, and the Deployment of the balanced Gateway's."""
    get = instance.site.get
    return (
        get("daemonset", instance.namespace, "envoy"),
        get("deployment", "default", "balanced-edge"),
    )


def _told_of_instance(instance: Instance) -> str:
    where = ("contourconfiguration", instance.namespace, "contour")
    return json.dumps(instance.site.conditions(*where)["Valid"])


def _told(site: Site) -> str:
    return str(site.conditions("gateway", "default", "balanced")["Programmed"]["message"])


def _service(site: Site, gateway: str) -> Raw:
    found = site.until(lambda: site.get("service", "default", f"{gateway}-edge"), bool)
    assert found["metadata"]["labels"]["gateway.networking.k8s.io/gateway-name"] == gateway
    return found


def _asked(site: Site, address: str, port: int) -> Told | None:
    try:
        return site.ask(address, HOST, port=port)
    except OSError:
        return None


def _is_reached_from_a_pod(site: Site, address: str) -> None:
    (shop,) = site.pods.until_ready("default", "app=shop", 1)
    name = shop["metadata"]["name"]
    site.until(lambda: _get_from(site, name, "shop", f"{address}:80"), lambda it: it == 0)


def _get_from(site: Site, pod: str, container: str, address: str) -> int:
    """The exit code of a request from a container; 0: it was answered with 200."""
    code = (
        "import http.client, sys\n"
        f"c = http.client.HTTPConnection({address!r}, timeout=5)\n"
        f"c.request('GET', '/', headers={{'host': {HOST!r}}})\n"
        "sys.exit(c.getresponse().status != 200)"
    )
    return site.pods.execute("default", pod, container, "python3", "-c", code)
