"""Reading an EnvoyProxy: what it asks for, and what is wrong with it.

An invalid value is reported with its path, and then nothing of the object is applied. Elsewhere:
the pods (`pods`), the Service (`exposing`), who may set what (`dag.gateway.parameters`).
"""

from collections.abc import Iterator

from crds.complaints import dotted
from crds.custombootstrap import CustomBootstrap, read
from crds.envoygateway.envoyproxy import (
    EnvoyHpa,
    EnvoyPDB,
    EnvoyProxy,
    EnvoyProxySpec,
    KubernetesProvider,
    Logging,
)
from crds.fleetdetails import Budget
from crds.unserved import unserved
from dag.envoyproxy import exposing, pods
from dag.envoyproxy.asked import Asked, Autoscaling, LogLevel, OwnBootstrap
from dag.envoyproxy.components import COMPONENTS
from dag.problems import Problem
from dag.problems import envoyproxy as problems
from dag.problems.places import Findings, Place, gathered


def resolved(found: EnvoyProxy) -> tuple[Asked, tuple[Problem, ...]]:
    """What an EnvoyProxy asks for, and its errors."""
    return gathered(_asked(problems.spec(found.metadata.key), found.spec))


def ignored(found: EnvoyProxy) -> Iterator[Problem]:
    """Settings of an EnvoyProxy that have no effect."""
    at = problems.spec(found.metadata.key)
    for it in unserved(found):
        yield problems.ignored_field(at._replace(path=it.path), it.why)


def _asked(at: Place, spec: EnvoyProxySpec) -> Findings[Asked]:
    yield from _provider(at.at("provider"), spec)
    given = (spec.provider.kubernetes if spec.provider else None) or KubernetesProvider()
    inner = at.at("provider").at("kubernetes")
    publishing = yield from exposing.published(at, spec, given.envoy_service)
    workload = yield from pods.workload(inner, given)
    level, levels = yield from _levels(at.at("logging").at("level"), spec.logging or Logging())
    autoscaler = yield from _autoscaler(inner.at("envoyHpa"), given.envoy_hpa)
    budget = yield from _budget(inner.at("envoyPDB"), given.envoy_pdb)
    custom = yield from _bootstrap(at.at("bootstrap"), spec.bootstrap)
    is_deployment = bool(given.envoy_hpa or given.envoy_pdb) and workload.type is None
    return Asked(
        type="Deployment" if is_deployment else workload.type,
        replicas=workload.replicas,
        resources=workload.resources,
        node_selector=workload.pod.node_selector,
        tolerations=workload.pod.tolerations,
        annotations=workload.pod.annotations,
        log_level=level,
        publishing=publishing,
        pods=pods.with_levels(workload.pods, levels),
        autoscaler=autoscaler,
        budget=budget,
        bootstrap=custom,
        powers=(*workload.powers, *([at.at("bootstrap").path] if custom else ())),
    )


def _bootstrap(at: Place, written: object) -> Findings[OwnBootstrap | None]:
    """The API server takes any value there: earlier versions of the kind have a text."""
    custom = read(written) if written is not None else None
    if isinstance(custom, CustomBootstrap):
        return OwnBootstrap(custom, f"{at.subject}: {at.path}")
    for fault in custom or ():
        place = at.at(dotted(fault.path)) if fault.path else at
        yield problems.invalid_value(place, fault.message)
    return None


def _provider(at: Place, spec: EnvoyProxySpec) -> Iterator[Problem]:
    found = spec.provider
    if found is None:
        return
    if found.type != "Kubernetes":
        yield problems.invalid_value(at.at("type"), f"{found.type} is not supported")
    elif found.host is not None:
        yield problems.invalid_value(at.at("host"), "is only for type Host, not Kubernetes")
    given, inner = found.kubernetes or KubernetesProvider(), at.at("kubernetes")
    if given.envoy_deployment is None or given.envoy_daemon_set is None:
        if given.envoy_daemon_set is None:
            return
        for name, it in (("envoyHpa", given.envoy_hpa), ("envoyPDB", given.envoy_pdb)):
            if it is not None:
                yield problems.invalid_value(inner.at(name), "is only for an envoyDeployment")
        return
    text = "cannot be set together with envoyDeployment"
    yield problems.invalid_value(inner.at("envoyDaemonSet"), text)


def _levels(at: Place, given: Logging) -> Findings[tuple[LogLevel | None, dict[str, LogLevel]]]:
    usual, found = None, dict[str, LogLevel]()
    for component, level in given.level.items():
        if component in ("default", "system"):
            usual = given.level.get("default", level)
        elif component in COMPONENTS:
            found[component] = level
        else:
            text = f"is no component of Envoy; known are default, {', '.join(COMPONENTS)}"
            yield problems.invalid_value(at.item(component[:60]), text)
    return usual, found


def _autoscaler(at: Place, given: EnvoyHpa | None) -> Findings[Autoscaling | None]:
    if given is None:
        return None
    least = given.min_replicas or 1
    if given.max_replicas < least:
        text = f"must not be less than minReplicas, which is {least}"
        yield problems.invalid_value(at.at("maxReplicas"), text)
    return Autoscaling(
        max_replicas=given.max_replicas,
        min_replicas=given.min_replicas,
        metrics=given.metrics,
        behavior=given.behavior or {},
    )


def _budget(at: Place, given: EnvoyPDB | None) -> Findings[Budget | None]:
    if given is None:
        return None
    if (given.min_available is None) == (given.max_unavailable is None):
        yield problems.invalid_value(at, "needs either minAvailable or maxUnavailable")
    for name, amount in (
        ("minAvailable", given.min_available),
        ("maxUnavailable", given.max_unavailable),
    ):
        yield from pods.amount(at.at(name), amount)
    return Budget(min_available=given.min_available, max_unavailable=given.max_unavailable)
