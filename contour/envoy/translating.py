"""The tracked queries for clusters and Secrets that extensions change or add (the hook
Translation).

The contract of the hook is one question about all clusters and Secrets of a fleet. Servers remember
what they were asked about hosts and listeners, so those questions are part of it, too, and it is
asked again when one of them has been answered. The controller writes the answer as rows, one for
each cluster and Secret, so that a host depends on its own clusters alone. Clusters that extensions
add are served by `patching`, with their patches.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from contour.envoy import credentials, extending, routing
from contour.envoy.credentials import Pieces
from contour.envoy.fleets import FleetKey
from contour.envoy.hooks import lists, passed, questions
from contour.envoy.hooks import secrets as private
from contour.envoy.hooks.lists import Lists
from contour.envoy.hooks.passed import Item
from contour.envoy.hooks.questions import Question, Reply, Told, Translated
from contour.xds import resources
from dag import nodes
from dag.configuration import settings
from dag.engine.view import Index, Kept, View, query


class _Wanted(NamedTuple):
    """A cluster or Secret as the objects want it."""

    name: str
    digest: bytes
    body: bytes
    shown: bytes
    """As extensions see it."""

    def __repr__(self) -> str:
        return f"<{self.name}>"


def _cluster(key: routing.ClusterKey, found: resources.Change) -> Iterable[tuple[str, _Wanted]]:
    if (it := found.value) is not None:
        yield key.fleet, _Wanted(found.name.name, it.digest, it.body, it.body)


def _secret(
    key: credentials.CredentialKey, found: credentials.Shown
) -> Iterable[tuple[str, _Wanted]]:
    name, _, it = found.wanted
    if it is not None:
        yield key.fleet, _Wanted(name.name, it.digest, it.body, found.body)


CLUSTERS: Index[str, _Wanted] = Index("wanted clusters", routing.wanted_cluster, _cluster)
SECRETS: Index[str, _Wanted] = Index("wanted Secrets", credentials.shown, _secret)


class _Listed(NamedTuple):
    """All clusters or Secrets of a fleet as the objects want them, by name."""

    digest: bytes
    bodies: Mapping[str, bytes]
    shown: Mapping[str, bytes]

    def __repr__(self) -> str:
        return f"<{len(self.bodies)}>"


@query
def clusters(view: View, key: FleetKey) -> _Listed:
    """All clusters: the same value for as long as none is added, removed or changed."""
    return _listed(view.bucket(CLUSTERS, key.fleet))


@query
def secrets(view: View, key: FleetKey) -> _Listed:
    """All Secrets: the same value for as long as none is added, removed or changed."""
    return _listed(view.bucket(SECRETS, key.fleet))


def _listed(found: Iterable[_Wanted]) -> _Listed:
    each = sorted(found)
    digest = resources.digest(b"".join(it.digest for it in each))
    bodies, shown = ({it.name: it.body for it in each}, {it.name: it.shown for it in each})
    return _Listed(digest, bodies, shown)


class _All(NamedTuple):
    """All clusters and Secrets of a fleet."""

    digest: bytes
    wanted: Lists
    """The Secrets with their private parts."""
    shown: Lists


@query
def listed(view: View, key: FleetKey) -> _All:
    """All clusters and Secrets of a fleet."""
    one, other = view.ask(clusters, key), view.ask(secrets, key)
    wanted, shown = Lists(one.bodies, other.bodies), Lists(one.bodies, other.shown)
    return _All(resources.digest(one.digest + other.digest), wanted, shown)


@dataclass(slots=True)
class _State:
    """A fleet on its way through the extensions."""

    listed: _All
    digest: bytes
    clusters: dict[str, bytes] = field(default_factory=dict)
    """Those that differ from what the objects want."""
    secrets: dict[str, bytes | None] = field(default_factory=dict)
    asked: list[Question] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    silent: list[Told] = field(default_factory=list)
    refused: list[Question] = field(default_factory=list)
    is_whole: bool = True
    is_stopped: bool = False
    """Whether an extension without `failOpen` has not answered."""

    def held(self) -> Mapping[str, bytes]:
        """The Secrets with their private parts."""
        return _changed(self.listed.wanted.secrets, self.secrets)

    def lists(self, *, is_full: bool) -> Lists:
        """What the next extension is asked about."""
        clusters = _changed(self.listed.wanted.clusters, self.clusters)
        if is_full:
            return Lists(clusters, self.held())
        changed = {
            name: private.without_private_parts(body) if body is not None else None
            for name, body in self.secrets.items()
        }
        return Lists(clusters, _changed(self.listed.shown.secrets, changed))


def _changed(
    before: Mapping[str, bytes], changes: Mapping[str, bytes | None]
) -> Mapping[str, bytes]:
    """The same with these changes, in the order of the names."""
    if not changes:
        return before
    found = {**before, **changes}
    return {name: body for name in sorted(found) if (body := found[name]) is not None}


@questions.translated.answer
def translated(view: View, key: FleetKey) -> Translated | None:
    """The clusters and Secrets of a fleet as extensions want them."""
    if not view.ask(passed.is_translated, ()):
        return None
    found = view.ask(listed, key)
    state = _State(found, found.digest)
    for server in view.ask(settings.hook_servers, ()):
        if "Translation" in server.hooks and not state.is_stopped:
            remembered = view.read(passed.REMEMBERED, passed.Remembered(key.fleet, server.name))
            _pass(view, server, remembered or 0, state)
    return Translated(
        found.wanted,
        state.clusters,
        state.secrets,
        tuple(state.asked),
        (*state.told, *state.silent),
        tuple(state.silent),
        state.is_whole,
        not state.is_stopped,
        passed.authors(view),
        tuple(state.refused),
    )


def _pass(view: View, server: nodes.HookServer, remembered: int, state: _State) -> None:
    """Takes the fleet through one extension."""
    seen = bytes([server.sees_private_keys])
    about = resources.digest(b"".join((state.digest, remembered.to_bytes(16, "big"), seen)))
    asked = state.lists(is_full=server.sees_private_keys)
    question = Question(server.name, "Translation", about, lists=asked)
    state.asked.append(question)
    reply = view.read(questions.REPLIES, question.key)
    if not isinstance(reply, Reply):
        state.is_whole = False
        state.is_stopped = reply is None or not server.fail_open
        if reply is not None:
            state.silent.append(Told(server.name, reply.why))
    elif reply.body is not None:
        _take(server, state, question, reply.body)


def _take(server: nodes.HookServer, state: _State, question: Question, body: bytes) -> None:
    may_remove = lists.MayRemove(server.may_remove_clusters, server.may_remove_secrets)
    found = lists.checked(question.lists, state.held(), body, may_remove)
    if found.refused:
        state.refused.append(question)
    state.told += (Told(server.name, it) for it in found.refused)
    if not found.is_taken:
        state.silent += (Told(server.name, it) for it in found.refused)
        state.is_whole, state.is_stopped = False, not server.fail_open
        return
    state.clusters |= found.clusters
    state.secrets |= found.secrets
    state.digest = resources.digest(state.digest + body)


@query
def added_secret(view: View, key: Item) -> Pieces | None:
    """A Secret that extensions have added."""
    row = view.read(passed.ADDED_SECRETS, key)
    if row is None or row.body is None:
        return None
    part = resources.part(row.body, origins=passed.authors(view))
    return (resources.Change(resources.Name(resources.SECRET, key.name), "", part),)


class Known(Container[str]):
    """The clusters that an answer may name; notes which of the named ones extensions have added,
    and which do not exist."""

    def __init__(self, view: View, fleet: str, ours: Iterable[str]) -> None:
        self._view = view
        self._fleet = fleet
        self._ours = set(ours)
        self.added: set[str] = set()
        self._is_translated = view.ask(passed.is_translated, ())
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
        is_added = self._view.read(passed.ADDED_CLUSTERS, Item(self._fleet, name)) is not None
        (self.added if is_added else self.missing).add(name)
        return is_added


def lacking(
    view: View, fleet: str, used: Iterable[str], known: Known, answered: Iterable[Question]
) -> tuple[Told, ...] | None:
    """Why the user of these clusters has to wait, as far as it is known; None if it does not have
    to.

    It waits for its own clusters until extensions have answered about them, and for clusters that
    its answer names and that may be in the next answer about all clusters.
    """
    if not view.ask(passed.is_translated, ()):
        return None
    rows = [view.read(passed.CLUSTERS, Item(fleet, it)) for it in used]
    is_lacking = any(it is None for it in rows)
    if not is_lacking and not known.missing:
        return None
    servers = {it.name for it in view.ask(settings.hook_servers, ()) if "Translation" in it.hooks}
    mine = (passed.Asked(fleet, it.key) for it in answered if it.server in servers)
    covered = [view.read(passed.COVERED, it) for it in mine]
    if is_lacking or not all(covered):
        return view.read(questions.PROGRESS, fleet) or ()
    return None


INDEXES = (CLUSTERS, SECRETS)
KEPT = (
    Kept(questions.translated, extending.FLEETS),
    Kept(added_secret, passed.ADDED_SECRETS),
)
PUBLISHED = (added_secret, questions.translated)
"""The last one is for the asker of extensions."""
