"""What of an object is not as we want it, and what puts it right."""

from copy import deepcopy
from typing import Any

import pytest

from crds import raw
from provisioning.keeping import drift

Raw = dict[str, Any]

SERVICE: Raw = {
    "kind": "Service",
    "metadata": {"name": "it"},
    "spec": {
        "type": "LoadBalancer",
        "externalTrafficPolicy": "Local",
        "selector": {"app": "it"},
        "ports": [
            {"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080},
            {"name": "https", "protocol": "TCP", "port": 443, "targetPort": 8443},
        ],
    },
}
SERVED: Raw = {
    "kind": "Service",
    "metadata": {"name": "it", "resourceVersion": "7", "annotations": {"their": "own"}},
    "spec": {
        **SERVICE["spec"],
        "clusterIP": "10.0.0.1",
        "clusterIPs": ["10.0.0.1"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
        "sessionAffinity": "None",
        "allocateLoadBalancerNodePorts": True,
        "healthCheckNodePort": 30001,
        "ports": [
            it | {"nodePort": node_port}
            for it, node_port in zip(SERVICE["spec"]["ports"], (30080, 30443), strict=True)
        ],
    },
    "status": {"loadBalancer": {}},
}  # fmt: skip

CONTAINER: Raw = {
    "name": "envoy",
    "image": "envoy:1",
    "env": [{"name": "A", "value": "1"}],
    "resources": {"requests": {"cpu": "1000m", "memory": "1Gi", "example.com/a": "2000m"}},
    "readinessProbe": {"httpGet": {"path": "/ready", "port": 8002}},
}
WORKLOAD: Raw = {
    "kind": "Deployment",
    "metadata": {"name": "it"},
    "spec": {
        "selector": {"matchLabels": {"app": "it"}},
        "template": {
            "metadata": {"labels": {"app": "it"}, "annotations": {"ours": "1"}},
            "spec": {
                "serviceAccountName": "it",
                "containers": [CONTAINER],
                "volumes": [{"name": "certs", "secret": {"secretName": "it"}}],
            },
        },
    },
}
RUNNING: Raw = {
    "kind": "Deployment",
    "metadata": {"name": "it", "resourceVersion": "7"},
    "spec": {
        "selector": {"matchLabels": {"app": "it"}},
        "replicas": 5,
        "progressDeadlineSeconds": 600,
        "revisionHistoryLimit": 10,
        "template": {
            "metadata": {
                "creationTimestamp": None,
                "labels": {"app": "it"},
                "annotations": {"ours": "1", "kubectl.kubernetes.io/restartedAt": "today"},
            },
            "spec": {
                "serviceAccountName": "it",
                "serviceAccount": "it",
                "dnsPolicy": "ClusterFirst",
                "restartPolicy": "Always",
                "schedulerName": "default-scheduler",
                "securityContext": {},
                "containers": [
                    CONTAINER
                    | {
                        "resources": {
                            "requests": {"cpu": "1", "memory": "1024Mi", "example.com/a": "2"}
                        },
                        "terminationMessagePath": "/dev/termination-log",
                        "terminationMessagePolicy": "File",
                        "readinessProbe": {
                            "httpGet": {"path": "/ready", "port": 8002, "scheme": "HTTP"},
                            "timeoutSeconds": 1,
                            "periodSeconds": 10,
                            "successThreshold": 1,
                            "failureThreshold": 3,
                        },
                    }
                ],
                "volumes": [{"name": "certs", "secret": {"secretName": "it", "defaultMode": 420}}],
            },
        },
    },
}
POD = "spec.template.spec"


def edited(found: Raw, path: str, value: Any) -> Raw:
    """A copy with another value at a path; None takes it out."""
    copy = deepcopy(found)
    *parents, last = (int(it) if it.isdigit() else it for it in path.split("."))
    target: Any = copy
    for it in parents:
        target = target[it]
    if value is None:
        del target[last]
    elif isinstance(target, list) and last == len(target):
        target.append(value)
    else:
        target[last] = value
    return copy


@pytest.mark.parametrize(("wanted", "found"), [(SERVICE, SERVED), (WORKLOAD, RUNNING)])
def test_defaults_and_what_the_cluster_assigns_are_no_difference(wanted: Raw, found: Raw) -> None:
    assert drift.differences(wanted, found) == ()


@pytest.mark.parametrize(
    ("path", "wanted", "found", "told"),
    [
        ("containers.0.volumeMounts", [{"name": "v", "readOnly": False}], [{"name": "v"}], ()),
        ("volumes.0.persistentVolumeClaim", {"readOnly": False}, {}, ()),
        (
            "containers.0.securityContext",
            {"allowPrivilegeEscalation": False},
            {},
            (f"{POD}.containers[envoy].securityContext.allowPrivilegeEscalation",),
        ),
    ],
)
def test_a_false_flag_may_be_absent_only_where_the_api_server_leaves_it_out(
    path: str, wanted: object, found: object, told: tuple[str, ...]
) -> None:
    pair = edited(WORKLOAD, f"{POD}.{path}", wanted), edited(RUNNING, f"{POD}.{path}", found)
    assert drift.differences(*pair) == told


@pytest.mark.parametrize(
    ("found", "path", "value", "told"),
    [
        (SERVED, "spec.ports.0.port", 8123, "spec.ports[http].port"),
        (SERVED, "spec.ports.2", {"name": "more", "port": 1}, "spec.ports[more]"),
        (SERVED, "spec.ports.1", None, "spec.ports[https]"),
        (SERVED, "spec.externalIPs", ["192.0.2.1"], "spec.externalIPs"),
        (SERVED, "spec.selector.more", "x", "spec.selector.more"),
        (SERVED, "spec.sessionAffinity", "ClientIP", "spec.sessionAffinity"),
        (SERVED, "spec.loadBalancerSourceRanges", ["192.0.2.0/24"], None),
        (SERVED, "spec.loadBalancerIP", "192.0.2.9", None),
        (SERVED, "metadata.labels", {"their": "own"}, None),
        (RUNNING, f"{POD}.hostNetwork", True, f"{POD}.hostNetwork"),
        (RUNNING, f"{POD}.dnsPolicy", "Default", f"{POD}.dnsPolicy"),
        (RUNNING, f"{POD}.securityContext", {"runAsUser": 0}, f"{POD}.securityContext"),
        (RUNNING, f"{POD}.containers.1", {"name": "more"}, f"{POD}.containers[more]"),
        (RUNNING, f"{POD}.containers.0.env.1", {"name": "B"}, f"{POD}.containers[envoy].env[B]"),
        (RUNNING, f"{POD}.containers.0.image", "x", f"{POD}.containers[envoy].image"),
        (RUNNING, f"{POD}.containers.0.resources.requests.cpu", "2",
         f"{POD}.containers[envoy].resources.requests.cpu"),
        (RUNNING, "spec.paused", True, "spec.paused"),
        (RUNNING, "spec.template.metadata.labels.more", "x", "spec.template.metadata.labels.more"),
        (RUNNING, "spec.template.metadata.annotations.more", "x", None),
        (RUNNING, "spec.template.metadata.annotations.ours", "2",
         "spec.template.metadata.annotations.ours"),
    ],
)  # fmt: skip
def test_what_others_have_changed_or_added_is_a_difference_where_it_is_ours(
    found: Raw, path: str, value: Any, told: str | None
) -> None:
    wanted = SERVICE if found is SERVED else WORKLOAD
    changed = edited(found, path, value)
    assert changed != found
    assert drift.differences(wanted, changed) == (() if told is None else (told,))


def test_a_replaced_service_keeps_what_others_have_assigned() -> None:
    found = edited(SERVED, "spec.ports.0.port", 8123)
    found = edited(found, "spec.loadBalancerSourceRanges", ["192.0.2.0/24"])
    found = edited(found, "spec.externalIPs", ["192.0.2.1"])
    version, spec = drift.replacement(SERVICE, found)
    assert version == {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}
    kept = ("clusterIP", "clusterIPs", "ipFamilies", "healthCheckNodePort")
    assert spec["value"] == SERVICE["spec"] | {
        **{key: SERVED["spec"][key] for key in kept},
        "ipFamilyPolicy": "SingleStack",
        "allocateLoadBalancerNodePorts": True,
        "loadBalancerSourceRanges": ["192.0.2.0/24"],
        "ports": SERVED["spec"]["ports"],
    }


def test_a_replaced_workload_keeps_its_replicas_and_the_annotations_of_others() -> None:
    _, spec = drift.replacement(WORKLOAD, edited(RUNNING, f"{POD}.hostNetwork", True))
    annotations = RUNNING["spec"]["template"]["metadata"]["annotations"]
    assert raw.at(spec, "value", "replicas") == 5
    assert raw.at(spec, "value", "template") == {
        "metadata": {"labels": {"app": "it"}, "annotations": annotations},
        "spec": WORKLOAD["spec"]["template"]["spec"],
    }


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("1", "1000m", True),
        ("0.5", "500m", True),
        ("1Gi", "1024Mi", True),
        ("1G", "1Gi", False),
        ("1e3", "1k", True),
        ("a lot", "a lot more", False),
    ],
)
def test_one_amount_has_several_spellings(one: str, other: str, is_same: bool) -> None:
    path = f"{POD}.containers.0.resources.requests.cpu"
    found = drift.differences(edited(WORKLOAD, path, one), edited(WORKLOAD, path, other))
    assert (found == ()) is is_same
