"""The settings of an EnvoyProxy for the workload and the pods of a fleet.

Names and paths that the pods need themselves are refused (`provisioning/templates`), and so are
settings beyond the restricted Pod Security level (`restricted`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Literal

from crds import raw
from crds.envoygateway.envoyproxy import KubernetesProvider
from crds.envoygateway.proxypods import (
    Container,
    DaemonSetStrategy,
    DeploymentStrategy,
    EnvoyDaemonSet,
    EnvoyDeployment,
    Pod,
    RollingUpdate,
)
from crds.fleetdetails import Pods
from crds.raw import Raw
from crds.records import dataclass, replace
from crds.workloads import Resources
from dag.envoyproxy import labels, restricted
from dag.problems import Problem
from dag.problems import envoyproxy as problems
from dag.problems.places import Findings, Place

VOLUMES = ("administration", "certificates", "configuration")
"""The volumes that the pods have themselves."""

PATHS = ("/admin", "/certs", "/config")
"""The paths at which these are mounted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The settings of a Deployment or DaemonSet."""

    type: Literal["DaemonSet", "Deployment"] | None = None
    replicas: int | None = None
    resources: Resources | None = None
    pod: Pod = field(default_factory=Pod)
    pods: Pods = field(default_factory=Pods)
    powers: tuple[str, ...] = ()
    """The paths of fields that only the EnvoyProxy of a class may set."""


def workload(at: Place, given: KubernetesProvider) -> Findings[Workload]:
    """The settings of the Deployment, or else of the DaemonSet, of an EnvoyProxy."""
    if given.envoy_deployment is not None:
        found = yield from _of(at.at("envoyDeployment"), given.envoy_deployment)
        replicas = given.envoy_deployment.replicas
        return replace(found, type="Deployment", replicas=replicas)
    if given.envoy_daemon_set is not None:
        found = yield from _of(at.at("envoyDaemonSet"), given.envoy_daemon_set)
        return replace(found, type="DaemonSet")
    return Workload()


def with_levels(found: Pods, levels: Mapping[str, str]) -> Pods:
    """With the log levels of components of Envoy."""
    return replace(found, log_levels=levels)


def amount(at: Place, given: int | str | None) -> Iterator[Problem]:
    """Whether a number of pods, or a percentage of them, is one."""
    if isinstance(given, str):
        is_one = _PERCENTAGE.fullmatch(given) is not None
    else:
        is_one = given is None or (given >= 0 and not isinstance(given, bool))
    if not is_one:
        yield problems.invalid_value(at, "must be a number of pods or a percentage, such as 25%")


_PERCENTAGE = re.compile(r"(100|[1-9]?[0-9])%")


def _of(at: Place, given: EnvoyDeployment | EnvoyDaemonSet) -> Findings[Workload]:
    pod, container = at.at("pod"), at.at("container")
    yield from _pod(pod, given.pod)
    yield from _container(container, given.container, given.pod.volumes)
    strategy = yield from _strategy(at.at("strategy"), given.strategy)
    return Workload(
        resources=given.container.resources,
        pod=given.pod,
        pods=Pods(
            labels=given.pod.labels,
            image=given.container.image,
            image_repository=given.container.image_repository,
            image_pull_secrets=given.pod.image_pull_secrets,
            env=given.container.env,
            volumes=given.pod.volumes,
            volume_mounts=given.container.volume_mounts,
            affinity=given.pod.affinity or {},
            topology_spread_constraints=given.pod.topology_spread_constraints,
            priority_class_name=given.pod.priority_class_name,
            pod_security_context=given.pod.security_context or {},
            security_context=_closed(given.container.security_context or {}),
            strategy=strategy,
        ),
        powers=(
            *(f"{pod.path}.{name}" for name, it in _powers_of_pods(given.pod) if it),
            *(f"{container.path}.{name}" for name, it in _powers(given.container) if it),
        ),
    )


def _powers_of_pods(given: Pod) -> Iterator[tuple[str, object]]:
    yield "affinity", given.affinity
    yield "nodeSelector", given.node_selector
    yield "tolerations", given.tolerations
    yield "topologySpreadConstraints", given.topology_spread_constraints
    yield "priorityClassName", given.priority_class_name
    yield "imagePullSecrets", given.image_pull_secrets
    yield "securityContext", given.security_context
    yield "volumes", given.volumes


def _powers(given: Container) -> Iterator[tuple[str, object]]:
    yield "env", given.env
    yield "image", given.image
    yield "imageRepository", given.image_repository
    yield "securityContext", given.security_context
    yield "volumeMounts", given.volume_mounts


def _pod(at: Place, given: Pod) -> Iterator[Problem]:
    yield from labels.refused(at.at("labels"), given.labels)
    yield from restricted.annotations(at.at("annotations"), given.annotations)
    yield from restricted.pod(at.at("securityContext"), given.security_context or {})
    for index, it in enumerate(given.volumes):
        yield from restricted.volume(at.at("volumes", index), it)
        if it.get("name") in VOLUMES:
            text = f"{it['name']} is the name of a volume that the pods have already"
            yield problems.invalid_value(at.at("volumes", index).at("name"), text)


def _container(at: Place, given: Container, volumes: Sequence[Raw]) -> Iterator[Problem]:
    yield from restricted.container(at.at("securityContext"), given.security_context or {})
    if given.image and given.image_repository:
        text = "cannot be set together with image"
        yield problems.invalid_value(at.at("imageRepository"), text)
    if given.image and not _IMAGE.fullmatch(given.image):
        text = f"{given.image[:60]!r} is no name of an image"
        yield problems.invalid_value(at.at("image"), text)
    if given.image_repository and not _REPOSITORY.fullmatch(given.image_repository):
        text = f"{given.image_repository[:60]!r} is no name of an image without a tag"
        yield problems.invalid_value(at.at("imageRepository"), text)
    known = {it.get("name") for it in volumes}
    for index, it in enumerate(given.volume_mounts):
        mount = at.at("volumeMounts", index)
        if it.get("name") not in known:
            text = "must be the name of one of pod.volumes"
            yield problems.invalid_value(mount.at("name"), text)
        if path := _hidden(str(it.get("mountPath", ""))):
            text = f"Envoy's pods have {path} already"
            yield problems.invalid_value(mount.at("mountPath"), text)


_IMAGE = re.compile(
    r"[a-zA-Z0-9._-]+(:[0-9]+)?(/[a-zA-Z0-9._/-]+)?(:[a-zA-Z0-9._-]+)?(@sha256:[a-z0-9]+)?"
)
_REPOSITORY = re.compile(r"[a-zA-Z0-9._-]+((:[0-9]+)?/[a-zA-Z0-9._/-]+)?")


def _hidden(path: str) -> str:
    """The folder of the pods' own that a mount would hide or lie in; empty if there is none."""
    steps = "/".join(("", *(it for it in path.split("/") if it not in ("", ".")), ""))
    own = (it for it in PATHS if steps.startswith(f"{it}/") or f"{it}/".startswith(steps))
    return next(own, "/.." if "/../" in steps else "")


def _closed(context: Raw) -> Raw:
    """A security context that drops all capabilities, also if it adds some."""
    if "capabilities" not in context:
        return context
    added = raw.at(context, "capabilities", "add")
    kept: Raw = {"add": added} if added else {}
    return {**context, "capabilities": {"drop": ["ALL"], **kept}}


def _strategy(at: Place, given: DeploymentStrategy | DaemonSetStrategy | None) -> Findings[Raw]:
    """The fields of it that are set."""
    if given is None:
        return {}
    rolling = given.rolling_update
    if given.type != "RollingUpdate":
        if rolling is not None:
            text = f"is only for type RollingUpdate, not {given.type}"
            yield problems.invalid_value(at.at("rollingUpdate"), text)
        return {"type": given.type}
    rolling = rolling or RollingUpdate()
    said = {"maxSurge": rolling.max_surge, "maxUnavailable": rolling.max_unavailable}
    for name, it in said.items():
        yield from amount(at.at("rollingUpdate").at(name), it)
    found = {key: it for key, it in said.items() if it is not None}
    return {"type": given.type, "rollingUpdate": found}
