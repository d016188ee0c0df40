"""The rules of leader election by a Lease, for one candidate: who may lead, until when. No I/O.

The rules are those of Kubernetes' leader election: whoever replaces the Lease's record first holds
it, and others take it over when the record has not changed for its duration. What differs is that
a candidate leads only until a deadline of its own, counted from the moment it *asked* for its last
renewal. Others count from a later moment, when they *saw* the renewal, and count longer; so two
candidates never lead at once, however slow the answers and whatever the clocks of the machines
show. (If somebody deletes the Lease, a candidate that starts then knows of no leader: the former
one notices it with one of its next renewals.) Only differences of one monotonic clock are used; the
times in a record are for people.

    leader   ask ──────────── renew_deadline ─────────┤ leads no more
    server       └─► renewed
    other               └─► seen ─────────── duration ──────────────┤ may take over

Elsewhere: requests, their pace, and the work of a leader (`kube.election`).
"""

from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple

from crds import raw
from crds.raw import Raw


class Timing(NamedTuple):
    """Seconds; the defaults are those of Kubernetes' own controllers."""

    duration: float = 15.0
    """How long others wait for the next renewal before they take over."""
    renew_deadline: float = 10.0
    """How long a renewal lasts for the leader itself."""
    retry_period: float = 2.0
    """The time between two attempts."""

    @property
    def write_timeout(self) -> float:
        """How long a write of the leader may take, so that it ends before anybody else leads."""
        return 0.8 * (self.duration - self.renew_deadline)

    @property
    def fault(self) -> str:
        """Why no leader can keep a lease so; empty if one can."""
        if self.duration > self.renew_deadline > self.retry_period > 0:
            return ""
        return (
            "the lease duration must exceed the renew deadline, and this one the retry period, "
            "which must be positive"
        )


KUBERNETES = Timing()


@dataclass(frozen=True, slots=True)
class Record:
    """The content of a Lease; any change of it is a sign of life."""

    holder: str = ""  # empty: nobody
    duration: float = 0.0
    transitions: int = 0
    renewed: str = ""  # for people; compared, never calculated with
    acquired: str = ""
    version: str = ""  # of the object; replaced only if it is still this one
    annotations: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Candidate:
    """A process that wants to lead. Every time is a reading of the same monotonic clock."""

    identity: str  # of this process alone: a restarted one is another
    timing: Timing = KUBERNETES
    annotations: tuple[tuple[str, str], ...] = ()  # what others should know of the leader
    seen: Record | None = field(default=None, init=False)
    _seen_at: float = field(default=-inf, init=False)
    _leads_until: float = field(default=-inf, init=False)

    def is_leader(self, now: float) -> bool:
        """Whether this candidate leads now; then no other one does."""
        return now < self._leads_until

    @property
    def leads_until(self) -> float:
        """When it ceases to lead if nothing is renewed."""
        return self._leads_until

    def holder(self, now: float) -> Record | None:
        """The record of the leader, as far as this candidate knows; None if no leader is known."""
        found = self.seen
        if found is None or not found.holder or self._is_stale(found, now):
            return None
        return found if found.holder != self.identity or self.is_leader(now) else None

    def observe(self, found: Record | None, now: float) -> None:
        """Takes a record that was read. A missing Lease says nothing new of its last holder."""
        if found is None:
            self.seen = replace(self.seen, version="") if self.seen is not None else None
        elif found != self.seen:
            self.seen, self._seen_at = found, now
        if found is not None and found.holder != self.identity:
            self._leads_until = -inf

    def may_take(self, now: float) -> bool:
        """Whether the record may be replaced: free, its own, or unchanged for its duration."""
        found = self.seen
        if found is None or found.holder in ("", self.identity):
            return True
        return self._is_stale(found, now)

    def claim(self, wall_clock: str) -> Record:
        """The record to put in place of the one that was seen."""
        seen = self.seen or Record()
        is_own = seen.holder == self.identity
        return Record(
            holder=self.identity,
            duration=self.timing.duration,
            transitions=seen.transitions + (not is_own and self.seen is not None),
            renewed=wall_clock,
            acquired=seen.acquired if is_own else wall_clock,
            version=seen.version,
            annotations=self.annotations,
        )

    def won(self, record: Record, asked_at: float, now: float) -> None:
        """Takes the record as which the API server accepted the claim sent at `asked_at`."""
        self.observe(record, now)
        if record.holder == self.identity:
            self._leads_until = asked_at + self.timing.renew_deadline

    def resign(self, wall_clock: str) -> Record | None:
        """Ceases to lead at once; returns the record that frees the Lease, if it was held."""
        self._leads_until = -inf
        if self.seen is None or self.seen.holder != self.identity:
            return None
        return replace(self.seen, holder="", duration=1.0, renewed=wall_clock, annotations=())

    def _is_stale(self, found: Record, now: float) -> bool:
        return now >= self._seen_at + max(found.duration, self.timing.duration)


def record(lease: object) -> Record:
    """The record in a Lease; tolerates whatever others wrote into it, or answered in its place."""
    metadata, spec = raw.mapping(raw.at(lease, "metadata")), raw.mapping(raw.at(lease, "spec"))
    annotations = raw.mapping(metadata.get("annotations"))
    transitions, duration = spec.get("leaseTransitions"), spec.get("leaseDurationSeconds")
    return Record(
        holder=str(spec.get("holderIdentity") or ""),
        duration=float(duration) if isinstance(duration, int) else 0.0,
        transitions=transitions if isinstance(transitions, int) else 0,
        renewed=str(spec.get("renewTime") or ""),
        acquired=str(spec.get("acquireTime") or ""),
        version=str(metadata.get("resourceVersion") or ""),
        annotations=tuple(sorted((key, str(it)) for key, it in annotations.items())),
    )


def written(found: Record, namespace: str, name: str) -> Raw:
    """The Lease with this record (coordination.k8s.io/v1)."""
    metadata: Raw = {"name": name, "namespace": namespace}
    if found.version:
        metadata["resourceVersion"] = found.version
    if found.annotations:
        metadata["annotations"] = dict(found.annotations)
    spec: Raw = {
        # Newer API servers refuse an empty name; without a holder, the field is left out.
        "holderIdentity": found.holder or None,
        "leaseDurationSeconds": int(found.duration) or 1,
        "leaseTransitions": found.transitions,
        "renewTime": found.renewed or None,
        "acquireTime": found.acquired or None,
    }
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": {field: value for field, value in spec.items() if value is not None},
    }
