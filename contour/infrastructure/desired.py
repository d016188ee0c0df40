"""The objects of a wanted fleet, as documents. Pure.

The shared fleet is in the namespace of the control plane, with the names of an installation by
hand. The fleet of a Gateway is in the Gateway's namespace, is named `GATEWAY-CLASS`, and has a
label with the Gateway's name (GEP-1762). All objects have the instance's labels and no
ownerReferences, so that garbage collection never removes a fleet that was handed over. Elsewhere:
rendering (`provisioning`), the certificate of a Gateway's fleet (`certifying`).
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from contour import custombootstrap
from contour.infrastructure import bootstraps
from crds.custombootstrap import CustomBootstrap
from crds.fleetdetails import Pods
from crds.meta import NamespacedName
from crds.raw import mapping
from crds.records import replace
from dag import fleets
from provisioning import installation, manifests, names
from provisioning.installation import Place
from provisioning.keeping import ownership
from provisioning.keeping.ownership import Owner, Ownership
from provisioning.templating import Document

MAKER = "contour"
"""The maker in the labels and managed fields of the objects."""

SHARED = ""
"""The value of the label with a Gateway's name on the shared fleet, which has none."""

_LONGEST_NAME = 63  # of a Service


class Key(NamedTuple):
    """What identifies the objects of a fleet: their namespace, and the value of their label."""

    namespace: str
    gateway: str = SHARED

    def __str__(self) -> str:
        gateway = f" of Gateway {self.gateway}" if self.gateway else ""
        return f"fleet{gateway} in {self.namespace}"


@dataclass(frozen=True, slots=True)
class Release:
    """The instance to which fleets belong, and the images that they run."""

    owner: Owner
    """Its ContourConfiguration, in the namespace of the shared fleet and the control plane."""
    suffix: str = ""
    """The end of the names of its objects."""
    image: str = names.IMAGE
    """The image of the control plane, for the containers beside Envoy."""
    envoy_image: str = names.ENVOY_IMAGE
    service: str = "envoy"
    """The name of the shared fleet's Service."""
    bundle: Path | None = None
    """The file with the authorities that the control plane trusts; None: it asks its clients for no
    certificate."""

    @property
    def ownership(self) -> Ownership:
        """The labels of all objects."""
        return Ownership(self.owner, MAKER)

    def named(self, name: str) -> str:
        """The name of an object of the instance."""
        return f"{name}{self.suffix}"


def key(release: Release, gateway: NamespacedName | None) -> Key:
    """What identifies the objects of a fleet."""
    if gateway is None:
        return Key(release.owner.namespace)
    return Key(gateway.namespace, ownership.label_value(gateway.name))


def key_of(document: Document) -> Key:
    """The fleet to which an object with our labels belongs."""
    metadata = mapping(document["metadata"])
    labels = mapping(metadata.get("labels"))
    # Objects without a namespace belong to the shared fleet, in the namespace of the configuration.
    where = metadata.get("namespace") or labels.get(ownership.NAMESPACE, "")
    return Key(str(where), str(labels.get(ownership.GATEWAY, SHARED)))


def called(release: Release, fleet: fleets.Fleet) -> NamespacedName:
    """The namespace and the name of the objects of a fleet."""
    if fleet.gateway is None:
        return NamespacedName(release.owner.namespace, release.service)
    name = f"{fleet.gateway.name}-{fleet.gateway_class}"
    return NamespacedName(fleet.gateway.namespace, _label(name))


def certificate(release: Release, fleet: fleets.Fleet) -> str:
    """The Secret with the certificate that a fleet presents to the control plane."""
    if fleet.gateway is None:
        return release.named("envoycert")
    return called(release, fleet).name


def documents(release: Release, fleet: fleets.Fleet, name: str) -> tuple[Document, ...]:
    """All wanted objects except for the certificate, in the order in which they are applied."""
    given = _installed(release, fleet, name)
    if given is None:
        return ()
    admin = bootstraps.judged(given, _custom(fleet)).admin
    return tuple(manifests.fleet(replace(given, admin=admin)))


def bootstrap_refusal(release: Release, fleet: fleets.Fleet, name: str) -> str:
    """Why Envoys must not be started with the bootstrap of a fleet; empty if they may."""
    given = _installed(release, fleet, name)
    if given is None or fleet.bootstrap is None:
        return ""
    return bootstraps.judged(given, fleet.bootstrap.custom).refusal


def _custom(fleet: fleets.Fleet) -> CustomBootstrap | None:
    return fleet.bootstrap.custom if fleet.bootstrap is not None else None


def _installed(release: Release, fleet: fleets.Fleet, name: str) -> installation.Fleet | None:
    """The settings of a fleet for templates; None if clients must not reach it."""
    if fleet.publishing is None:
        return None
    where, control_plane = called(release, fleet), release.named("contour")
    return installation.Fleet(
        place=_place(release, fleet),
        name=name,
        called=where.name,
        control_plane=(
            control_plane
            if where.namespace == release.owner.namespace
            else f"{control_plane}.{release.owner.namespace}"
        ),
        certificate=certificate(release, fleet),
        image=_image(release, fleet.details.pods),
        details=fleet.details,
        workload=fleet.workload,
        publishing=fleet.publishing,
        ports=tuple(
            installation.Port(it.name, it.number, it.bound, it.protocol) for it in fleet.ports
        ),
        declares_ports=False,
        monitors=fleet.monitors,
        hides_stats=fleet.hides_stats,
        bootstrap=custombootstrap.as_text(fleet.bootstrap.custom) if fleet.bootstrap else "",
        speaks_proxy_protocol=fleet.speaks_proxy_protocol,
        address=next((it.value for it in fleet.addresses if it.type == "IPAddress"), ""),
    )


def _place(release: Release, fleet: fleets.Fleet) -> Place:
    own = (
        {}
        if fleet.gateway is None
        else {ownership.GATEWAY: ownership.label_value(fleet.gateway.name)}
    )
    return Place(
        namespace=called(release, fleet).namespace,
        labels={**_of_users(fleet.labels), **release.ownership.labels, **own},
        annotations=fleet.annotations,
        image=release.image,
    )


def _image(release: Release, asked: Pods) -> str:
    """The image of Envoy. If only a repository is set, the default tag or digest is added."""
    if asked.image or not asked.image_repository:
        return asked.image or release.envoy_image
    _, _, name = release.envoy_image.rpartition("/")
    mark = "@" if "@" in name else ":"
    _, _, version = name.partition(mark)
    return f"{asked.image_repository}{mark}{version}" if version else asked.image_repository


def _of_users(labels: Mapping[str, str]) -> Mapping[str, str]:
    """The labels of users, without the one that identifies fleets."""
    return {key: it for key, it in labels.items() if key != ownership.GATEWAY}


def _label(name: str) -> str:
    """The name itself if it is valid for a Service, else a unique one that is made from it."""
    if _SERVICE_NAME.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    kept = re.sub(r"[^-a-z0-9]", "-", name)[: _LONGEST_NAME - len(digest) - 3]
    return f"g-{kept}-{digest}".replace("--", "-")


_SERVICE_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
"""RFC 1035, which Kubernetes requires for Services."""
