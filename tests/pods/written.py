"""Objects for these tests, written short."""

from typing import Any

Raw = dict[str, Any]


def pod(space: str, name: str, script: str = "sleep 600", **spec: Any) -> Raw:
    """A pod with one container `main` that runs a script of the shell.

    What is no field of a pod is one of the container.
    """
    of_pod = ("volumes", "securityContext", "restartPolicy", "initContainers", "nodeSelector")
    chosen = {key: spec.pop(key) for key in of_pod if key in spec}
    grace = spec.pop("terminationGracePeriodSeconds", 1)
    main = {"name": "main", "image": "shell", "args": [script], **spec}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": space, "name": name, "labels": {"app": name}},
        "spec": {"containers": [main], "terminationGracePeriodSeconds": grace, **chosen},
    }


def configuration(space: str, name: str, kind: str = "ConfigMap", **content: str) -> Raw:
    """A ConfigMap or a Secret."""
    field = "data" if kind == "ConfigMap" else "stringData"
    metadata = {"namespace": space, "name": name}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, field: content}


def deployment(space: str, name: str, replicas: int, container: Raw, **template: Any) -> Raw:
    """A Deployment whose pods have the label `app`."""
    labels = {"app": name}
    spec = {"containers": [{"name": "main", **container}], **template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": space, "name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def service(space: str, name: str, port: int, target: int, **spec: Any) -> Raw:
    """A Service of the pods with the label `app` of its name."""
    ports = [{"name": "main", "port": port, "targetPort": target}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": space, "name": name},
        "spec": {"selector": {"app": name}, "ports": ports, **spec},
    }
