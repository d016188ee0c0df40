"""All clusters and Secrets of a fleet, as the hook Translation is asked about them, and what is
different in an answer.

The lists are long and an answer repeats them, so what is kept of an answer is the difference alone:
what is new or not as it was. A cluster or Secret that the answer leaves out has nothing but its
name there; for Envoy that is a cluster without endpoints.
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
"""Of one cluster that an extension has changed or added."""
_OURS: Final = re.compile(r".+/.+/[0-9a-f]{10}")
"""How our own clusters are called (`contour.envoy.names`)."""
_DNS: Final = frozenset({pb.Cluster.STRICT_DNS, pb.Cluster.LOGICAL_DNS})
Difference = bootstrap_pb2.Bootstrap.StaticResources
"""How a difference is encoded."""


class Lists(NamedTuple):
    """What an extension is asked about at once, by name, in canonical form."""

    clusters: Mapping[str, bytes] = {}
    secrets: Mapping[str, bytes] = {}
    """As the extension sees them: without private keys, unless it is to have them."""

    def __repr__(self) -> str:
        return f"<{len(self.clusters)} clusters, {len(self.secrets)} Secrets>"


EMPTY: Final = Lists()


def difference(asked: Lists, answer: Lists) -> bytes | None:
    """What is different in an answer, encoded; None if nothing is. In the order of the names: the
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
    """Names and bodies; no body where there is none any more."""
    found = {name: body for name, body in answer.items() if asked.get(name) != body}
    found |= dict.fromkeys(asked.keys() - answer.keys(), b"")
    yield from sorted(found.items())


def without_private_parts(body: bytes) -> bytes:
    """A difference as it may be kept on disk. What of it cannot serve without its private parts is
    not served."""
    found = Difference.FromString(body)
    for it in found.secrets:
        secrets.strip(it)
    return encoding.encoded(found)


class MayRemove(NamedTuple):
    """What an answer may leave out."""

    clusters: bool = False
    secrets: bool = False


class Checked(NamedTuple):
    """What a difference comes to."""

    clusters: Mapping[str, bytes] = {}
    """By name: those that are not as they were, and those that are new."""
    secrets: Mapping[str, bytes | None] = {}
    """The same, with their private parts; None where nothing is served."""
    refused: tuple[str, ...] = ()
    """What of it is not served, and why."""
    is_taken: bool = True
    """Whether it is an answer at all."""


def checked(asked: Lists, held: Mapping[str, bytes], body: bytes, may_remove: MayRemove) -> Checked:
    """A difference without what must not be served; `held` are the Secrets with their private
    parts. A cluster that is refused is left without endpoints, and of a Secret nothing is served,
    so that nothing goes there unchanged."""
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
    """That an answer leaves out something without being allowed to."""
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
    """A cluster that an extension has changed, in the place of ours, or added."""
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
