"""From a ContourConfiguration to the first answer through the fleet that is made for it.

The operator makes an instance, which makes Envoys and their Service; a load balancer learns of them
a second late, as real ones do. All of these are pods from our manifests, on this machine.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.cluster import controlplane
from tests.cluster.cluster import Cluster
from tests.testbed.figures import Figure, percentile
from tests.testbed.measuring import Options, measures
from tests.workflows import expectations
from tests.workflows.instances import backed
from tests.workflows.site import Site, opened

SPEC = {
    "contour": {"replicas": 2},
    "envoy": {"networkPublishing": {"type": "LoadBalancerService"}},
}


@measures("first-answer", "bench")
def first_answer(options: Options) -> Iterator[Figure]:
    """One instance after the other, each in a namespace of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="first-answer-") as folder,
        controlplane.ControlPlane(Path(folder)) as running,
        opened(Cluster(running.folder)) as site,
    ):
        site.install("operator.yaml")
        backed(site, gateway=False)
        operator = ("deployment/contour-operator", "-n", "contour-operator")
        site.kubectl("rollout", "status", *operator, "--timeout=120s")
        found = [_seconds(site, f"ingress-{it}") for it in range(options.times(10, 2))]
    yield Figure("created to first 200, median", percentile(found, 0.5), "s")
    yield Figure("created to first 200, slowest", max(found), "s", 20)


def _seconds(site: Site, namespace: str) -> float:
    site.kubectl("create", "namespace", namespace)
    start = time.monotonic()
    site.apply("configuration.yaml", namespace=namespace, spec=json.dumps(SPEC))
    address = site.pods.address(namespace, "envoy")
    site.until_told(address, "shop.example.com", told=expectations.CART)
    seconds = time.monotonic() - start
    configuration = ("contourconfiguration", "contour", "-n", namespace)
    site.kubectl("delete", *configuration, "--timeout=120s")
    return seconds
