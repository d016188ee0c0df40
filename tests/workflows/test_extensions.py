"""An extension as a sidecar of the control plane, with a kind of its own: the operator runs it in
the pods, each replica asks its own, and replicas that are replaced lose nothing."""

from crds import raw
from crds.raw import Raw
from tests.pods import images
from tests.workflows.instances import CONTROLLER, provisioned
from tests.workflows.site import Site, Told

HOST = "framed.example.com"
SOCKET = "/run/extensions/headers.sock"
KIND = {"group": "headers.example.com", "version": "v1", "kind": "HeaderFilter"}
EXTENSION = {
    "name": "headers",
    "hooks": {"post": ["Route"]},
    "resources": [KIND],
    "service": {"unix": SOCKET},
    "sidecar": {"image": "example/headers:1", "args": ["--listen", f"unix:{SOCKET}"]},
}
SPEC = {
    "contour": {"replicas": 2},
    "envoy": {"networkPublishing": {"type": "LoadBalancerService"}},
    "gateway": {"controllerName": CONTROLLER},
    "extensions": [EXTENSION],
}


def test_an_extension_runs_in_the_pods_of_the_control_plane(site: Site) -> None:
    program = images.of_checkout("contour.extension.examples.header_filter")
    site.pods.known("example/headers:*", program)
    instance = provisioned(site, SPEC, gateway=True)

    def framed() -> tuple[int, str]:
        answer = site.pods.request(instance.address, 80, "/", HOST)
        return answer.status, answer.headers.get("x-frame-options", "")

    site.apply("sidecar.yaml", namespace="default")
    site.until_told(instance.address, HOST, told=Told(500))
    site.until_condition("httproute", "default", "framed", "ResolvedRefs", "False")
    for value in ("DENY", "SAMEORIGIN"):
        site.apply("headerfilter.yaml", namespace="default", value=value)
        site.until(framed, (200, value).__eq__)
    replicas = site.pods.all(instance.namespace, "app=contour")
    # Each replica learns of the kind by itself, within seconds of one another.
    site.until(lambda: [_reads_one(site, it) for it in replicas], all)
    for pod in replicas:
        names = [it["name"] for it in pod["spec"]["containers"]]
        assert names == ["contour", "extension-headers"]
        site.kubectl("delete", "pod", pod["metadata"]["name"], "-n", instance.namespace)
        assert framed() == (200, "SAMEORIGIN")
    site.apply("headerfilter.yaml", namespace="default", value="NEW")
    site.until(framed, lambda it: it == (200, "NEW"))


def _reads_one(site: Site, pod: Raw) -> bool:
    """Whether a replica knows one object of the kind, as its metrics say."""
    address = str(raw.at(pod, "status", "podIP"))
    metrics = site.pods.request(address, 8000, "/metrics").body.decode()
    return f'contour_kubernetes_objects{{kind="HeaderFilter.{KIND["group"]}"}} 1.0' in metrics
