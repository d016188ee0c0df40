"""Our part of an object's status, ready to be merged into the stored one.

The writer asks for it just before it writes, so it always gets the newest answer. An answer has the
generation of the object from which it was computed, for `observedGeneration`.
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
"""The generation of an object that the graph has judged last; None: the graph has no such
object."""


class Answers:
    """The statuses of the board, with the generations and addresses of a cluster."""

    def __init__(self, board: Board, generation: Generation) -> None:
        self._board = board
        self._generation = generation
        self._addresses: tuple[Address, ...] | None = None  # none was ever known

    def __call__(self, subject: ObjectRef, newest: int) -> Answer | None:
        """Our part of a status; None: the object is gone, or nothing of its status is ours."""
        if not _KINDS[subject.kind].has_status:
            return None
        generation = self._generation(subject)
        if generation is None:
            return None
        if self._board.faults(subject):
            generation = newest  # it was refused, and the status says so; an older one is served
        told = self._board.told.get(subject)
        if told is not None:
            return Answer(self._status(subject, told, generation), generation)
        # An object that has left our scope keeps its status, except for entries of parents that no
        # longer exist.
        entries = "parents" if subject.kind in _ROUTES else "ancestors"
        is_entered = subject.kind in _ROUTES | _POLICIES
        return Answer({entries: []}, generation) if is_entered else None

    def relocate(self, found: Iterable[Address]) -> Collection[ObjectRef]:
        """Takes the addresses for clients. Returns the objects whose statuses contain them."""
        found = tuple(found)
        if found == (self._addresses or ()):
            return ()
        self._addresses = found
        return [it for it in self._board.told if it.kind in _LOCATED]

    def _status(self, subject: ObjectRef, told: statuses.Status, generation: int) -> Raw:
        rendered = rendering.status(told, generation)
        match subject.kind:
            case "Ingress":
                return self._located()
            case "HTTPProxy":
                return {**rendered, **self._located()}
            case _ if isinstance(told, statuses.ContourStatus):
                # The schemas of the other kinds only have conditions.
                return {"conditions": rendered["conditions"]}
            case _:
                return rendered

    def _located(self) -> Raw:
        """Where clients reach Envoy. Until an address is known, one that another controller has
        written stays: names in DNS may be made from it."""
        return {} if self._addresses is None else {"loadBalancer": load_balancer(self._addresses)}


_KINDS = {it.kind: it for it in KINDS.values()}
_ROUTES = frozenset({"HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"})
_POLICIES = frozenset({"BackendTLSPolicy", "XTelemetryPolicy", "XBackend", "XBackendTrafficPolicy"})
_LOCATED = frozenset({"Ingress", "HTTPProxy"})
