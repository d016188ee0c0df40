"""All clusters of a fleet, as the hook Translation is asked about them, and what is different in
an answer.

The lists are long and an answer repeats them, so what is kept of an answer is the difference alone:
the clusters that are new or not as they were. One that the answer leaves out has nothing but its
name there; for Envoy that is a cluster without endpoints.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from envoy.config.bootstrap.v3 import bootstrap_pb2
from envoy.config.cluster.v3 import cluster_pb2 as pb

from contour.envoy import encoding
from contour.xds import resources

MOST_BYTES: Final = 128 << 10
"""Of one cluster that an extension has changed or added."""
_OURS: Final = re.compile(r".+/.+/[0-9a-f]{10}")
"""How our own clusters are called (`contour.envoy.names`)."""
_DNS: Final = frozenset({pb.Cluster.STRICT_DNS, pb.Cluster.LOGICAL_DNS})


class Lists(NamedTuple):
    """What an extension is asked about at once."""

    clusters: Mapping[str, bytes]
    """By name, in the order of the names; in canonical form."""

    def __repr__(self) -> str:
        return f"<{len(self.clusters)} clusters>"


EMPTY: Final = Lists({})


def difference(asked: Lists, clusters: Mapping[str, bytes]) -> bytes | None:
    """What is different in an answer, encoded (as static resources of a bootstrap); None if
    nothing is. In the order of the names: the order of an answer means nothing."""
    result = bootstrap_pb2.Bootstrap.StaticResources()
    for name in sorted(asked.clusters.keys() | clusters.keys()):
        if name not in clusters:
            result.clusters.add(name=name)
        elif clusters[name] != asked.clusters.get(name):
            result.clusters.add().MergeFromString(clusters[name])
    return encoding.encoded(result) if result.clusters else None


class Checked(NamedTuple):
    """What a difference comes to."""

    changed: Mapping[str, bytes]
    """By name: the clusters that are not as they were, and those that are new."""
    refused: tuple[str, ...] = ()
    """What of it is not served, and why."""
    is_taken: bool = True
    """Whether it is an answer at all."""


def checked(asked: Lists, body: bytes, *, may_remove: bool) -> Checked:
    """A difference without what must not be served. A cluster that is refused is left without
    endpoints, so that nothing goes there unchanged."""
    found = bootstrap_pb2.Bootstrap.StaticResources.FromString(body).clusters
    named = [it.name for it in found if it == pb.Cluster(name=it.name)]
    left_out = [it for it in named if it in asked.clusters]
    if left_out and not may_remove:
        more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        return Checked({}, (f"leaves out the cluster {left_out[0][:200]!r}{more}",), is_taken=False)
    changed: dict[str, bytes] = {}
    refused: list[str] = []
    for it in found:
        before = asked.clusters.get(it.name)
        why = next(_refusals(it, before), None)
        if why is None:
            _write_patience(it)
            changed[it.name] = encoding.encoded(it)
            continue
        verb = "adds" if before is None else "changes"
        refused.append(f"{verb} the cluster {it.name[:200]!r} {why}")
        if before is not None:
            changed[it.name] = encoding.encoded(pb.Cluster(name=it.name))
    return Checked(changed, tuple(refused))


def _refusals(found: pb.Cluster, before: bytes | None) -> Iterator[str]:
    if found.ByteSize() > MOST_BYTES:
        yield f"to {found.ByteSize()} bytes, of which {MOST_BYTES} are allowed"
    if before is None and _OURS.fullmatch(found.name):
        yield "whose name is one of Contour's own"
    if found.type == pb.Cluster.EDS and (
        before is None
        or found.eds_cluster_config != pb.Cluster.FromString(before).eds_cluster_config
    ):
        yield "of type EDS, whose endpoints nobody has"


def _write_patience(target: pb.Cluster) -> None:
    """A name server that is silent must not hold up the other clusters."""
    if target.type in _DNS and not target.HasField("wait_for_warm_on_init"):
        target.wait_for_warm_on_init.value = False


def part(body: bytes, ours: resources.Part | None) -> resources.Part:
    """A cluster that an extension has changed, in the place of ours, or added."""
    found = pb.Cluster.FromString(body)
    is_eds = found.type == pb.Cluster.EDS
    return resources.Part(
        body,
        resources.digest(body),
        ours.needs if ours is not None and is_eds else frozenset(),
        ours.origins if ours is not None else (),
        warms=found.type not in _DNS or found.wait_for_warm_on_init.value,
        health_checked=bool(found.health_checks),
    )
