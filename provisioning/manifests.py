"""The Kubernetes objects of an installation, rendered from the templates beside this module.

For `hack/generate` and `contour manifests`, which print all of them, and for the operator and
instances, which keep some of them up to date in a cluster. Applying them again changes nothing:
they contain nothing random, and no empty fields that an API server would leave out.
"""

import hashlib
from collections.abc import Iterable, Sequence

from pydantic import TypeAdapter

from crds import fleetdetails, kinds, schema, workloads
from crds.gateway.references import ParametersReference
from crds.raw import Raw
from crds.sidecars import SOCKETS, Sidecar
from provisioning import admission, commands, exposure, ratelimitservice, rendering, rights
from provisioning.installation import (
    ControlPlane,
    Fleet,
    Installation,
    Operator,
    Place,
)
from provisioning.names import IMAGE, VERSION
from provisioning.secrets import Names
from provisioning.templating import Document

CLUSTER_ROLE = "contour"
"""The ClusterRole of control planes in all namespaces; one for all instances."""

GATEWAYS_ROLE = "contour-gateways"
"""The additional ClusterRole where Gateways have fleets of their own; one for all instances."""

CLASSES_ROLE = "contour-outer-classes"
"""The additional ClusterRole where it makes a class for the Gateway in front of its fleet."""

ADDED_ROLE = "contour-added"
"""Further rights that administrators give to every instance, aggregated from their ClusterRoles."""

ADDED = {"projectcontour.io/aggregate-to-contour": "true"}
"""The label of the ClusterRoles that the API server aggregates in it."""

_BOUND = (CLUSTER_ROLE, GATEWAYS_ROLE, CLASSES_ROLE, ADDED_ROLE)

_CONTROL_PLANE = workloads.Resources(
    requests={"cpu": "100m", "memory": "256Mi"}, limits={"memory": "1Gi"}
)
_OPERATOR = workloads.Resources(
    requests={"cpu": "50m", "memory": "128Mi"}, limits={"memory": "512Mi"}
)
_ENVOY = workloads.Resources(requests={"cpu": "100m", "memory": "256Mi"}, limits={"memory": "1Gi"})
_SIDECAR = workloads.Resources(
    requests={"cpu": "10m", "memory": "64Mi"}, limits={"memory": "256Mi"}
)
_BESIDE = {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}


def everything(given: Installation) -> list[Document]:
    """All objects of an installation without CRDs, in an order in which they can be applied after
    these.

    CRDs are separate: kubectl cannot apply a kind and an object of it at once, and removing an
    instance must not remove every HTTPProxy of the cluster. An instance that watches some
    namespaces only is for users who may do nothing outside of them.
    """
    place = given.place
    return [
        *([] if given.control_plane.contour.watch_namespaces else _of_the_cluster(given)),
        *certgen(place),
        *(configuration(given) if given.has_configuration else []),
        *control_plane(given.control_plane),
        *([] if given.control_plane.makes_fleet else fleet(given.fleet)),
    ]


def _of_the_cluster(given: Installation) -> list[Document]:
    is_restricted = not given.fleet.takes_host_ports
    where = namespace(given.place, is_restricted=is_restricted)
    plane = given.control_plane
    bound = {
        CLUSTER_ROLE: True,
        GATEWAYS_ROLE: plane.makes_fleets_for_gateways,
        CLASSES_ROLE: plane.makes_outer_class,
        ADDED_ROLE: True,
    }
    return [*where, *cluster_roles(name for name, is_bound in bound.items() if is_bound)]


def crds() -> list[Document]:
    """The CRDs of our own kinds that every cluster needs."""
    return [schema.crd(it) for it in kinds.KINDS.values() if it.ours and not it.opt_in]


OPT_IN = sorted({it.group for it in kinds.KINDS.values() if it.opt_in})
"""The groups whose kinds are served only where an administrator applies their CRDs."""


def opted_in(group: str) -> list[Document]:
    """The CRDs of the kinds of such a group, marked as ours, and the rights to them."""
    found = [it for it in kinds.KINDS.values() if it.opt_in and it.group == group]
    role = f"contour-{group.replace('.', '-')}"
    return [
        *(
            rendering.placed(schema.crd(it), Place(namespace=""), rendering.PART)
            for it in found
            if it.ours
        ),
        *_cluster_role(role, rights.of_group(group), is_added=True),
    ]


def cluster_roles(names: Iterable[str] = _BOUND) -> list[Document]:
    """The ClusterRoles that instances are bound to; all instances to the first and the last."""
    rules = {
        CLUSTER_ROLE: rights.everywhere,
        GATEWAYS_ROLE: rights.of_gateways,
        CLASSES_ROLE: rights.of_outer_classes,
    }
    found = ((it, rules[it]() if it in rules else None) for it in names)
    return [role for name, given in found for role in _cluster_role(name, given)]


def _cluster_role(name: str, found: list[Raw] | None, *, is_added: bool = False) -> list[Document]:
    """A ClusterRole; without rights of its own, it aggregates those with the label."""
    values = {
        "cluster_role": name,
        "rights": found,
        "is_sum": found is None,
        "is_added": is_added,
        "added": ADDED,
    }
    return rendering.rendered("cluster_role", Place(), values)


def namespace(place: Place, *, is_restricted: bool) -> list[Document]:
    """The namespace of an instance, with a Pod Security level that our pods keep."""
    return rendering.rendered("namespace", place, {"is_restricted": is_restricted})


def certgen(place: Place) -> list[Document]:
    """The Job that makes and renews the certificates of an instance without an operator."""
    names = Names(place.namespace, place.suffix)
    suffix = [f"--secrets-name-suffix={place.suffix}"] if place.suffix else []
    name = place.named("contour-certgen")
    secrets = (names.authority, names.of_leaf("contour"), names.of_leaf("envoy"))
    values = {
        "certgen": name,
        "version": VERSION.replace(".", "-") + image_mark(place.image),
        "rights": rights.certificates(secrets),
        "subject": _account(name, place),
        "labels": rendering.labels(name, "contour-certgen", place),
        "arguments": ["certgen", "--kube", "--incluster", *suffix],
        "beside": _BESIDE,
    }
    return rendering.rendered("certgen", place, values)


def image_mark(image: str) -> str:
    """A suffix of the Job's name that depends on the image: the template of a Job is immutable, so
    another image under the same name would be refused. Empty for the usual image."""
    return "" if image == IMAGE else f"-{hashlib.sha256(image.encode()).hexdigest()[:8]}"


def configuration(given: Installation) -> list[Document]:
    """The ContourConfiguration with which an instance starts, or the file that it has instead."""
    if given.control_plane.file:
        values = {"text": given.control_plane.file, "mounted": commands.MOUNTED_FILE}
        return rendering.rendered("configuration_file", given.place, values)
    values = {
        "configuration": given.control_plane.configuration,
        "controller_name": given.controller_name,
        "publishing": given.fleet.publishing.type if given.control_plane.makes_fleet else "",
    }
    return rendering.rendered("configuration", given.place, values)


def control_plane(given: ControlPlane) -> list[Document]:
    """The control plane and its rights, without the ClusterRole."""
    place, contour = given.place, given.contour
    name = place.named("contour")
    lease, watches_everything = place.named("leader-elect"), not contour.watch_namespaces
    # Its own namespace gets a binding like a watched one, if it has no Role there.
    needs_home = given.makes_no_roles or given.makes_fleets_for_gateways
    home = [place.namespace] if needs_home and not watches_everything else []
    values = {
        "contour": name,
        "cluster_role": CLUSTER_ROLE,
        "gateways_role": GATEWAYS_ROLE,
        "classes_role": CLASSES_ROLE,
        "added_role": ADDED_ROLE,
        "watches_everything": watches_everything,
        "watched_namespaces": [*dict.fromkeys((*home, *contour.watch_namespaces))],
        "rights": {
            "at_home": rights.at_home(
                lease,
                watches_everything or given.makes_no_roles,
                given.makes_fleet,
                rights.Counters(
                    Names(place.namespace, place.suffix).authority,
                    (place.named(ratelimitservice.CALLED), place.named(ratelimitservice.CLIENT)),
                ),
            ),
            "watched": [
                *rights.in_a_watched_namespace(),
                *(rights.of_gateways() if given.makes_fleets_for_gateways else ()),
            ],
        },
        "subject": _account(name, place),
        "selector": {"app": name},
        "envoy_selector": rendering.OF_ENVOYS,
        "counter_selector": rendering.OF_COUNTERS,
        "labels": rendering.labels(name, "contour", place),
        "arguments": commands.serve(given),
        "control_plane": given,
        "mounted": commands.MOUNTED_FILE,
        "placement": rendering.placement(contour.placement),
        "resources": rendering.resources(contour.resources or _CONTROL_PLANE),
        "spread": rendering.spread(name),
        "sockets": SOCKETS,
        "sidecars": [_sidecar(*it) for it in given.sidecars],
    }
    return rendering.rendered("control_plane", place, values)


def _sidecar(name: str, given: Sidecar) -> Raw:
    return {
        "name": name,
        "image": given.image,
        "command": list(given.command),
        "arguments": list(given.args),
        "env": [{"name": key, "value": value} for key, value in given.env.items()],
        "resources": rendering.resources(given.resources or _SIDECAR),
    }


def operator(given: Operator) -> list[Document]:
    """The operator, its rights, and the ClusterRole that it binds instances to."""
    place = given.place
    name = place.named("contour-operator")
    secrets = Names().all(("contour", "envoy"))
    values = {
        "operator": given,
        "name": name,
        "rights": {
            "everywhere": rights.operator(_BOUND, Place().named("leader-elect"), secrets),
            "at_home": rights.operator_at_home(name),
        },
        "subject": _account(name, place),
        "selector": {"app": name},
        "labels": rendering.labels(name, "contour-operator", place),
        "arguments": commands.operator(given),
        "resources": rendering.resources(_OPERATOR),
        "spread": rendering.spread(name),
    }
    where = namespace(place, is_restricted=True)
    asked = admission_policy() if given.trusted is None else ()
    return [*where, *cluster_roles(), *asked, *rendering.rendered("operator", place, values)]


def admission_policy() -> list[Document]:
    """The policy by which the API server refuses instances with more rights than their authors."""
    values = {"policy": admission.NAME, "cel": admission.policy()}
    return rendering.rendered("admission", Place(), values)


def fleet(given: Fleet) -> list[Document]:
    """The Envoys and the Service in front of them."""
    place, workload = given.place, given.workload
    name = place.named(given.called)
    values = {
        "envoy": name,
        "selector": {"app": name},
        "labels": rendering.labels(name, "envoy", place),
        "bootstrap": commands.bootstrap(given),
        "bootstrap_variable": commands.BOOTSTRAP,
        "arguments": commands.envoy(workload, given.details.pods.log_levels),
        "fleet": given,
        "workload": workload,
        "replicas": _replicas(given),
        "pods": given.details.pods,
        "variables": _variables(given.details.pods.env),
        "autoscaler": given.details.autoscaler,
        "budget": _budget(given.details.budget),
        "publishing": given.publishing,
        "service_type": exposure.service_type(given.publishing),
        "service_annotations": exposure.annotations(given),
        "service_labels": given.details.service.labels,
        "of_balancers": exposure.of_balancers(given),
        "address": exposure.address(given),
        "node_ports": exposure.node_ports(given),
        "placement": rendering.placement(workload.placement),
        "resources": rendering.resources(workload.resources or _ENVOY),
        "beside": _BESIDE,
        "spread": [*given.details.pods.topology_spread_constraints] or rendering.spread(name),
    }
    outer = outer_gateway(given) if given.publishing.gateway is not None else ()
    return [*rendering.rendered("fleet", place, values), *outer]


def outer_gateway(given: Fleet) -> list[Document]:
    """The Gateway of another controller through which clients reach the Service, and its routes."""
    name, outer = given.place.named(given.called), given.publishing.gateway
    assert outer is not None
    values = {
        "envoy": name,
        "labels": rendering.labels(name, "envoy", given.place),
        # No name of a Service has a dot, so no Service of others can have this name.
        "own_class": f"{name}.{given.place.namespace}",
        "outer": outer,
        "parameters": _PARAMETERS.dump_python(outer.parameters_ref, exclude_none=True),
        "ports": [it for it in given.ports if it.protocol == "TCP"],
    }
    return rendering.rendered("outer_gateway", given.place, values)


_PARAMETERS = TypeAdapter(ParametersReference | None)


def _account(name: str, place: Place) -> dict[str, str]:
    return {"kind": "ServiceAccount", "name": name, "namespace": place.namespace}


def _replicas(given: Fleet) -> int:
    """The number of pods with which a Deployment begins, if an autoscaler sets it from then on."""
    scaler, asked = given.details.autoscaler, given.workload.replicas
    if scaler is None:
        return asked
    return min(max(asked, scaler.min_replicas), scaler.max_replicas)


def _variables(asked: Sequence[Raw]) -> list[Raw]:
    """The environment of Envoy's container; variables that users set win."""
    is_asked = any(it.get("name") == _NAMESPACE["name"] for it in asked)
    return [*asked] if is_asked else [_NAMESPACE, *asked]


# For spans, in addition to HOSTNAME, which every container has.
_NAMESPACE: Raw = {
    "name": "CONTOUR_NAMESPACE",
    "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}},
}


def _budget(given: fleetdetails.Budget | None) -> Raw:
    if given is None:
        return {"maxUnavailable": 1}
    said = {"minAvailable": given.min_available, "maxUnavailable": given.max_unavailable}
    return {key: it for key, it in said.items() if it is not None}
