"""What a user applies really runs: our manifests, as pods of the installed wheel.

From `kubectl apply` to answers through the balancer, and without a lost request when each of the
two halves is restarted.
"""

from time import monotonic
from typing import Any

import pytest

from tests.cluster import assets
from tests.pods import runner, written
from tests.testbed.load import Load, Request

Raw = dict[str, Any]

pytestmark = pytest.mark.timeout(300)  # building the wheel is among it

NAMESPACE, HOST = "projectcontour", "pods.example.com"
MANIFESTS = assets.ROOT / "manifests"


@pytest.fixture(scope="module")
def quickstart(installed: runner.Pods) -> runner.Pods:
    """Everything of the quickstart is ready."""
    crds, rest = str(MANIFESTS / "crds.yaml"), str(MANIFESTS / "quickstart.yaml")
    kubectl(installed, "apply", "--server-side", "--force-conflicts", "-f", crds)
    kubectl(installed, "apply", "-f", rest)
    installed.until_ready(NAMESPACE, "app=contour", 2)
    installed.until_ready(NAMESPACE, "app=envoy", 2)
    return installed


@pytest.fixture(scope="module")
def site(quickstart: runner.Pods) -> tuple[str, str]:
    """A namespace of the user with a backend, and the address where that is served."""
    space = quickstart.cluster.namespace()
    container = {
        "image": "backends",
        "args": ["web=8080"],
        "readinessProbe": {"tcpSocket": {"port": 8080}},
    }
    quickstart.cluster.create(written.deployment(space, "web", 2, container))
    quickstart.cluster.create(written.service(space, "web", 80, 8080))
    quickstart.cluster.create(proxy(space))
    found = quickstart.address(NAMESPACE, "envoy")
    quickstart.until_served(found, 80)
    quickstart.until_so(lambda: quickstart.request(found, 80, host=HOST).status == 200)
    return space, found


def proxy(space: str) -> Raw:
    route = {"services": [{"name": "web", "port": 80}]}
    return {
        "apiVersion": "projectcontour.io/v1",
        "kind": "HTTPProxy",
        "metadata": {"namespace": space, "name": "web"},
        "spec": {"virtualhost": {"fqdn": HOST}, "routes": [route]},
    }


def kubectl(pods: runner.Pods, *arguments: str) -> str:
    done = pods.cluster.kubectl(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_a_user_applies_is_served_and_told(
    quickstart: runner.Pods, site: tuple[str, str]
) -> None:
    space, address = site
    kubectl(quickstart, "wait", "--for=condition=complete", "job", "--all", "-n", NAMESPACE)

    def told() -> tuple[str, Raw]:
        status = quickstart.cluster.get(proxy(space))["status"]
        return status["currentStatus"], status.get("loadBalancer", {})

    quickstart.until_so(lambda: told() == ("valid", {"ingress": [{"ip": address}]}))


@pytest.mark.parametrize("workload", ["deployment/contour", "daemonset/envoy"])
def test_no_request_is_lost_while_one_half_is_restarted(
    quickstart: runner.Pods, site: tuple[str, str], workload: str
) -> None:
    before = {it["metadata"]["uid"] for it in quickstart.all(NAMESPACE, app(workload))}
    load = Load(80, [Request(HOST)], rate=200, address=site[1], clients=4)
    with load.in_background() as tally:
        kubectl(quickstart, "rollout", "restart", workload, "-n", NAMESPACE)
        kubectl(quickstart, "rollout", "status", workload, "-n", NAMESPACE, "--timeout=60s")
        quickstart.until_ready(NAMESPACE, app(workload), 2)
        quickstart.until_so(lambda: tally.answers.total() > 100)
    after = {it["metadata"]["uid"] for it in quickstart.all(NAMESPACE, app(workload))}
    assert not before & after
    assert not tally.failures


def test_an_envoy_does_not_wait_for_a_shutdown_manager_that_is_dead(
    quickstart: runner.Pods,
) -> None:
    grace = 60
    old = quickstart.all(NAMESPACE, "app=envoy")[0]["metadata"]["name"]
    start = monotonic()
    kubectl(
        quickstart, "delete", "pod", old, "-n", NAMESPACE, f"--grace-period={grace}", "--wait=0"
    )
    quickstart.kill(NAMESPACE, old, "shutdown-manager")
    kubectl(quickstart, "wait", "--for=delete", f"pod/{old}", "-n", NAMESPACE, "--timeout=300s")
    assert monotonic() - start < grace
    quickstart.until_ready(NAMESPACE, "app=envoy", 2)


def app(workload: str) -> str:
    return f"app={workload.partition('/')[2]}"
