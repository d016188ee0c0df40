"""Annotations of the objects that are made, and of the pod templates of workloads."""

from crds.raw import Raw, at, mapping


def of(document: Raw) -> Raw:
    """The annotations of an object or of a pod template, by name."""
    return mapping(at(document, "metadata", "annotations"))


def annotated(document: Raw, more: Raw) -> Raw:
    """An object or a pod template with more annotations."""
    metadata = mapping(document.get("metadata"))
    return {**document, "metadata": {**metadata, "annotations": {**of(document), **more}}}


def template(workload: Raw) -> Raw:
    """The pod template of a workload."""
    return mapping(at(workload, "spec", "template"))


def with_template(workload: Raw, changed: Raw) -> Raw:
    """A workload with another pod template."""
    return {**workload, "spec": {**mapping(workload.get("spec")), "template": changed}}
