"""Whether the CRDs that are installed are of a version that we know ("SupportedVersion").

The bundle version stands in an annotation of every CRD of the Gateway API; we look at that of
GatewayClasses. Without one, as on a machine without Kubernetes, the version that we know holds.
"""

from collections.abc import Iterator

from crds.customresourcedefinition import OF_GATEWAY_CLASSES
from crds.meta import NamespacedName
from dag import tables
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.view import View

SUPPORTED = ("v1.5", "v1.6")
"""Minor versions whose objects are read with all their fields, the newest last."""


_CRD = NamespacedName("", OF_GATEWAY_CLASSES)
_BUNDLE_VERSION = "gateway.networking.k8s.io/bundle-version"


def problem(view: View, own: Place) -> Iterator[Problem]:
    """That the CRDs are of a version that we do not know, if they are."""
    crd = view.read(tables.CRDS, _CRD)
    found = crd.metadata.annotations.get(_BUNDLE_VERSION) if crd is not None else None
    if found is not None and found.rpartition(".")[0] not in SUPPORTED:
        yield problems.version_not_supported(own, found, SUPPORTED)
