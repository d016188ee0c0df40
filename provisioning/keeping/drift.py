"""Differences between an object of ours and what we want, and the patch that repairs them.

Server-side apply alone keeps what others have added beside our fields: another container, a port,
`hostNetwork`. The parts named here are ours as a whole: a field in them is removed unless it is
wanted, a default of the API server, or set by others by design. Everything else of an object
belongs to its users (labels and annotations, finalizers, the pull secrets of a ServiceAccount).
Sources of the defaults: the API reference of each kind; a missing one costs a request that changes
nothing. Elsewhere: when and how often it is repaired (`applying`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from crds import raw
from crds.raw import Raw
from provisioning.templating import Document

OURS: Mapping[str, tuple[str, ...]] = {
    "Service": ("spec",),
    "Deployment": ("spec",),
    "DaemonSet": ("spec",),
    "PodDisruptionBudget": ("spec",),
    "HorizontalPodAutoscaler": ("spec",),
    "NetworkPolicy": ("spec",),
    "Secret": ("data",),
    "Role": ("rules",),
    "RoleBinding": ("subjects",),
    "ClusterRoleBinding": ("subjects",),
    "GatewayClass": ("spec",),
    "Gateway": ("spec",),
    "TCPRoute": ("spec",),
}
"""The parts of an object that are ours as a whole, by kind."""

_POD_ANNOTATIONS = "spec.template.metadata.annotations"

_OF_OTHERS: Mapping[str, frozenset[str]] = {
    "Service": frozenset(
        {
            "spec.clusterIP",
            "spec.clusterIPs",
            "spec.ipFamilies",
            "spec.healthCheckNodePort",
            "spec.loadBalancerIP",
            "spec.loadBalancerClass",
            "spec.loadBalancerSourceRanges",
            "spec.allocateLoadBalancerNodePorts",
            "spec.ports.nodePort",
        }
    ),
    "Deployment": frozenset({"spec.replicas"}),
    "HorizontalPodAutoscaler": frozenset(
        f"spec.behavior.{it}"
        for way in ("scaleUp", "scaleDown")
        for it in (
            way,
            f"{way}.policies",
            f"{way}.selectPolicy",
            f"{way}.stabilizationWindowSeconds",
        )
    ),
}
"""Fields that the cluster, a cloud or an autoscaler sets where we do not."""

_DEFAULTS: Mapping[str, tuple[object, ...]] = {
    # Services
    "internalTrafficPolicy": ("Cluster",),
    "externalTrafficPolicy": ("Cluster",),
    "ipFamilyPolicy": ("SingleStack",),
    "sessionAffinity": ("None",),
    "protocol": ("TCP",),
    # Deployments and DaemonSets
    "progressDeadlineSeconds": (600,),
    "revisionHistoryLimit": (10,),
    "maxSurge": (0,),
    # Pods
    "dnsPolicy": ("ClusterFirst",),
    "restartPolicy": ("Always",),
    "schedulerName": ("default-scheduler",),
    "terminationMessagePath": ("/dev/termination-log",),
    "terminationMessagePolicy": ("File",),
    "apiVersion": ("v1",),
    "path": ("/",),
    "scheme": ("HTTP",),
    "timeoutSeconds": (1,),
    "periodSeconds": (10,),
    "successThreshold": (1,),
    "failureThreshold": (3,),
    "operator": ("Equal",),
    "expirationSeconds": (3600,),
    "volumeMode": ("Filesystem",),
    "divisor": ("0",),
    # References of the Gateway API
    "group": ("", "gateway.networking.k8s.io"),
    "kind": ("Service", "Gateway"),
    "weight": (1,),
    "from": ("Same",),
}
"""Defaults that the API server writes, by the last part of a field's path."""

_AMOUNTS = re.compile(
    r"\.(requests|limits)\.|\.(sizeLimit|divisor|averageValue|tolerance)$|\.target\.value$"
)
"""Paths of quantities, which can be written in several ways."""


def differences(wanted: Document, found: Document) -> tuple[str, ...]:
    """The paths of fields that differ, or were added, in the parts that are ours."""
    kind = wanted["kind"]
    parts = OURS.get(kind, ())
    return tuple(
        path
        for part in parts
        for path in _Comparison(kind).compare(part, part, wanted.get(part), found.get(part))
    )


def replacement(wanted: Document, found: Document) -> list[Raw]:
    """A JSON patch that replaces the parts that are ours with the wanted ones.

    It keeps the fields that others set by design. The API server refuses it if the object has
    changed.
    """
    version = found["metadata"]["resourceVersion"]
    patch: list[Raw] = [{"op": "replace", "path": "/metadata/resourceVersion", "value": version}]
    for part in OURS.get(wanted["kind"], ()):
        if part in wanted:
            value = _carried(wanted["kind"], wanted[part], found.get(part))
            patch.append({"op": "add", "path": f"/{part}", "value": value})
        elif part in found:
            patch.append({"op": "remove", "path": f"/{part}"})
    return patch


class _Comparison:
    """Compares one object. A path names list items, for people; a field has only field names."""

    def __init__(self, kind: str) -> None:
        self._of_others = _OF_OTHERS.get(kind, frozenset())

    def compare(self, path: str, field: str, wanted: object, found: object) -> Iterator[str]:
        if raw.is_mapping(wanted) and raw.is_mapping(found):
            yield from self._maps(path, field, wanted, found)
        elif raw.is_list(wanted) and raw.is_list(found):
            yield from self._lists(path, field, wanted, found)
        elif not _is_same(field, wanted, found):
            yield path

    def _maps(self, path: str, field: str, wanted: Raw, found: Raw) -> Iterator[str]:
        for key, value in wanted.items():
            yield from self.compare(f"{path}.{key}", f"{field}.{key}", value, found.get(key))
        for key in sorted(found.keys() - wanted.keys()):
            if not self._may_be_added(field, key, wanted, found[key]):
                yield f"{path}.{key}"

    def _lists(
        self, path: str, field: str, wanted: Sequence[object], found: Sequence[object]
    ) -> Iterator[str]:
        names, present = _names(wanted), _names(found)
        if names == present:
            for name, it, other in zip(names, wanted, found, strict=True):
                yield from self.compare(f"{path}[{name}]", field, it, other)
            return
        changed = sorted({*names} ^ {*present})
        yield from (f"{path}[{name}]" for name in changed)
        if not changed:
            yield path  # in another order, or twice

    def _may_be_added(self, field: str, key: str, wanted: Raw, value: object) -> bool:
        if field == _POD_ANNOTATIONS or f"{field}.{key}" in self._of_others:
            return True
        if key == "serviceAccount":  # the former name of another field
            return value == wanted.get("serviceAccountName")
        if key == "targetPort":
            return value == wanted.get("port")
        return _is_default(key, value)


def _is_default(key: str, value: object) -> bool:
    if raw.is_mapping(value):
        return all(_is_default(*it) for it in value.items())
    if key == "defaultMode":
        return value == 0o644
    if key == "mode":
        return value == "Terminate"
    return value is None or value == [] or value in _DEFAULTS.get(key, ())


def _is_same(field: str, wanted: object, found: object) -> bool:
    if wanted == found:
        return type(wanted) is type(found)
    if found is None:
        # What is empty is left out; of the flags that users may write, only this one, if it is
        # false: others mean something else if they are absent.
        return wanted in ("", [], {}) or (wanted is False and field.endswith(".readOnly"))
    if _AMOUNTS.search(field):
        amount = _amount(wanted)
        return amount is not None and amount == _amount(found)
    return False


_UNITS = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{unit: Decimal(1000) ** (n + 1) for n, unit in enumerate("kMGTPE")},
    **{f"{unit}i": Decimal(1024) ** (n + 1) for n, unit in enumerate("KMGTPE")},
}
_QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([numkMGTPE]?|[KMGTPE]i)")


def _amount(text: object) -> Decimal | None:
    """The value of a quantity; None if it is not valid."""
    found = _QUANTITY.fullmatch(str(text))
    if found is None:
        return None
    try:
        return Decimal(found[1]) * _UNITS[found[2]]
    except ArithmeticError:
        return None


def _names(elements: Sequence[object]) -> list[str]:
    return [_name(n, it) for n, it in enumerate(elements)]


def _name(index: int, element: object) -> str:
    """The name of an item of a list, for people."""
    if raw.is_mapping(element):
        for key in ("name", "mountPath", "port"):
            if isinstance(element.get(key), str | int):
                return str(element[key])
    return str(index)


def _carried(kind: str, wanted: object, found: object) -> object:
    if not raw.is_mapping(wanted) or not raw.is_mapping(found):
        return wanted
    if kind == "Service":
        return _service(wanted, found)
    if "template" in wanted:
        return _workload(wanted, found)
    return wanted


def _workload(wanted: Raw, found: Raw) -> Raw:
    template = raw.mapping(wanted["template"])
    of_ours = raw.mapping(template.get("metadata"))
    of_others = raw.mapping(raw.at(found, "template", "metadata", "annotations"))
    annotations = {**of_others, **raw.mapping(of_ours.get("annotations"))}
    replicas = {"replicas": found["replicas"]} if "replicas" in found else {}
    return {
        **replicas,
        **wanted,
        "template": {**template, "metadata": {**of_ours, "annotations": annotations}},
    }


_FOR_ALL_TYPES = ("clusterIP", "clusterIPs", "ipFamilies")
_FOR_BALANCERS = (
    "loadBalancerIP",
    "loadBalancerClass",
    "loadBalancerSourceRanges",
    "allocateLoadBalancerNodePorts",
)


def _service(wanted: Raw, found: Raw) -> Raw:
    type_ = wanted.get("type", "ClusterIP")
    kept = [*_FOR_ALL_TYPES]
    if type_ == "LoadBalancer":
        kept += _FOR_BALANCERS
        if wanted.get("externalTrafficPolicy") == "Local":
            kept.append("healthCheckNodePort")
    carried: Raw = {key: found[key] for key in kept if key in found}
    carried["ipFamilyPolicy"] = "SingleStack"  # else the API server keeps the existing one
    ports = [dict(raw.mapping(it)) for it in raw.items(wanted.get("ports"))]
    if type_ != "ClusterIP":
        _with_node_ports(ports, [raw.mapping(it) for it in raw.items(found.get("ports"))])
    return {**carried, **wanted, "ports": ports}


def _with_node_ports(ports: Sequence[Raw], found: Sequence[Raw]) -> None:
    """Gives each port the node port that it has, matched by its number, or else by its name."""
    taken = {it["nodePort"] for it in ports if "nodePort" in it}
    for keys in (("port", "protocol"), ("name",)):
        for port in (it for it in ports if "nodePort" not in it):
            usual = {"protocol": "TCP", **port}
            for other in found:
                node_port = other.get("nodePort")
                is_it = all(usual.get(key) == other.get(key) for key in keys)
                if is_it and node_port and node_port not in taken:
                    port["nodePort"] = node_port
                    taken.add(node_port)
                    break
