"""An Ingress as ingress-nginx reads it, with the objects that its annotations name."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from contour.events import Batch
from crds import decode
from crds.configmap import ConfigMap
from crds.ingress import Ingress, IngressServiceBackend
from crds.meta import NamespacedName
from crds.raw import Raw, is_list, mapping
from crds.service import Service

PREFIX = "nginx.ingress.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class Others:
    """The objects beside the Ingresses."""

    services: Mapping[NamespacedName, Service]
    config_maps: Mapping[NamespacedName, ConfigMap]


Unread = Literal["", "annotations", "paths"]
"""What is not known of an Ingress with errors. Its hosts are known; with `paths`, only these."""


class Given(NamedTuple):
    """One Ingress."""

    ingress: Ingress
    others: Others
    without: frozenset[str] = frozenset()
    """Names of annotations to ignore."""
    unread: Unread = ""

    def __str__(self) -> str:
        return f"Ingress {self.ingress.metadata.key}"

    @property
    def namespace(self) -> str:
        """Of the Ingress, and of all that it leads to."""
        return self.ingress.metadata.namespace

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of ingress-nginx, by the name after the prefix, without the ignored
        ones."""
        found = self.ingress.metadata.annotations
        short = {it.removeprefix(PREFIX).lower(): it for it in found if it.startswith(PREFIX)}
        return {name: found[it].strip() for name, it in short.items() if name not in self.without}

    def value(self, *names: str) -> str:
        """The value of the first of these annotations that is set; empty if none is."""
        found = self.annotations
        return next((found[it] for it in names if found.get(it)), "")

    def is_on(self, *names: str, usual: bool = False) -> bool:
        """Whether a boolean annotation is true, as Go's `strconv.ParseBool` reads it; an invalid
        value counts as unset."""
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
        """The number of a Service's port; None for a name that no Service among the manifests
        defines."""
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


class Partial(NamedTuple):
    """An Ingress, as far as it can be read."""

    ingress: Ingress
    unread: Unread


def read(
    batch: Batch, of_class: str, without: frozenset[str], broken: Iterable[Partial] = ()
) -> list[Given]:
    """The Ingresses of a class, and those without a class, among manifests; `broken`: those with
    errors."""
    objects = [it.object for it in batch.events if it.object is not None]
    others = Others(
        {it.metadata.key: it for it in objects if isinstance(it, Service)},
        {it.metadata.key: it for it in objects if isinstance(it, ConfigMap)},
    )
    whole = (Partial(it, "") for it in objects if isinstance(it, Ingress))
    names = frozenset(name.removeprefix(PREFIX) for name in without)
    return [
        Given(it, others, names, unread)
        for it, unread in (*whole, *broken)
        if _class(it) in {of_class, ""}
    ]


def partial(raw: Raw) -> Partial | None:
    """What can be read of an Ingress with errors; None if its hosts cannot."""
    spec, metadata = mapping(raw.get("spec")), mapping(raw.get("metadata"))
    annotations = mapping(metadata.get("annotations"))
    kept = {it: metadata[it] for it in ("creationTimestamp", "name", "namespace") if it in metadata}
    texts = {name: it for name, it in annotations.items() if isinstance(it, str)}
    made = {**raw, "metadata": kept | {"annotations": texts}}
    if (found := _decoded(made)) is not None:
        return Partial(found, "annotations")
    rules = spec.get("rules")
    hosts = {str(mapping(it).get("host") or "") for it in (rules if is_list(rules) else ())}
    class_ = {"ingressClassName": it} if isinstance(it := spec.get("ingressClassName"), str) else {}
    closed = {"rules": [{"host": it, "http": {"paths": [_ROOT]}} for it in sorted(hosts)]}
    found = _decoded({**made, "spec": class_ | closed})
    return Partial(found, "paths") if found is not None else None


_ROOT: Raw = {
    "path": "/",
    "pathType": "Prefix",
    "backend": {"service": {"name": "unknown", "port": {"number": 1}}},
}


def _decoded(raw: Raw) -> Ingress | None:
    found = decode.decode(raw)
    it = found.object if isinstance(found, decode.Decoded) else None
    return it if isinstance(it, Ingress) else None


def _class(found: Ingress) -> str:
    annotation = found.metadata.annotations.get("kubernetes.io/ingress.class", "")
    return found.spec.ingress_class_name or annotation
