"""The version and channel of the installed CRDs, and whether we support it ("SupportedVersion").

Annotations of every CRD of the Gateway API have both; we read those of GatewayClass. Without them,
as on a machine without Kubernetes, it is the newest version that we know, with all fields.
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
"""The supported versions, for people."""


_CRD = NamespacedName("", GATEWAY_CLASSES_CRD)
BUNDLE_VERSION = "gateway.networking.k8s.io/bundle-version"
"""The annotation with the release of a CRD, such as `v1.7.0`."""

_CHANNEL = "gateway.networking.k8s.io/channel"


def problem(view: View, own: Place) -> Iterator[Problem]:
    """A problem if we do not know the version of the CRDs."""
    found = _said(view, BUNDLE_VERSION)
    if found is not None and found.rpartition(".")[0] not in SUPPORTED:
        yield problems.version_not_supported(own, found, SUPPORTED)


def is_experimental(view: View) -> bool:
    """Whether the CRDs have the fields of the experimental channel."""
    return _said(view, _CHANNEL) != "standard"


def has_names_of_1_7(view: View) -> bool:
    """Whether features have the names of v1.7 and later, not those of v1.6 and earlier."""
    found = _MINOR.match(_said(view, BUNDLE_VERSION) or "")
    return found is None or (int(found[1]), int(found[2])) >= (1, 7)


def has_routability(view: View) -> bool:
    """Whether addresses of Gateways have the field `routability`."""
    return has_names_of_1_7(view) and is_experimental(view)


_MINOR = re.compile(r"v([0-9]{1,9})\.([0-9]{1,9})\.")


def _said(view: View, annotation: str) -> str | None:
    crd = view.read(tables.CRDS, _CRD)
    return crd.metadata.annotations.get(annotation) if crd is not None else None
