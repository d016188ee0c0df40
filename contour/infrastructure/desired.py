"""What a fleet consists of, given what it is to be: pure, documents out.

The shared fleet is beside the control plane and is called as in an installation by hand; that of a
Gateway is in the Gateway's namespace, called `GATEWAY-CLASS` and labelled with the Gateway's name
(GEP-1762). Everything has the instance's labels and no ownerReferences, so that garbage
collection never removes a fleet that was handed over. Elsewhere: rendering (`provisioning`), the
certificate of a Gateway's fleet (`certifying`).
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
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
"""Whose the objects are, in their labels and in their managed fields."""

SHARED = ""
"""The value of the label with a Gateway's name where there is none: on the shared fleet."""

_LONGEST_NAME = 63  # of a Service


class Key(NamedTuple):
    """By what the objects of a fleet are known: where they are, and their label."""

    namespace: str
    gateway: str = SHARED

    def __str__(self) -> str:
        gateway = f" of Gateway {self.gateway}" if self.gateway else ""
        return f"fleet{gateway} in {self.namespace}"


@dataclass(frozen=True, slots=True)
class Release:
    """The instance, and what its fleets run."""

    owner: Owner
    """Its ContourConfiguration; the shared fleet and the control plane are beside it."""
    suffix: str = ""
    """Ends the names of its objects."""
    image: str = names.IMAGE
    """Of the control plane, for what runs beside Envoy."""
    envoy_image: str = names.ENVOY_IMAGE
    service: str = "envoy"
    """The name of the shared fleet's Service."""

    @property
    def ownership(self) -> Ownership:
        """The labels of everything."""
        return Ownership(self.owner, MAKER)

    def named(self, name: str) -> str:
        """What an object of the instance is called."""
        return f"{name}{self.suffix}"


def key(release: Release, gateway: NamespacedName | None) -> Key:
    """By what the objects of a fleet are known."""
    if gateway is None:
        return Key(release.owner.namespace)
    return Key(gateway.namespace, ownership.label_value(gateway.name))


def key_of(document: Document) -> Key:
    """The fleet that an object with our labels is of."""
    metadata = mapping(document["metadata"])
    labels = mapping(metadata.get("labels"))
    # What is in no namespace is of the shared fleet, beside the configuration.
    where = metadata.get("namespace") or labels.get(ownership.NAMESPACE, "")
    return Key(str(where), str(labels.get(ownership.GATEWAY, SHARED)))


def called(release: Release, fleet: fleets.Fleet) -> NamespacedName:
    """Where the objects of a fleet are, and what they are called."""
    if fleet.gateway is None:
        return NamespacedName(release.owner.namespace, release.service)
    name = f"{fleet.gateway.name}-{fleet.gateway_class}"
    return NamespacedName(fleet.gateway.namespace, _label(name))


def certificate(release: Release, fleet: fleets.Fleet) -> str:
    """The Secret that a fleet shows the control plane."""
    if fleet.gateway is None:
        return release.named("envoycert")
    return called(release, fleet).name


def documents(release: Release, fleet: fleets.Fleet, name: str) -> tuple[Document, ...]:
    """All that there is to be, but for the certificate, in the order in which it is applied."""
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
    """The fleet as templates know it; None if clients are not to come to it."""
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
    """Of Envoy. A repository alone has the usual tag, or digest."""
    if asked.image or not asked.image_repository:
        return asked.image or release.envoy_image
    _, _, name = release.envoy_image.rpartition("/")
    mark = "@" if "@" in name else ":"
    _, _, version = name.partition(mark)
    return f"{asked.image_repository}{mark}{version}" if version else asked.image_repository


def _of_users(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Without the label by which fleets are told apart."""
    return {key: it for key, it in labels.items() if key != ownership.GATEWAY}


def _label(name: str) -> str:
    """The name itself if a Service can be called so, else one that no other name becomes."""
    if _SERVICE_NAME.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    kept = re.sub(r"[^-a-z0-9]", "-", name)[: _LONGEST_NAME - len(digest) - 3]
    return f"g-{kept}-{digest}".replace("--", "-")


_SERVICE_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
"""RFC 1035, as Kubernetes asks of Services."""
