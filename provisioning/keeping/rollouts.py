"""The progress of a workload's rollout, by its status (Kubernetes, "Deployment status").

For code that waits for one rollout before it begins the next. Pure.
"""

from crds import raw
from crds.raw import Raw
from kube import conditions
from provisioning.templating import Document


def failure(deployment: Document) -> str:
    """Why the rollout of a Deployment has failed; empty if it has not, or a newer one begins."""
    found = conditions.by_type(raw.mapping(deployment.get("status")))
    progressing, replicas = found.get("Progressing", {}), found.get("ReplicaFailure", {})
    if progressing.get("reason") != "ProgressDeadlineExceeded" or _is_ahead(deployment):
        return ""
    return str(replicas.get("message") or progressing.get("message") or "it made no progress")


def creation_failure(deployment: Raw) -> str:
    """Why pods of the newest specification cannot be created; empty if they can."""
    found = conditions.by_type(raw.mapping(deployment.get("status"))).get("ReplicaFailure", {})
    is_so = found.get("status") == "True" and not _is_ahead(deployment)
    return str(found.get("message") or "it does not say why") if is_so else ""


def left(deployment: Document) -> str:
    """What is still missing in the rollout of a Deployment; empty if it is complete."""
    found, wanted = raw.mapping(deployment.get("status")), replicas(deployment)
    if _is_ahead(deployment):
        return "it has not begun yet"
    updated, available = _count(found, "updatedReplicas"), _count(found, "availableReplicas")
    if updated < wanted:
        return f"{updated} of {wanted} replicas are updated"
    if _count(found, "replicas") > updated:
        return "old replicas are still running"
    return "" if available >= wanted else f"{available} of {wanted} updated replicas are available"


def replicas(deployment: Document) -> int:
    """How many replicas a Deployment should have."""
    found = raw.at(deployment, "spec", "replicas")
    return found if isinstance(found, int) else 1


def available(workload: Document) -> int:
    """How many pods of a Deployment or DaemonSet are available."""
    status = raw.mapping(workload.get("status"))
    return _count(status, "numberAvailable" if "numberAvailable" in status else "availableReplicas")


def is_available(workload: Document) -> bool:
    """Whether all pods that a Deployment or DaemonSet should have now are available."""
    if _is_ahead(workload):
        return False
    return available(workload) >= pods(workload)


def is_proven(workload: Raw) -> bool:
    """Whether a pod of the newest specification is available for certain.

    It is certain if more pods are available than there are old ones.
    """
    status = raw.mapping(workload.get("status"))
    is_daemon_set = "desiredNumberScheduled" in status
    every = _count(status, "desiredNumberScheduled" if is_daemon_set else "replicas")
    updated = _count(status, "updatedNumberScheduled" if is_daemon_set else "updatedReplicas")
    return not _is_ahead(workload) and available(workload) > every - updated


def pods(workload: Raw) -> int:
    """How many pods a Deployment or DaemonSet should have now."""
    found = raw.at(workload, "status", "desiredNumberScheduled")
    return found if isinstance(found, int) else replicas(workload)


def _is_ahead(workload: Document) -> bool:
    """Whether the status of a workload is that of an older specification."""
    observed = _count(raw.mapping(workload.get("status")), "observedGeneration")
    return observed < _count(workload["metadata"], "generation")


def _count(found: Raw, field: str) -> int:
    number = found.get(field)
    return number if isinstance(number, int) else 0


def images(workload: Document) -> tuple[str, ...]:
    """The images of all containers of a workload."""
    pod = workload["spec"]["template"]["spec"]
    return tuple(it["image"] for it in (*pod.get("initContainers", ()), *pod["containers"]))
