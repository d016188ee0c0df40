"""Labels that users may not set on the objects of a fleet: by them its pods are selected."""

from collections.abc import Iterator, Mapping

from dag.problems import Problem
from dag.problems import envoyproxy as problems
from dag.problems.places import Place

_OURS = frozenset(
    {
        "app",
        "app.kubernetes.io/component",
        "app.kubernetes.io/instance",
        "app.kubernetes.io/name",
        "app.kubernetes.io/part-of",
        "gateway.networking.k8s.io/gateway-name",
    }
)
_PREFIX = "projectcontour.io/"


def refused(at: Place, labels: Mapping[str, str]) -> Iterator[Problem]:
    """Those of them that are set."""
    for key in labels:
        if key in _OURS or key.startswith(_PREFIX):
            text = "cannot be set: by this label the objects of a fleet are known"
            yield problems.invalid_value(at.item(key[:253]), text)
