"""Whether the CRDs that are installed are of a version that we know ("SupportedVersion").

The bundle version stands in an annotation of every CRD of the Gateway API; whoever reads from an
API server writes it into the table. Without a row, as on a machine without Kubernetes, ours holds.
"""

from collections.abc import Iterator

from dag import tables
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.view import View

SUPPORTED = ("v1.5", "v1.6")
"""Minor versions whose objects are read with all their fields, the newest last."""


def problem(view: View, own: Place) -> Iterator[Problem]:
    """That the CRDs are of a version that we do not know, if they are."""
    found = view.read(tables.BUNDLE_VERSIONS, ())
    if found is not None and found.rpartition(".")[0] not in SUPPORTED:
        yield problems.version_not_supported(own, found, SUPPORTED)
