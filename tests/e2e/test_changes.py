"""Changes while requests flow: each is seen in the answers, and no request fails."""

import pytest

from tests.e2e.standalone import Standalone, manifest
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_MOVING = """
apiVersion: v1
kind: Service
metadata: {name: moving}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: moving, labels: {kubernetes.io/service-name: moving}}
addressType: IPv4
ports: [{name: http, port: $one}]
endpoints: [{addresses: [127.0.0.1]}]
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: moving}
spec:
  virtualhost: {fqdn: moving.example.com}
  routes:
  - services: [{name: moving, port: 80}]
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("port: $one}", "port: $two}"),
        ("services: [{name: moving,", "services: [{name: two,"),
        ("- services:", "- timeoutPolicy: {response: 9s}\n    services:"),
        ("name: moving, port: 80}]", "name: two, port: 80, weight: 5}]"),
    ],
    ids=["endpoints", "service", "cluster kept", "weights"],
)
def test_no_request_is_lost_by_a_change(instance: Standalone, old: str, new: str) -> None:
    url = "http://moving.example.com/"
    instance.write("moving.yaml", _MOVING)
    instance.until(url, "one")
    with instance.load(url).in_background() as answers:
        wait(lambda: answers.answers["one"] > 10, "answers")
        instance.write("moving.yaml", _MOVING.replace(old, new).replace("$one", "$two"))
        wait(lambda: answers.answers["two"] > 5, "traffic that moves")
    answers.require_all("one", "two")


def test_hosts_that_come_and_go_cost_their_neighbours_nothing(instance: Standalone) -> None:
    with instance.load("http://layers.example.com/").in_background() as answers:
        for number in range(10):
            name = f"guest-{number}"
            instance.write("guest.yaml", manifest("live.yaml").replace("live", name))
            instance.until(f"http://{name}.example.com/", "one")
        instance.remove("guest.yaml")
        instance.until_status("http://guest-9.example.com/", 404)
        assert instance.ask("http://guest-8.example.com/").status == 404
    answers.require_all("one")


def test_a_broken_document_changes_nothing_and_hides_no_other(instance: Standalone) -> None:
    guest = manifest("live.yaml").replace("live", "guest")
    instance.write("live.yaml", manifest("live.yaml"))
    instance.until("http://live.example.com/", "one")
    broken = manifest("live.yaml").replace("services:", "services")
    instance.write("live.yaml", f"{broken}---\n{guest}")
    instance.until("http://guest.example.com/", "one")
    # The terminal sums up what many changes of one second did; the status names the file.
    wait(lambda: any("live.yaml" in it for it in instance.status()), "the file in the status")
    assert instance.ask("http://live.example.com/").backend == "one"
    assert instance.process.code is None
    instance.write("live.yaml", manifest("live.yaml").replace("name: one,", "name: two,"))
    instance.until("http://live.example.com/", "two")
    instance.until_status("http://guest.example.com/", 404)
