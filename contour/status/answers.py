"""What an object's status is to say, ready to be merged into the one that stands there.

For the writer, who asks when it is about to write: so the newest answer is the only one. An answer
names the version of the object that it was computed from, which `observedGeneration` repeats.
"""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from contour.status import rendering
from contour.status.addresses import Address, load_balancer
from contour.status.board import Board
from crds.kinds import KINDS
from crds.meta import ObjectRef
from crds.raw import Raw
from dag import statuses


class Answer(NamedTuple):
    """Our part of a status, and the version of the object it was computed from."""

    status: Raw
    generation: int


Generation = Callable[[ObjectRef], int | None]
"""The version of an object that the graph has judged last; None: it has no such object."""


class Answers:
    """What the board says, with what only a cluster knows: versions and addresses."""

    def __init__(self, board: Board, generation: Generation) -> None:
        self._board = board
        self._generation = generation
        self._addresses: tuple[Address, ...] = ()

    def __call__(self, subject: ObjectRef, newest: int) -> Answer | None:
        """None: it is gone, or nothing of its status is ours."""
        if not _KINDS[subject.kind].has_status:
            return None
        generation = self._generation(subject)
        if generation is None:
            return None
        if self._board.faults(subject):
            generation = newest  # which was refused: it is told so, and an older one serves
        told = self._board.told.get(subject)
        if told is not None:
            return Answer(self._status(subject, told, generation), generation)
        # What has left our scope keeps what it was told, except that nobody speaks for a parent
        # that is no more.
        entries = "parents" if subject.kind in _ROUTES else "ancestors"
        is_entered = subject.kind in _ROUTES | _POLICIES
        return Answer({entries: []}, generation) if is_entered else None

    def relocate(self, found: Iterable[Address]) -> Collection[ObjectRef]:
        """Takes where clients reach what is served; the objects that tell of it."""
        found = tuple(found)
        if found == self._addresses:
            return ()
        self._addresses = found
        return [it for it in self._board.told if it.kind in _LOCATED]

    def _status(self, subject: ObjectRef, told: statuses.Status, generation: int) -> Raw:
        rendered = rendering.status(told, generation)
        match subject.kind:
            case "Ingress":
                return {"loadBalancer": load_balancer(self._addresses)}
            case "HTTPProxy":
                return {**rendered, "loadBalancer": load_balancer(self._addresses)}
            case _ if isinstance(told, statuses.ContourStatus):
                # The schemas of the other kinds have conditions alone.
                return {"conditions": rendered["conditions"]}
            case _:
                return rendered


_KINDS = {it.kind: it for it in KINDS.values()}
_ROUTES = frozenset({"HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"})
_POLICIES = frozenset({"BackendTLSPolicy", "XTelemetryPolicy", "XBackend", "XBackendTrafficPolicy"})
_LOCATED = frozenset({"Ingress", "HTTPProxy"})
