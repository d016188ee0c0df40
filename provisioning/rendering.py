"""Parts that the objects of all templates share: labels, security contexts, scheduling of pods.

For the modules beside this one that render objects.
"""

from collections.abc import Mapping

from pydantic import TypeAdapter

from crds import raw, workloads
from crds.raw import Raw
from provisioning import templating
from provisioning.installation import Place
from provisioning.templating import Document

MONITORING = {"projectcontour.io/monitoring": "true"}
"""The label of namespaces whose pods may read metrics."""

PART = {"app.kubernetes.io/part-of": "contour"}  # the mark of what is ours

OF_ENVOYS = {"app.kubernetes.io/name": "envoy", "app.kubernetes.io/part-of": "contour"}
OF_COUNTERS = {"app.kubernetes.io/name": "ratelimit", "app.kubernetes.io/part-of": "contour"}

_USER = 65532

_SECURITY = {
    "pod": {
        "runAsNonRoot": True,
        "runAsUser": _USER,
        "runAsGroup": _USER,
        "fsGroup": _USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
    "container": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    },
}
_PRIVATE = 0o440  # the volume's group is the pods' own


def rendered(template: str, place: Place, values: Mapping[str, object]) -> list[Document]:
    """The objects of a template, rendered with these and the common values."""
    shared: Raw = {
        "place": place,
        "namespace": place.namespace,
        "security": _SECURITY,
        "private": _PRIVATE,
        "monitoring": MONITORING,
        "scraped": scraped,
    }
    usual = {**PART, **place.labels}
    labels = raw.mapping(values.get("labels")) or usual
    found = templating.documents(template, {**shared, **values})
    return [placed(it, place, labels) for it in found]


def placed(document: Document, place: Place, labels: Mapping[str, object]) -> Document:
    """An object with its namespace, unless it has one, and with the common labels."""
    meta = document["metadata"]
    where = {"namespace": it} if (it := meta.get("namespace", place.namespace)) else {}
    rest = {key: it for key, it in meta.items() if key != "namespace"}
    if annotations := {**place.annotations, **meta.get("annotations", {})}:
        rest["annotations"] = annotations
    all_labels = meta.get("labels", {}) | dict(labels)
    return document | {"metadata": {"name": meta["name"], **where, **rest, "labels": all_labels}}


def labels(name: str, component: str, place: Place) -> dict[str, str]:
    """The labels of an object and its pods; `component` is what runs in these."""
    return {
        **place.labels,
        "app": name,
        "app.kubernetes.io/name": component,
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/component": "ingress-controller",
        "app.kubernetes.io/part-of": "contour",
    }


def scraped(port: int, path: str) -> dict[str, str]:
    """The annotations that Prometheus' usual configuration for pods reads."""
    return {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(port),
        "prometheus.io/path": path,
    }


def spread(name: str) -> list[Raw]:
    """Constraints that spread pods over nodes and zones, as far as there are several."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": name}},
        }
        for key in ("kubernetes.io/hostname", "topology.kubernetes.io/zone")
    ]


_TOLERATION = TypeAdapter(workloads.Toleration)


def placement(given: workloads.Placement | None) -> Raw:
    found = given or workloads.Placement()
    return {
        "node_selector": found.node_selector,
        "tolerations": [
            _TOLERATION.dump_python(it, by_alias=True, exclude_defaults=True)
            for it in found.tolerations
        ],
    }


def resources(given: workloads.Resources) -> dict[str, dict[str, str]]:
    found = {"requests": given.requests, "limits": given.limits}
    return {key: it for key, it in found.items() if it}
