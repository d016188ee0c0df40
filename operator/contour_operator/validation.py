"""Validates the settings of pods beyond their schema, before anything is made.

For the condition that users read: each complaint has the path of the field that they wrote. Pure.
The rules are those of Kubernetes' own validation of pods, as far as these fields reach.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal

from crds.complaints import Complaint, FieldPath
from crds.contourconfiguration import ContourConfiguration
from crds.hooks import Extension
from crds.workloads import Contour, Placement, Resources, Toleration

_ROOT: FieldPath = ("spec", "contour")


def complaints(configuration: ContourConfiguration) -> tuple[Complaint, ...]:
    """Every error in a configuration."""
    contour = configuration.spec.contour
    if contour is None:
        return ()
    return (*_complaints(contour), *_sidecars(configuration.spec.extensions))


def _complaints(contour: Contour) -> Iterator[Complaint]:
    yield from _namespaces(contour.watch_namespaces)
    yield from _resources(_ROOT, contour.resources or Resources())
    yield from _placement(contour.placement or Placement())
    yield from _annotations(contour.pod_annotations)


def _namespaces(names: Iterable[str]) -> Iterator[Complaint]:
    count = Counter(names)
    for index, name in enumerate(names):
        path = (*_ROOT, "watchNamespaces", index)
        if not _LABEL.fullmatch(name):
            message = "must be lower-case letters, digits and -, at most 63 characters"
            yield Complaint(path, message)
        elif count[name] > 1:
            yield Complaint(path, f"{name} is there more than once")


_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def _sidecars(extensions: Iterable[Extension]) -> Iterator[Complaint]:
    for index, it in enumerate(extensions):
        path = ("spec", "extensions", index, "sidecar")
        if it.sidecar is None:
            continue
        yield from _resources(path, it.sidecar.resources or Resources())
        for name in it.sidecar.env:
            if not _VARIABLE.fullmatch(name):
                yield Complaint((*path, "env", name), "must be the name of a variable")


_VARIABLE = re.compile(r"[A-Za-z_.-][A-Za-z0-9_.-]*")


def _resources(root: FieldPath, found: Resources) -> Iterator[Complaint]:
    path = (*root, "resources")
    for field, amounts in (("requests", found.requests), ("limits", found.limits)):
        for name, text in amounts.items():
            if not _is_key(name):
                yield Complaint((*path, field, name), "must be the name of a resource, such as cpu")
            if _amount(text) is None:
                yield Complaint((*path, field, name), "must be an amount, such as 500m or 1Gi")
    for name, text in found.requests.items():
        asked, most = _amount(text), _amount(found.limits.get(name, ""))
        if asked is not None and most is not None and asked > most:
            message = f"must not be more than the limit of {found.limits[name]}"
            yield Complaint((*path, "requests", name), message)


def _amount(text: str) -> Decimal | None:
    """The value of a quantity (Kubernetes, "Quantity"), which must not be negative here."""
    found = _QUANTITY.fullmatch(text)
    if not found:
        return None
    number, suffix = found["number"], found["suffix"] or ""
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        return Decimal(f"{number}{suffix}")
    return Decimal(number) * _FACTORS[suffix]


_QUANTITY = re.compile(
    r"\+?(?P<number>\d{1,18}(\.\d{0,9})?|\.\d{1,9})"
    r"(?P<suffix>[EPTGMK]i|[numkMGTPE]|[eE][-+]?\d{1,2})?"
)
_FACTORS = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{it: Decimal(1000) ** n for n, it in enumerate("kMGTPE", start=1)},
    **{f"{it}i": Decimal(1024) ** n for n, it in enumerate("KMGTPE", start=1)},
}


def _placement(found: Placement) -> Iterator[Complaint]:
    path = (*_ROOT, "placement")
    for key, value in found.node_selector.items():
        if not _is_key(key) or not _LABEL_VALUE.fullmatch(value):
            yield Complaint((*path, "nodeSelector", key), "must be a label and its value")
    for index, it in enumerate(found.tolerations):
        for field, message in _toleration(it):
            yield Complaint((*path, "tolerations", index, field), message)


def _toleration(found: Toleration) -> Iterator[tuple[str, str]]:
    if found.key and not _is_key(found.key):
        yield "key", "must be the key of a taint"
    if not found.key and found.operator != "Exists":
        yield "operator", "must be Exists if there is no key"
    if found.value and found.operator == "Exists":
        yield "value", "must be empty if the operator is Exists"
    if found.toleration_seconds is not None and found.effect != "NoExecute":
        yield "effect", "must be NoExecute if tolerationSeconds is set"


def _annotations(found: Iterable[str]) -> Iterator[Complaint]:
    for key in found:
        if not _is_key(key.lower()):
            yield Complaint((*_ROOT, "podAnnotations", key), "must be the name of an annotation")


_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_PREFIX = re.compile(
    r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)


def _is_key(text: str) -> bool:
    """Whether a text is a qualified name: of a label, an annotation, a taint, a resource."""
    prefix, slash, name = text.rpartition("/")
    return bool(_NAME.fullmatch(name)) and (not slash or bool(_PREFIX.fullmatch(prefix)))
