"""An Ingress as ingress-nginx reads it, with the objects that its annotations name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from contour.events import Batch
from crds.configmap import ConfigMap
from crds.ingress import Ingress, IngressServiceBackend
from crds.meta import NamespacedName
from crds.service import Service

PREFIX = "nginx.ingress.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class Others:
    """The objects beside the Ingresses."""

    services: Mapping[NamespacedName, Service]
    config_maps: Mapping[NamespacedName, ConfigMap]


class Given(NamedTuple):
    """One Ingress."""

    ingress: Ingress
    others: Others
    without: frozenset[str] = frozenset()
    """Names of annotations that are to be left out."""

    def __str__(self) -> str:
        return f"Ingress {self.ingress.metadata.key}"

    @property
    def namespace(self) -> str:
        """Of the Ingress, and of all that it leads to."""
        return self.ingress.metadata.namespace

    @property
    def annotations(self) -> dict[str, str]:
        """Those of ingress-nginx, by the name after the prefix, without the ones to be left out."""
        found = self.ingress.metadata.annotations
        short = {it.removeprefix(PREFIX).lower(): it for it in found if it.startswith(PREFIX)}
        return {name: found[it].strip() for name, it in short.items() if name not in self.without}

    def value(self, *names: str) -> str:
        """The value of the first of these annotations that is there; empty without one."""
        found = self.annotations
        return next((found[it] for it in names if found.get(it)), "")

    def is_on(self, *names: str, usual: bool = False) -> bool:
        """A switch, as Go's `strconv.ParseBool` reads it; what is no boolean counts as unset."""
        value = self.value(*names)
        return value in _TRUE if value in _TRUE | _FALSE else usual

    @property
    def is_canary(self) -> bool:
        """Whether it gets a part of the requests of another Ingress."""
        return self.is_on("canary")

    def number(self, name: str) -> int | None:
        """A number of at most nine digits; None for anything else."""
        value = self.value(name)
        return int(value) if re.fullmatch(r"[0-9]{1,9}", value) else None

    def port(self, backend: IngressServiceBackend) -> int | None:
        """The number of a Service's port; None for a name that none of the manifests explains."""
        if backend.port.number is not None:
            return backend.port.number
        service = self.others.services.get(NamespacedName(self.namespace, backend.name))
        ports = service.spec.ports if service is not None else ()
        return next((it.port for it in ports if it.name == backend.port.name), None)

    def own_name(self, reference: str) -> str | None:
        """The name of a Secret of the Ingress's own namespace (`name`, `namespace/name`)."""
        namespace, _, name = reference.rpartition("/")
        return name if namespace in {"", self.namespace} else None


_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def read(batch: Batch, of_class: str, without: frozenset[str]) -> list[Given]:
    """The Ingresses of a class, and those without one, among manifests."""
    objects = [it.object for it in batch.events if it.object is not None]
    others = Others(
        {it.metadata.key: it for it in objects if isinstance(it, Service)},
        {it.metadata.key: it for it in objects if isinstance(it, ConfigMap)},
    )
    return [
        Given(it, others, frozenset(name.removeprefix(PREFIX) for name in without))
        for it in objects
        if isinstance(it, Ingress) and _class(it) in {of_class, ""}
    ]


def _class(found: Ingress) -> str:
    annotation = found.metadata.annotations.get("kubernetes.io/ingress.class", "")
    return found.spec.ingress_class_name or annotation
