"""How containers begin, go on and end."""

from typing import Any

from tests.pods import runner, written

Raw = dict[str, Any]

SERVER = "cd /tmp; exec python3 -m http.server 8080"


def statuses(pod: Raw) -> Raw:
    found: list[Raw] = pod["status"].get("containerStatuses") or [{"restartCount": 0}]
    return found[0]


def test_init_containers_come_first_and_in_order_and_their_failure_is_tried_again(
    pods: runner.Pods, space: str
) -> None:
    volume = {"name": "scratch", "mountPath": "/scratch"}

    def step(name: str, script: str) -> Raw:
        return {"name": name, "image": "shell", "args": [script], "volumeMounts": [volume]}

    first = "echo 1 >>/scratch/order; [ $(wc -l </scratch/order) -ge 2 ]"
    pods.cluster.create(
        written.pod(
            space, "one", "cat /scratch/order; sleep 600",
            volumes=[{"name": "scratch", "emptyDir": {}}], volumeMounts=[volume],
            initContainers=[step("first", first), step("second", "echo 2 >>/scratch/order")],
        )
    )  # fmt: skip
    (found,) = pods.until_ready(space)
    assert [it["restartCount"] for it in found["status"]["initContainerStatuses"]] == [1, 0]
    pods.until_logged(space, "one", "1\n1\n2\n")


def test_a_pod_that_is_done_says_how_it_went(pods: runner.Pods, space: str) -> None:
    for name, script in {"good": "exit 0", "bad": "exit 3"}.items():
        pods.cluster.create(written.pod(space, name, script, restartPolicy="Never"))
    found = pods.until(
        lambda found: {it["status"].get("phase") for it in found} == {"Succeeded", "Failed"}, space
    )
    codes = {
        it["metadata"]["name"]: statuses(it)["state"]["terminated"]["exitCode"] for it in found
    }
    assert codes == {"good": 0, "bad": 3}


def test_one_that_failed_says_what_it_said_last(pods: runner.Pods, space: str) -> None:
    policy = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    script = "echo first words; exit 3"
    pods.cluster.create(written.pod(space, "bad", script, restartPolicy="Never", **policy))
    (found,) = pods.until(
        lambda found: [it["status"].get("phase") for it in found] == ["Failed"], space
    )
    assert statuses(found)["state"]["terminated"]["message"] == "first words\n"


def test_a_job_is_tried_until_it_succeeds(pods: runner.Pods, space: str) -> None:
    volume = {"name": "scratch", "mountPath": "/scratch"}
    script = "echo once more >>/scratch/tries; [ $(wc -l </scratch/tries) -ge 2 ]"
    main = {"name": "main", "image": "shell", "args": [script], "volumeMounts": [volume]}
    volumes = [{"name": "scratch", "emptyDir": {}}]
    template = {"spec": {"containers": [main], "volumes": volumes, "restartPolicy": "OnFailure"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template}}
    job["metadata"] = {"namespace": space, "name": "one"}
    pods.cluster.create(job)
    pods.until(lambda found: [it["status"].get("phase") for it in found] == ["Succeeded"], space)
    pods.until_so(lambda: pods.cluster.get(job)["status"].get("succeeded") == 1)


def test_a_container_that_dies_is_started_again(pods: runner.Pods, space: str) -> None:
    pods.cluster.create(written.pod(space, "one", "echo begun; exec sleep 600"))
    pods.until_logged(space, "one", "begun\n")
    pods.kill(space, "one", "main")
    (found,) = pods.until(
        lambda found: any(
            statuses(it)["restartCount"] == 1 and runner.is_ready(it) for it in found
        ),
        space,
    )
    assert statuses(found)["lastState"]["terminated"]["exitCode"] == 137
    pods.until_logged(space, "one", "begun\nbegun\n")


def test_a_pod_is_ready_when_its_probe_says_so_and_not_when_it_does_not_any_more(
    pods: runner.Pods, space: str
) -> None:
    probe = {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 1, "failureThreshold": 1}
    script = f"sleep 1; touch /tmp/ready; {SERVER}"
    pods.cluster.create(written.pod(space, "one", script, readinessProbe=probe))
    pods.until(lambda found: [it["status"].get("phase") for it in found] == ["Running"], space)
    assert not runner.is_ready(pods.all(space)[0])
    pods.until_ready(space)
    assert pods.execute(space, "one", "main", "rm", "/tmp/ready") == 0
    pods.until(lambda found: not any(map(runner.is_ready, found)), space)


def test_a_container_whose_liveness_probe_fails_is_started_again(
    pods: runner.Pods, space: str
) -> None:
    probe = {"exec": {"command": ["test", "!", "-e", "/tmp/ill"]}, "periodSeconds": 1}
    startup = {"tcpSocket": {"port": 8080}, "periodSeconds": 1, "failureThreshold": 30}
    pods.cluster.create(
        written.pod(
            space, "one", SERVER, livenessProbe=probe | {"failureThreshold": 1},
            startupProbe=startup,
        )
    )  # fmt: skip
    pods.until_ready(space)
    assert pods.execute(space, "one", "main", "touch", "/tmp/ill") == 0
    pods.until(
        lambda found: any(
            statuses(it)["restartCount"] == 1 and runner.is_ready(it) for it in found
        ),
        space,
    )


def test_before_a_container_ends_it_is_asked_by_prestop_then_by_signal_then_killed(
    pods: runner.Pods, space: str
) -> None:
    stubborn = "trap 'echo asked' TERM; echo begun; while :; do sleep 0.1; done"
    hook = {"preStop": {"exec": {"command": ["/bin/sh", "-c", "echo hooked"]}}}
    one = written.pod(space, "one", stubborn, lifecycle=hook)
    pods.cluster.create(one)
    pods.until_logged(space, "one", "begun\n")
    pods.cluster.delete(one)
    pods.until(lambda found: not found, space)
    assert pods.logs(space, "one") == "begun\nhooked\nasked\n"


def test_an_image_that_nobody_knows_is_said_and_waited_for(pods: runner.Pods, space: str) -> None:
    pods.cluster.create(written.pod(space, "one", image="late"))
    pods.until(lambda found: "ErrImagePull" in str(found), space)
    pods.add_image("late", "/bin/sh", "-c")
    pods.until_ready(space)


def test_nothing_of_another_pods_processes_outlives_it(pods: runner.Pods, space: str) -> None:
    one = written.pod(space, "one", "sleep 601 & sleep 602 & echo begun; wait")
    pods.cluster.create(one)
    pods.until_logged(space, "one", "begun\n")
    group = pods.pid(space, "one", "main")
    pods.cluster.delete(one)
    pods.until(lambda found: not found, space)
    assert pods.processes(group) == []


def test_until_its_end_a_container_is_asked_whether_it_is_ready(
    pods: runner.Pods, space: str
) -> None:
    probe = {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 1, "failureThreshold": 1}
    hook = {"preStop": {"exec": {"command": ["/bin/sh", "-c", "rm /tmp/ready; sleep 600"]}}}
    one = written.pod(
        space, "one", f"touch /tmp/ready; {SERVER}", readinessProbe=probe, lifecycle=hook,
        terminationGracePeriodSeconds=20,
    )  # fmt: skip
    pods.cluster.create(one)
    pods.until_ready(space)
    pods.cluster.delete(one)
    pods.until(lambda found: [statuses(it).get("ready") for it in found] == [False], space)
    pods.cluster.ask("DELETE", pods.cluster.path(one), gracePeriodSeconds="0")
    pods.until(lambda found: not found, space)


def test_a_pod_that_is_gone_at_once_leaves_no_process(pods: runner.Pods, space: str) -> None:
    one = written.pod(space, "one", "trap '' TERM; echo begun; while :; do sleep 0.1; done")
    pods.cluster.create(one)
    pods.until_logged(space, "one", "begun\n")
    session = pods.pid(space, "one", "main")
    pods.cluster.ask("DELETE", pods.cluster.path(one), gracePeriodSeconds="0")
    pods.until_so(lambda: not pods.processes(session))
