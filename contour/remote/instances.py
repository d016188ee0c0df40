"""Finds the instances of a cluster and their replicas by their pods, for commands on a laptop.

An instance is identified by the namespace of its pods and the ContourConfiguration that they
follow; the arguments of their containers name it, and their Lease and debug port.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from crds import raw
from crds.kinds import IN_CLUSTERS
from kube import errors
from kube.client import Client
from kube.election import LEASES
from kube.portforward import PODS
from kube.resources import Resource

LABELS = "app.kubernetes.io/part-of=contour,app.kubernetes.io/component=ingress-controller"
"""The labels of replicas' pods, in our manifests and those of the operator."""


class NoInstance(Exception):  # noqa: N818 - it reads as what it is
    """There is no instance or replica to ask, or several without a choice; the text is one line for
    the user."""


class Replica(NamedTuple):
    """A pod that runs `contour serve`."""

    namespace: str
    pod: str
    flags: Mapping[str, str]
    """The arguments of its container."""
    is_ready: bool
    image: str

    def __str__(self) -> str:
        return f"pod {self.namespace}/{self.pod}"


class Instance(NamedTuple):
    """Replicas of one namespace that follow one ContourConfiguration."""

    namespace: str
    name: str
    """The name of its ContourConfiguration."""
    replicas: tuple[Replica, ...]

    @property
    def watched(self) -> tuple[str, ...]:
        """The namespaces whose objects it reads; empty for all."""
        written = self.replicas[0].flags.get("watch-namespaces", "")
        return tuple(it.strip() for it in written.split(",") if it.strip())

    def __str__(self) -> str:
        pods = self.replicas[0].namespace
        elsewhere = f" (pods of namespace {pods})" if pods != self.namespace else ""
        return f"{self.namespace}/{self.name}{elsewhere}"


class Leader(NamedTuple):
    """The replica to ask for what the whole instance knows."""

    replica: Replica
    is_certain: bool
    """Whether the Lease names this replica."""


async def every(client: Client, namespace: str = "") -> list[Instance]:
    """All instances of a namespace, or of all readable ones; sorted.

    Raises NoInstance if the user may read no pods, and `errors.RequestError`.
    """
    return grouped(await _pods(client, namespace))


def grouped(pods: Iterable[object]) -> list[Instance]:
    """The instances of these pods, sorted. Replicas are of one namespace: a pod of another one that
    names the same ContourConfiguration may be anybody's, and would get what the others are asked.
    """
    found: defaultdict[tuple[str, str, str], list[Replica]] = defaultdict(list)
    for it in filter(None, map(_replica, pods)):
        place = it.flags.get("namespace") or it.namespace
        name = it.flags.get("contour-config-name") or "contour"
        found[place, name, it.namespace].append(it)
    return [Instance(*key[:2], tuple(sorted(it))) for key, it in sorted(found.items())]


async def one(client: Client, namespace: str = "", name: str = "") -> Instance:
    """The only instance, or the named one. Raises NoInstance if there is not exactly one."""
    where = f"in namespace {namespace}" if namespace else "in this cluster"
    instances = await every(client, namespace)
    found = [it for it in instances if name in {"", it.name}]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(map(str, found))
        raise NoInstance(
            f"there are several instances {where}: {names}; choose one with --namespace and "
            "--instance"
        )
    if instances:
        names = ", ".join(map(str, instances))
        raise NoInstance(f"there is no instance {name} {where}; there is {names}")
    raise NoInstance(f"there is no pod of `contour serve` {where} (with the labels {LABELS})")


async def leader(client: Client, of: Instance) -> Leader:
    """The leader, or a ready replica if the leader is not known. Raises NoInstance if no replica is
    ready."""
    ready = [it for it in of.replicas if it.is_ready]
    if not ready:
        names = ", ".join(it.pod for it in of.replicas)
        raise NoInstance(f"no replica of the instance {of} is ready: {names}")
    flags = ready[0].flags
    if "disable-leader-election" in flags:
        return Leader(ready[0], is_certain=True)
    holder = await _holder(
        client,
        flags.get("leader-election-resource-namespace") or of.namespace,
        flags.get("leader-election-resource-name") or "leader-elect",
    )
    for it in ready:
        if holder and it.pod[:_HOST_NAME] == holder.rpartition("_")[0]:
            return Leader(it, is_certain=True)
    return Leader(ready[0], is_certain=len(of.replicas) == 1)


async def debug_port(client: Client, of: Instance, replica: Replica) -> int:
    """The debug port of a replica, from its configuration or its arguments."""
    (kind,) = (it for it in IN_CLUSTERS if it.kind == "ContourConfiguration")
    resource = Resource(kind.group, kind.versions[0], kind.plural)
    try:
        found: object = await client.get(resource.path(of.namespace, of.name))
    except errors.Refused as error:
        if error.code not in {403, 404}:
            raise
        found = {}
    port = raw.at(found, "spec", "debug", "port")
    return (
        port if isinstance(port, int) and port else int(replica.flags.get("debug-http-port", 6060))
    )


_HOST_NAME = 63
"""The greatest length of a pod's host name, which is the beginning of the pod's name; a Lease
holder's name begins with it."""


async def _pods(client: Client, namespace: str) -> list[object]:
    chosen = {"labelSelector": LABELS}
    try:
        return raw.items((await client.list_page(PODS.path(namespace), chosen)).get("items"))
    except errors.Refused as error:
        if error.code != 403 or namespace:
            raise
    own = await client.namespace()
    try:
        found = raw.items((await client.list_page(PODS.path(own), chosen)).get("items"))
    except errors.Refused as error:
        if error.code != 403:
            raise
        found = []
    if not found:
        raise NoInstance(
            f"the user of this kubeconfig may not list the pods of all namespaces, and there is no "
            f"instance in namespace {own}: name that of the instance with --namespace"
        )
    return found


def _replica(pod: object) -> Replica | None:
    """None for pods of something else, such as the Job that makes certificates."""
    metadata, spec = raw.mapping(raw.at(pod, "metadata")), raw.mapping(raw.at(pod, "spec"))
    for container in raw.items(spec.get("containers")):
        arguments = [str(it) for it in raw.items(raw.at(container, "args"))]
        if arguments[:1] == ["serve"] and "deletionTimestamp" not in metadata:
            return Replica(
                str(metadata.get("namespace")),
                str(metadata.get("name")),
                dict(_flags(arguments[1:])),
                _is_ready(pod),
                str(raw.at(container, "image")),
            )
    return None


def _is_ready(pod: object) -> bool:
    conditions = raw.items(raw.at(pod, "status", "conditions"))
    told = {raw.at(it, "type"): raw.at(it, "status") for it in conditions}
    return told.get("Ready") == "True"


def _flags(arguments: list[str]) -> Iterator[tuple[str, str]]:
    """`--name=value`, `--name value`, `--name`."""
    for it, after in pairwise([*arguments, "--"]):
        name, equals, value = it.removeprefix("--").partition("=")
        if it.startswith("--"):
            yield name, value if equals or after.startswith("--") else after


async def _holder(client: Client, namespace: str, name: str) -> str:
    """The holder of a Lease; empty if there is none, or if it may not be read."""
    try:
        found: object = await client.get(LEASES.path(namespace, name))
    except errors.Refused as error:
        if error.code not in {403, 404}:
            raise
        return ""
    return str(raw.at(found, "spec", "holderIdentity") or "")
