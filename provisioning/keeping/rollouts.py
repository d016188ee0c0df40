"""How far the rollout of a workload is, as its status tells (Kubernetes, "Deployment status").

For who waits for the one before it begins another. Pure.
"""

from collections.abc import Mapping
from typing import Any

from kube import conditions

Document = Mapping[str, Any]


def failure(deployment: Document) -> str:
    """Why the rollout of a Deployment has failed; empty if it has not."""
    found = conditions.by_type(deployment.get("status") or {})
    progressing, replicas = found.get("Progressing", {}), found.get("ReplicaFailure", {})
    if progressing.get("reason") != "ProgressDeadlineExceeded":
        return ""
    return replicas.get("message") or progressing.get("message") or "it made no progress"


def left(deployment: Document) -> str:
    """What is still missing in the rollout of a Deployment; empty if it is complete."""
    found, wanted = deployment.get("status") or {}, replicas(deployment)
    if found.get("observedGeneration", 0) < deployment["metadata"].get("generation", 0):
        return "it has not begun yet"
    updated, available = found.get("updatedReplicas", 0), found.get("availableReplicas", 0)
    if updated < wanted:
        return f"{updated} of {wanted} replicas are updated"
    if found.get("replicas", 0) > updated:
        return "old replicas are still running"
    return "" if available >= wanted else f"{available} of {wanted} updated replicas are available"


def replicas(deployment: Document) -> int:
    """How many it is to have."""
    found = (deployment.get("spec") or {}).get("replicas")
    return 1 if found is None else int(found)


def available(workload: Document) -> int:
    """How many pods of a Deployment or DaemonSet are."""
    status = workload.get("status") or {}
    return int(status.get("numberAvailable", status.get("availableReplicas")) or 0)


def is_available(workload: Document) -> bool:
    """Whether a Deployment or DaemonSet has all pods that it is to have now."""
    status = workload.get("status") or {}
    if status.get("observedGeneration", 0) < workload["metadata"].get("generation", 0):
        return False
    wanted = status.get("desiredNumberScheduled")
    return available(workload) >= (replicas(workload) if wanted is None else wanted)


def images(workload: Document) -> tuple[str, ...]:
    """Of all its containers."""
    pod = workload["spec"]["template"]["spec"]
    return tuple(it["image"] for it in (*pod.get("initContainers", ()), *pod["containers"]))
