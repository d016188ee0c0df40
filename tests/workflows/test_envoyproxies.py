"""EnvoyProxies in a cluster with pods: each type of Service, and a tenant who asks for too much."""

import json

import pytest

from tests.workflows.instances import CONTROLLER, Instance, provisioned
from tests.workflows.site import MANIFESTS, Raw, Site, Told

pytestmark = pytest.mark.timeout(600)

HOST, PAY = "edge.example.com", Told(200, "pay")
SPEC = {
    "contour": {"replicas": 1},
    "envoy": {"networkPublishing": {"type": "LoadBalancerService"}},
    "gateway": {"controllerName": CONTROLLER, "mode": "PerGateway"},
}


@pytest.fixture
def instance(site: Site) -> Instance:
    """With a fleet for Ingress and HTTPProxy, and one for each of three Gateways."""
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
    _is_refused_with_a_tenants_token(site, instance.namespace)


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
