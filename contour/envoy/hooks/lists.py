"""The question of the hook Translation, about all clusters and Secrets of a fleet, and the
difference of an answer from it.

The lists are long and an answer repeats them, so only the difference of an answer is kept: what is
new or changed. A cluster or Secret that the answer leaves out is in the difference with its name
alone; for Envoy that is a cluster without endpoints.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from envoy.config.bootstrap.v3 import bootstrap_pb2
from envoy.config.cluster.v3 import cluster_pb2 as pb

from contour.envoy import encoding
from contour.envoy.hooks import secrets
from contour.xds import resources

MOST_BYTES: Final = 128 << 10
"""The size limit of a cluster that an extension has changed or added."""
_OURS: Final = re.compile(r".+/.+/[0-9a-f]{10}")
"""The names of our own clusters (`contour.envoy.names`)."""
_DNS: Final = frozenset({pb.Cluster.STRICT_DNS, pb.Cluster.LOGICAL_DNS})
Difference = bootstrap_pb2.Bootstrap.StaticResources
"""How a difference is encoded."""


class Lists(NamedTuple):
    """What one question is about, by name, in canonical form."""

    clusters: Mapping[str, bytes] = {}
    secrets: Mapping[str, bytes] = {}
    """As the extension sees them: without private keys, unless it is to have them."""

    def __repr__(self) -> str:
        return f"<{len(self.clusters)} clusters, {len(self.secrets)} Secrets>"


EMPTY: Final = Lists()


def difference(asked: Lists, answer: Lists) -> bytes | None:
    """The difference of an answer, encoded; None if there is none. It is sorted by name, since the
    order of an answer means nothing."""
    result = Difference()
    for name, body in _different(asked.clusters, answer.clusters):
        result.clusters.add(name=name).MergeFromString(body)
    for name, body in _different(asked.secrets, answer.secrets):
        result.secrets.add(name=name).MergeFromString(body)
    return encoding.encoded(result) if result.clusters or result.secrets else None


def _different(
    asked: Mapping[str, bytes], answer: Mapping[str, bytes]
) -> Iterator[tuple[str, bytes]]:
    """Names and bodies; the body is empty if the answer leaves the resource out."""
    found = {name: body for name, body in answer.items() if asked.get(name) != body}
    found |= dict.fromkeys(asked.keys() - answer.keys(), b"")
    yield from sorted(found.items())


def without_private_parts(body: bytes) -> bytes:
    """A difference as it may be stored on disk. Secrets that are unusable without private parts are
    not served from there."""
    found = Difference.FromString(body)
    for it in found.secrets:
        secrets.strip(it)
    return encoding.encoded(found)


class MayRemove(NamedTuple):
    """What an answer may leave out."""

    clusters: bool = False
    secrets: bool = False


class Checked(NamedTuple):
    """A difference that has been checked."""

    clusters: Mapping[str, bytes] = {}
    """The changed and the new clusters, by name."""
    secrets: Mapping[str, bytes | None] = {}
    """The same for Secrets, with their private parts; None: the Secret is not served."""
    refused: tuple[str, ...] = ()
    """What is not served of it, and why."""
    is_taken: bool = True
    """Whether the answer is used at all."""


def checked(asked: Lists, held: Mapping[str, bytes], body: bytes, may_remove: MayRemove) -> Checked:
    """A difference without what must not be served; `held` are the Secrets with their private
    parts. A refused cluster is left without endpoints, and a refused Secret is not served, so that
    nothing uses their unmodified version."""
    found = Difference.FromString(body)
    left_out = (
        *_left_out("cluster", found.clusters, asked.clusters, may=may_remove.clusters),
        *_left_out("Secret", found.secrets, asked.secrets, may=may_remove.secrets),
    )
    if left_out:
        return Checked(refused=left_out, is_taken=False)
    changed: dict[str, bytes] = {}
    refused: list[str] = []
    for it in found.clusters:
        before = asked.clusters.get(it.name)
        why = next(_refusals(it, before), None)
        if why is None:
            _write_patience(it)
            changed[it.name] = encoding.encoded(it)
            continue
        refused.append(_refused("cluster", it.name, why, is_new=before is None))
        if before is not None:
            changed[it.name] = encoding.encoded(pb.Cluster(name=it.name))
    taken = secrets.taken(found.secrets, held)
    refused += (
        _refused("Secret", name, why, is_new=name not in held) for name, why in taken.refused
    )
    return Checked(changed, taken.secrets, tuple(refused))


def _refused(kind: str, name: str, why: str, *, is_new: bool) -> str:
    return f"{'adds' if is_new else 'changes'} the {kind} {name[:200]!r} {why}"


def _left_out(
    kind: str,
    found: Iterable[pb.Cluster] | Iterable[secrets.Secret],
    asked: Mapping[str, bytes],
    *,
    may: bool,
) -> Iterator[str]:
    """The refusal if an answer leaves out something without permission."""
    gone = [it.name for it in found if it.name in asked and it == type(it)(name=it.name)]
    if gone and not may:
        more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
        yield f"leaves out the {kind} {gone[0][:200]!r}{more}"


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
    """The part of a cluster that an extension has changed, in place of ours, or added."""
    found = pb.Cluster.FromString(body)
    is_eds = found.type == pb.Cluster.EDS
    return resources.Part(
        body,
        resources.digest(body),
        ours.needs if ours is not None and is_eds else (),
        ours.origins if ours is not None else (),
        warms=found.type not in _DNS or found.wait_for_warm_on_init.value,
        health_checked=bool(found.health_checks),
    )
