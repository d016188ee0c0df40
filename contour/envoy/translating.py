"""The tracked queries behind clusters that extensions change or add (the hook Translation).

All clusters of a fleet are one question: that is the contract of the hook. Servers remember what
they were asked about hosts and listeners, so those questions are part of it, too, and it is asked
again when one of them has been answered. What the answer comes to is written as rows by the
controller, one for each cluster, so that a host depends on its own clusters alone.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from contour.envoy import extending, routing
from contour.envoy.credentials import FleetKey, Pieces
from contour.envoy.hooks import lists, questions
from contour.envoy.hooks.lists import Lists
from contour.envoy.hooks.questions import ClusterName, Question, Reply, Told, Translated
from contour.xds import resources
from dag import nodes
from dag.configuration import settings
from dag.engine.view import Index, Kept, View, query


class _Wanted(NamedTuple):
    """A cluster as the objects want it."""

    name: str
    digest: bytes
    body: bytes


class _Remembered(NamedTuple):
    """A server of a fleet that has been asked about a host or listener."""

    fleet: str
    server: str


def _named(key: routing.ClusterKey, found: resources.Change) -> Iterable[tuple[str, _Wanted]]:
    if found.value is not None:
        yield key.fleet, _Wanted(found.name.name, found.value.digest, found.value.body)


def _answered(
    key: nodes.HostKey | questions.TemplateKey,
    found: questions.Shaped | questions.ShapedListener,
) -> Iterable[tuple[_Remembered, bytes]]:
    for it in found.answered:
        yield _Remembered(key.fleet, it.server), it.key


WANTED: Index[str, _Wanted] = Index("wanted clusters", routing.wanted_cluster, _named)
HOSTS: Index[_Remembered, bytes] = Index("answered for hosts", questions.shaped, _answered)
LISTENERS: Index[_Remembered, bytes] = Index(
    "answered for listeners", questions.shaped_listener, _answered
)


@dataclass(slots=True)
class _State:
    """A fleet on its way through the extensions."""

    clusters: Lists
    digest: bytes
    changed: dict[str, bytes] = field(default_factory=dict)
    covered: frozenset[bytes] = frozenset()
    asked: list[Question] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    silent: list[Told] = field(default_factory=list)
    is_whole: bool = True
    is_stopped: bool = False
    """An extension that may not be passed over has not answered."""


class _Listed(NamedTuple):
    """All clusters of a fleet as the objects want them."""

    digest: bytes
    names: frozenset[str]
    clusters: Lists


@query
def listed(view: View, key: FleetKey) -> _Listed:
    """All clusters of a fleet: the same for as long as none comes or goes."""
    wanted = sorted(view.bucket(WANTED, key.fleet))
    digest = resources.digest(b"".join(it.digest for it in wanted))
    names = frozenset(it.name for it in wanted)
    return _Listed(digest, names, Lists({it.name: it.body for it in wanted}))


@questions.translated.answer
def translated(view: View, key: FleetKey) -> Translated | None:
    """The clusters of a fleet as extensions want them."""
    if not view.ask(questions.is_translated, ()):
        return None
    wanted = view.ask(listed, key)
    state = _State(wanted.clusters, wanted.digest)
    for server in view.ask(settings.hook_servers, ()):
        remembered = _remembered(view, _Remembered(key.fleet, server.name))
        state.covered |= remembered
        if "Translation" in server.hooks and not state.is_stopped:
            _pass(view, server, remembered, state)
    return Translated(
        wanted.names,
        state.changed,
        state.covered,
        tuple(state.asked),
        tuple(state.told),
        tuple(state.silent),
        state.is_whole,
        not state.is_stopped,
        routing.authors(view),
    )


def _remembered(view: View, at: _Remembered) -> frozenset[bytes]:
    """The other questions that an extension has answered."""
    return view.bucket(HOSTS, at) | view.bucket(LISTENERS, at)


def _pass(
    view: View, server: nodes.HookServer, remembered: frozenset[bytes], state: _State
) -> None:
    """Takes the fleet through one extension."""
    about = resources.digest(b"".join((state.digest, *sorted(remembered))))
    question = Question(server.name, "Translation", about, lists=state.clusters)
    state.asked.append(question)
    reply = view.read(questions.REPLIES, question.key)
    if not isinstance(reply, Reply):
        state.is_whole = False
        state.is_stopped = reply is None or not server.fail_open
        if reply is not None:
            state.silent.append(Told(server.name, reply.why))
    elif reply.body is not None:
        _take(server, state, reply.body)


def _take(server: nodes.HookServer, state: _State, body: bytes) -> None:
    found = lists.checked(state.clusters, body, may_remove=server.may_remove_clusters)
    state.told += (Told(server.name, it) for it in found.refused)
    if not found.is_taken:
        state.silent += (Told(server.name, it) for it in found.refused)
        state.is_whole, state.is_stopped = False, not server.fail_open
        return
    state.changed |= found.changed
    clusters = dict(sorted({**state.clusters.clusters, **found.changed}.items()))
    state.clusters = Lists(clusters)
    state.digest = resources.digest(state.digest + body)


@query
def added_cluster(view: View, key: ClusterName) -> Pieces | None:
    """A cluster that extensions have added."""
    body = view.read(questions.ADDED, key)
    if body is None:
        return None
    part = replace(lists.part(body, None), origins=routing.authors(view))
    return (resources.Change(resources.Name(resources.CLUSTER, key.name), "", part),)


class Known(Container[str]):
    """The clusters that an answer may name; notes which of them extensions have added, and which
    nobody has."""

    def __init__(self, view: View, fleet: str, ours: Iterable[str]) -> None:
        self._view = view
        self._fleet = fleet
        self._ours = set(ours)
        self.added: set[str] = set()
        self._is_translated = view.ask(questions.is_translated, ())
        self.missing: set[str] = set()

    def add(self, ours: Iterable[str]) -> None:
        """These may be named, too."""
        self._ours.update(ours)

    def __contains__(self, name: object) -> bool:
        """Whether the answer may name it."""
        if name in self._ours:
            return True
        if not isinstance(name, str) or not self._is_translated:
            return False
        is_added = self._view.read(questions.ADDED, ClusterName(self._fleet, name)) is not None
        (self.added if is_added else self.missing).add(name)
        return is_added


def lacking(
    view: View, fleet: str, used: Iterable[str], known: Known, answered: Iterable[Question]
) -> tuple[Told, ...] | None:
    """Why what uses these clusters has to wait, as far as it is known; None if it does not have to.

    It waits for clusters of its own that extensions have not answered for, and for clusters that
    its answer names and that may be in the next answer about all clusters.
    """
    if not view.ask(questions.is_translated, ()):
        return None
    passed = [view.read(questions.PASSED, ClusterName(fleet, it)) for it in used]
    is_lacking = any(it is None for it in passed)
    if not is_lacking and not known.missing:
        return None
    progress = view.read(questions.PROGRESS, fleet) or questions.Progress()
    if is_lacking or not all(it.key in progress.covered for it in answered):
        return progress.silent
    return None


INDEXES = (WANTED, HOSTS, LISTENERS)
KEPT = (Kept(questions.translated, extending.FLEETS), Kept(added_cluster, questions.ADDED))
PUBLISHED = (added_cluster, questions.translated)
"""The second one is for who asks."""
