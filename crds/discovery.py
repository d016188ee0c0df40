"""Which EnvoyConfigs an instance in a cluster serves, as in a ContourConfiguration."""

from typing import Annotated, Literal

from pydantic import Field

from crds.fields import Label
from crds.meta import model


@model
class DiscoverySettings:
    """Which EnvoyConfigs the instance serves, and when a revision is taken back. It needs the
    rights of the ClusterRole `contour-marin3r-3scale-net`, and for certificates of Envoys those of
    `contour-node-certificates` in each of these namespaces."""

    namespaces: Annotated[tuple[Label, ...], Field(max_length=256)] = ()
    """The namespaces whose EnvoyConfigs are served. By default it is the namespace of the instance.
    In files all namespaces are served."""
    taints: Literal["Any", "All"] = "Any"
    """How many Envoys have to refuse a revision before the previous one is served again: Any, the
    default, means that one is enough; All means all connected Envoys of the node ID."""
