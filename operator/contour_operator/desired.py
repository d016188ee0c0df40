"""The objects that an instance should have, by its ContourConfiguration. Pure.

Everything is in the namespace of the configuration and has its labels, the bindings of other
namespaces too. `provisioning` renders them; this module makes the operator's choices: names without
a suffix, since a namespace has one instance, and rights by bindings to the shipped ClusterRoles.
Certificates contain secrets, so they are made separately (`issuing`). The instance makes its Envoys
itself.
"""

from dataclasses import dataclass

from crds import raw
from crds.contourconfiguration import ContourConfiguration, ContourConfigurationSpec
from crds.raw import Raw
from crds.sidecars import Sidecar
from crds.workloads import Contour
from provisioning import manifests, names
from provisioning.installation import ControlPlane, Place
from provisioning.keeping.ownership import Owner, Ownership
from provisioning.templating import Document

MAKER = "contour-operator"
"""The name of the operator as their maker, in the labels and the managed fields of children."""

DEPLOYMENT = Place().named("contour")
"""The Deployment of the control plane; its pods are named after it."""

LEASE = Place().named("leader-elect")
"""The Lease by which the replicas of an instance elect their leader."""


@dataclass(frozen=True, slots=True)
class Release:
    """The images that instances run."""

    image: str = names.IMAGE
    """The image of the control plane; empty: that of the operator's own pod, which is looked up."""
    envoy_image: str = names.ENVOY_IMAGE
    """The Envoy image of the fleets that it makes."""


def ownership(owner: Owner) -> Ownership:
    """The labels of every child."""
    return Ownership(owner, MAKER)


def children(configuration: ContourConfiguration, release: Release) -> tuple[Document, ...]:
    """All objects that there should be except the certificates, in the order of application."""
    return tuple(manifests.control_plane(_control_plane(configuration, release)))


def is_managed(configuration: Raw) -> bool:
    """Whether the raw configuration asks for a fleet of Envoys that the instance keeps."""
    publishing = raw.at(configuration, "spec", "envoy", "networkPublishing")
    return publishing is not None and owns_fleets(configuration)


def owns_fleets(configuration: Raw) -> bool:
    """Whether an instance with this raw configuration keeps the fleets that it has made, or at
    least those of Gateways: an EnvoyProxy may publish them where the configuration does not."""
    return raw.at(configuration, "spec", "envoy", "managed") is not False


def watches(configuration: ContourConfiguration, namespace: str) -> bool:
    """Whether the instance watches a namespace."""
    watched = _contour(configuration.spec).watch_namespaces
    return not watched or namespace in watched


def is_for_outer_classes(binding: Raw) -> bool:
    """Whether a child is needed for a GatewayClass that an instance makes."""
    return raw.at(binding, "roleRef", "name") == manifests.CLASSES_ROLE


def is_for_fleets_of_gateways(binding: Raw) -> bool:
    """Whether a child is needed for the fleets that an instance makes for Gateways."""
    return raw.at(binding, "roleRef", "name") == manifests.GATEWAYS_ROLE


def gives_in(binding: Raw, namespace: str) -> bool:
    """Whether a binding grants its rights in a namespace."""
    return raw.at(binding, "metadata", "namespace") in (None, "", namespace)


def _control_plane(configuration: ContourConfiguration, release: Release) -> ControlPlane:
    owner, spec = Owner(*configuration.metadata.key), configuration.spec
    place = Place(namespace=owner.namespace, labels=ownership(owner).labels, image=release.image)
    return ControlPlane(
        place=place,
        contour=_contour(spec),
        sidecars=sidecars(spec),
        configuration=owner.name,
        envoy_image=release.envoy_image,
        makes_no_roles=True,
        makes_fleet=True,
        makes_fleets_for_gateways=spec.gateway is not None and spec.gateway.mode == "PerGateway",
        makes_outer_class=makes_outer_class(spec),
    )


def makes_outer_class(spec: ContourConfigurationSpec) -> bool:
    """Whether the instance makes a GatewayClass, which is in no namespace."""
    publishing = spec.envoy.network_publishing if spec.envoy is not None else None
    outer = publishing.gateway if publishing is not None else None
    return outer is not None and outer.controller_name is not None


def sidecars(spec: ContourConfigurationSpec) -> tuple[tuple[str, Sidecar], ...]:
    """The extensions that run beside the control plane, by name."""
    return tuple((it.name, it.sidecar) for it in spec.extensions if it.sidecar is not None)


def _contour(spec: ContourConfigurationSpec) -> Contour:
    return spec.contour or Contour()
