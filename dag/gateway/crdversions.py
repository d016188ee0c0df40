"""Which CRDs are installed: whether we know their version ("SupportedVersion"), and their channel.

Both stand in annotations of every CRD of the Gateway API; we look at that of GatewayClasses.
Without one, as on a machine without Kubernetes, it is the newest that we know, with all fields.
"""

import re
from collections.abc import Iterator

from crds.customresourcedefinition import GATEWAY_CLASSES_CRD
from crds.meta import NamespacedName
from dag import tables
from dag.engine.view import View
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place

SUPPORTED = ("v1.5", "v1.6", "v1.7")
"""Minor versions whose objects are read, the newest last."""
EVERY = f"{SUPPORTED[0]} to {SUPPORTED[-1]}"
"""The same for people."""


_CRD = NamespacedName("", GATEWAY_CLASSES_CRD)
BUNDLE_VERSION = "gateway.networking.k8s.io/bundle-version"
"""The annotation with the release that a CRD is of, such as `v1.7.0`."""

_CHANNEL = "gateway.networking.k8s.io/channel"


def problem(view: View, own: Place) -> Iterator[Problem]:
    """That the CRDs are of a version that we do not know, if they are."""
    found = _said(view, BUNDLE_VERSION)
    if found is not None and found.rpartition(".")[0] not in SUPPORTED:
        yield problems.version_not_supported(own, found, SUPPORTED)


def is_experimental(view: View) -> bool:
    """Whether there are the fields that the standard channel does not have."""
    return _said(view, _CHANNEL) != "standard"


def has_names_of_1_7(view: View) -> bool:
    """Whether features are called as in v1.7 and later, not as in v1.6 and earlier."""
    found = _MINOR.match(_said(view, BUNDLE_VERSION) or "")
    return found is None or (int(found[1]), int(found[2])) >= (1, 7)


def has_routability(view: View) -> bool:
    """Whether addresses of Gateways say from where they are reached."""
    return has_names_of_1_7(view) and is_experimental(view)


_MINOR = re.compile(r"v([0-9]{1,9})\.([0-9]{1,9})\.")


def _said(view: View, annotation: str) -> str | None:
    crd = view.read(tables.CRDS, _CRD)
    return crd.metadata.annotations.get(annotation) if crd is not None else None
