"""How an EnvoyProxy says what the pods of a fleet are like.

The fields are those of Envoy Gateway 1.9, which has those of 0.5. What Kubernetes defines is kept
as it is written; that pods stay within the *restricted* level of the Pod Security Standards is
checked by the rules.
"""

from typing import Annotated, Literal

from pydantic import Field

from crds.envoygateway.opaque import Amount, AnyJson, Opaque
from crds.fields import Natural32
from crds.meta import model
from crds.unserved import Unserved
from crds.workloads import Resources, Toleration

_PATCH = Unserved(instead="set the fields that the patch would change")
_NAME = Unserved(instead="objects of a fleet are called after its Gateway and GatewayClass")


@model
class Pod:
    """The pods that Envoys run in."""

    annotations: dict[str, str] = Field(default_factory=dict)
    """Annotations of the pods."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Labels of the pods. Those by which this project knows its objects cannot be set."""
    affinity: Opaque | None = None
    """The nodes on which pods are placed, as in the specification of a pod."""
    node_selector: dict[str, str] = Field(default_factory=dict)
    """Labels and values that a node must have for pods to run on it."""
    tolerations: tuple[Toleration, ...] = ()
    """Taints of nodes that pods tolerate."""
    topology_spread_constraints: tuple[Opaque, ...] = ()
    """How pods are spread over nodes and zones, as in the specification of a pod. By default the
    pods of a Deployment are spread over nodes and zones as far as possible."""
    priority_class_name: str = ""
    """The PriorityClass of the pods."""
    image_pull_secrets: tuple[Opaque, ...] = ()
    """The Secrets with which images are pulled, in the namespace of the pods."""
    security_context: Opaque | None = None
    """Security settings of the pods. They may not leave the restricted level."""
    volumes: tuple[Opaque, ...] = ()
    """More volumes. Only types that the restricted level allows can be used."""


@model
class Container:
    """The container that Envoy runs in."""

    env: tuple[Opaque, ...] = ()
    """Environment variables, as in the specification of a container."""
    image: str = ""
    """The image of Envoy. The default is the one that this release was made for. It cannot be set
    together with `imageRepository`."""
    image_repository: str = ""
    """The repository of the image of Envoy; the tag is that of the default image."""
    resources: Resources | None = None
    """The resources of each Envoy."""
    security_context: Opaque | None = None
    """Security settings of the container. They may not leave the restricted level."""
    volume_mounts: tuple[Opaque, ...] = ()
    """Where the volumes are mounted."""


@model
class RollingUpdate:
    """How many pods are replaced at the same time, as a number or a percentage."""

    max_surge: Amount | None = None
    """The pods that there may be in addition."""
    max_unavailable: Amount | None = None
    """The pods that may be missing."""


@model
class DeploymentStrategy:
    """How the pods of a Deployment are replaced when something changes."""

    type: Literal["RollingUpdate", "Recreate"] = "RollingUpdate"
    """RollingUpdate, the default, replaces some pods at a time; Recreate ends all of them first."""
    rolling_update: RollingUpdate | None = None
    """Allowed only with the type RollingUpdate. The defaults are those of Kubernetes."""


@model
class DaemonSetStrategy:
    """How the pods of a DaemonSet are replaced when something changes."""

    type: Literal["RollingUpdate", "OnDelete"] = "RollingUpdate"
    """RollingUpdate, the default, replaces some pods at a time; OnDelete only those that somebody
    deletes."""
    rolling_update: RollingUpdate | None = None
    """Allowed only with the type RollingUpdate. The defaults are those of Kubernetes."""


@model
class EnvoyDeployment:
    """The Envoys of a fleet as a Deployment."""

    replicas: Natural32 | None = None
    """The number of Envoys. By default it is what the EnvoyProxy or ContourConfiguration that
    applies beside this one says, else 2."""
    strategy: DeploymentStrategy | None = None
    """How pods are replaced."""
    pod: Pod = Field(default_factory=Pod)
    """The pods that Envoys run in."""
    container: Container = Field(default_factory=Container)
    """The container that Envoy runs in."""
    name: Annotated[str | None, _NAME] = None
    """The name of the Deployment."""
    init_containers: Annotated[tuple[AnyJson, ...], Unserved()] = ()
    """Containers that run before Envoy."""
    patch: Annotated[Opaque | None, _PATCH] = None
    """Changes of the Deployment."""


@model
class EnvoyDaemonSet:
    """The Envoys of a fleet as a DaemonSet: one on each node."""

    strategy: DaemonSetStrategy | None = None
    """How pods are replaced."""
    pod: Pod = Field(default_factory=Pod)
    """The pods that Envoys run in."""
    container: Container = Field(default_factory=Container)
    """The container that Envoy runs in."""
    name: Annotated[str | None, _NAME] = None
    """The name of the DaemonSet."""
    patch: Annotated[Opaque | None, _PATCH] = None
    """Changes of the DaemonSet."""
