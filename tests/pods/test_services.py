"""Names and addresses of Services, and what is behind them."""

import contextlib
import json
import re
import socket
import subprocess

import pytest

from tests.pods import runner, written

BACKEND = {
    "image": "backends",
    "readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1, "failureThreshold": 1},
}


def backends(pods: runner.Pods, space: str, name: str, replicas: int = 1) -> None:
    container = BACKEND | {"args": ["$(NAME)=8080"], "env": [
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]}  # fmt: skip
    pods.cluster.create(
        written.deployment(space, name, replicas, container, terminationGracePeriodSeconds=2)
    )


def who(pods: runner.Pods, address: str, port: int = 80) -> str:
    return str(json.loads(pods.request(address, port).body)["backend"])


def reached(pods: runner.Pods, address: str) -> set[str]:
    """Who answers; somebody may just have gone."""
    found = set()
    for _ in range(20):
        with contextlib.suppress(OSError):
            found.add(who(pods, address))
    return found


def test_a_balancer_reaches_all_that_are_ready_and_no_others(pods: runner.Pods, space: str) -> None:
    backends(pods, space, "web", 2)
    pods.cluster.create(written.service(space, "web", 80, 8080, type="LoadBalancer"))
    found = pods.until_ready(space, "app=web", 2)
    address = pods.address(space, "web")
    pods.until_served(address, 80)
    names = {it["metadata"]["name"] for it in found}
    pods.until_so(lambda: reached(pods, address) == names)
    scale = {"spec": {"replicas": 1}}
    path = f"/apis/apps/v1/namespaces/{space}/deployments/web/scale"
    pods.cluster.ask("PATCH", path, scale, "application/merge-patch+json")
    left = pods.until_ready(space, "app=web")
    pods.until_so(lambda: reached(pods, address) == {left[0]["metadata"]["name"]})


def test_a_service_is_found_by_its_names_from_inside_and_refuses_when_nothing_is_ready(
    pods: runner.Pods, space: str
) -> None:
    backends(pods, space, "web")
    pods.cluster.create(written.service(space, "web", 80, 8080))
    pods.cluster.create(written.service(space, "each", 80, 8080, clusterIP="None",
                                        selector={"app": "web"}))  # fmt: skip
    pods.cluster.create(written.service(space, "nobody", 80, 8080))
    (web,) = pods.until_ready(space, "app=web")
    script = f"""
        for it in web web.{space} web.{space}.svc.cluster.local; do
            curl -s -o /dev/null -w "%{{http_code}}\n" http://$it/; done
        until getent ahostsv4 each | head -1 | grep .; do sleep 0.1; done
        curl -s -m 5 http://nobody/; echo $?; curl -s -m 5 http://absent/; echo $?; echo all
        sleep 600
    """
    pods.cluster.create(written.pod(space, "client", script))
    pods.until_logged(space, "client", "all\n")
    lines = pods.logs(space, "client").splitlines()
    assert lines[:3] == ["200"] * 3
    assert lines[3].split()[0] == web["status"]["podIP"]
    assert lines[4:6] == ["7", "6"]  # refused; no such name


def test_a_backend_sees_who_asks_and_a_pod_may_ask_itself(pods: runner.Pods, space: str) -> None:
    backends(pods, space, "web")
    pods.cluster.create(written.service(space, "web", 80, 8080, type="NodePort"))
    (web,) = pods.until_ready(space, "app=web")
    name = web["metadata"]["name"]
    address = pods.cluster.get(written.service(space, "web", 80, 8080))["spec"]["clusterIP"]
    pods.until_so(
        lambda: pods.execute(space, name, "main", "curl", "-sSm2", f"http://{address}/") == 0
    )
    ports = pods.cluster.get(written.service(space, "web", 80, 8080))["spec"]["ports"]
    assert who(pods, pods.node_address("node-1"), ports[0]["nodePort"]) == name


def test_a_pod_reaches_this_machine_by_one_address_and_nothing_beyond_it(
    pods: runner.Pods, space: str
) -> None:
    told = json.loads(subprocess.check_output(["ip", "-j", "-4", "address"]))
    local = [it["local"] for link in told for it in link["addr_info"] if it["scope"] == "global"]
    others = [it for it in local if not it.startswith(pods.api_server.rpartition(".")[0])]
    with socket.create_server(("0.0.0.0", 0)) as server:
        port = server.getsockname()[1]
        assert reaches(pods, space, "in", pods.api_server, port)
        for i, it in enumerate(["192.0.2.1", *others[:1]]):
            assert not reaches(pods, space, f"out-{i}", it, port)


def reaches(pods: runner.Pods, space: str, name: str, address: str, port: int) -> bool:
    """Whether a new pod can connect there."""
    script = f"timeout 1 bash -c '</dev/tcp/{address}/{port}'; echo ended $?; sleep 600"
    pods.cluster.create(written.pod(space, name, script))
    pods.until_logged(space, name, "ended")
    return "ended 0" in pods.logs(space, name)


def test_what_is_cut_is_not_reached_until_it_is_mended(pods: runner.Pods, space: str) -> None:
    backends(pods, space, "web")
    (web,) = pods.until_ready(space, "app=web")
    address, name = web["status"]["podIP"], web["metadata"]["name"]
    assert who(pods, address, 8080) == name
    with pods.cut(pods.api_server, address), pytest.raises(TimeoutError):
        pods.request(address, 8080, seconds=0.3)
    assert who(pods, address, 8080) == name


def test_a_frozen_node_says_nothing_and_goes_on_where_it_was(pods: runner.Pods, space: str) -> None:
    backends(pods, space, "web")
    (web,) = pods.until_ready(space, "app=web")
    address = web["status"]["podIP"]
    with pods.frozen(web["spec"]["nodeName"]):
        with pytest.raises(TimeoutError):
            pods.request(address, 8080, seconds=1.3)
        assert pods.all(space)[0]["status"] == web["status"]
    assert who(pods, address, 8080) == web["metadata"]["name"]
    assert pods.until_ready(space)[0]["status"]["containerStatuses"][0]["restartCount"] == 0


def test_logs_are_had_from_the_api_server(pods: runner.Pods, space: str) -> None:
    pods.cluster.create(written.pod(space, "one", "echo a; sleep 0.2; echo b; exec sleep 600"))
    pods.until_logged(space, "one", "a\nb\n")
    told = pods.cluster.kubectl("logs", "--namespace", space, "one", "--tail", "1", "--timestamps")
    assert re.fullmatch(r"\d{4}-\S+Z b\n", told.stdout), told.stderr
