"""The revisions of an EnvoyConfig, and which one is served.

A revision is one content that an EnvoyConfig had, and whether Envoys accepted it. The newest one
that no Envoy has refused is served. A refused one stays refused (it is *tainted*), even if the
EnvoyConfig goes back to it: only deleting the revision, or other content, changes that. Refusals
count as soon as they are received, whether or not the taint has been written to an object yet.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, NamedTuple

from crds.meta import NamespacedName
from crds.records import replace
from dag.configuration import settings
from dag.engine.view import Table, View, query
from dag.rawconfig import claims, references
from dag.rawconfig.claims import NodeKey
from dag.rawconfig.content import READINGS, Content, Reading, Unread

MOST_REVISIONS = 10
"""The most revisions that are kept of one EnvoyConfig."""

CacheState = Literal["InSync", "Rollback", "RollbackFailed"]


@dataclass(frozen=True, slots=True)
class Revision:
    """A content that an EnvoyConfig had."""

    content: Content | Unread
    taint: str = ""
    """Why Envoy refuses it, in Envoy's words; empty if none does."""
    is_taken: bool = False
    """Whether an Envoy has accepted all of it that it uses."""
    name: str = ""
    """The name of the EnvoyConfigRevision; empty if there is none (yet)."""


class EditionKey(NamedTuple):
    """A version that the Envoys of a node ID were served."""

    namespace: str
    node: str
    version: str


@dataclass(frozen=True, slots=True)
class Acknowledgements:
    """What the connected Envoys answer to a version."""

    words: tuple[str, ...] = ()
    """The messages of those that refuse it, sorted, each once."""
    refusing: int = 0
    """How many refuse it."""
    connected: int = 0
    """How many are connected."""
    is_taken: bool = False
    """Whether one has accepted all of it that it uses."""
    is_everyone: bool = True
    """Whether the Envoys of all replicas are counted."""


HISTORY: Table[NamespacedName, tuple[Revision, ...]] = Table("revisions")
"""By EnvoyConfig: its revisions as they were last written down, the newest last."""

ACKNOWLEDGEMENTS: Table[EditionKey, Acknowledgements] = Table("acknowledgements")
"""What Envoys have answered, as long as it may not be in HISTORY."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is served, and why."""

    published: Content | Unread | None
    edition: str
    """A name of what is served; it changes with the revision and with the set of tainted ones."""
    state: CacheState | None
    """None if there is nothing to serve."""
    desired: str
    """The version of what is written."""
    revisions: tuple[Revision, ...]
    """The revisions that there should be, the newest last."""
    missing: tuple[str, ...] = ()
    """What the desired revision refers to that is not there. It waits for that, or is served
    without it."""


@query
def history(view: View, key: NamespacedName) -> tuple[Revision, ...]:
    """The revisions that there should be, the newest last; what is written is the newest. While
    another EnvoyConfig has the node ID, they stay as they are."""
    reading = view.read(READINGS, key)
    if reading is None:
        return ()
    node = NodeKey(key.namespace, reading.node)
    known = [it for it in view.read(HISTORY, key) or () if it.content.node == reading.node]
    if view.ask(claims.owner, node) != key:
        return tuple(known)
    if reading.content is not None:
        known = _with_newest(known, reading.content)
    return _bounded([_with_acknowledgements(view, node, it) for it in known])


@query
def choice(view: View, key: NamespacedName) -> Choice | None:
    """What is served of an EnvoyConfig; None if it does not own its node ID."""
    reading = view.read(READINGS, key)
    if reading is None or view.ask(claims.owner, NodeKey(key.namespace, reading.node)) != key:
        return None
    found = view.ask(history, key)
    desired = found[-1] if reading.content is not None else None
    missing = view.ask(references.missing, key) if desired is not None else ()
    is_waiting = bool(missing) and desired is not None and not desired.is_taken
    served = _served(found[:-1] if is_waiting else found)
    if desired is not None and is_waiting and (served is None or served.taint):
        served = desired
    return Choice(
        served.content if served else None,
        _edition(served, found),
        _state(reading, served, found),
        reading.version,
        found,
        missing,
    )


def _with_newest(known: Sequence[Revision], content: Content) -> list[Revision]:
    same = next((it for it in known if it.content.version == content.version), Revision(content))
    return [*(it for it in known if it is not same), replace(same, content=content)]


def _with_acknowledgements(view: View, node: NodeKey, found: Revision) -> Revision:
    acks = view.read(ACKNOWLEDGEMENTS, EditionKey(*node, found.content.version))
    if acks is None:
        return found
    is_taken = found.is_taken or acks.is_taken
    taint = found.taint or ("; ".join(acks.words) if _taints(view, acks, is_taken=is_taken) else "")
    return replace(found, taint=taint, is_taken=is_taken)


def _taints(view: View, acks: Acknowledgements, *, is_taken: bool) -> bool:
    """Whether refusals taint a version. One is enough, unless the configuration demands all, or the
    refusal says that a port of one machine is in use. That never taints what an Envoy has taken:
    the last Envoy that refuses it may stay alone while others start again."""
    if acks.is_everyone and acks.refusing and acks.refusing >= acks.connected:
        return not is_taken or not all(map(is_local, acks.words))
    wanted = view.ask(settings.discovery, ())
    if wanted is not None and wanted.taints == "All":
        return False
    return any(not is_local(it) for it in acks.words)


def is_local(words: str) -> bool:
    """Whether a refusal is about the machine that Envoy runs on, not the configuration."""
    return "cannot bind" in words


def _bounded(found: Sequence[Revision]) -> tuple[Revision, ...]:
    """The newest revisions, as many as are kept; also the one that is served, and the one that
    would be if the newest were refused."""
    needed, rest = (_served(found), _served(found[:-1])), list(found)
    for it in found:
        if len(rest) <= MOST_REVISIONS:
            break
        if it not in needed:
            rest.remove(it)
    return tuple(rest)


def _served(found: Sequence[Revision]) -> Revision | None:
    """The newest untainted revision; else the newest that was accepted once; else the newest."""
    untainted = [it for it in found if not it.taint]
    taken = [it for it in found if it.is_taken]
    every = untainted or taken or list(found)
    return every[-1] if every else None


def _state(
    reading: Reading, served: Revision | None, found: Sequence[Revision]
) -> CacheState | None:
    if served is None:
        return None
    if served.taint:
        return "RollbackFailed"
    is_newest = reading.content is not None and served is found[-1]
    return "InSync" if is_newest else "Rollback"


def _edition(served: Revision | None, found: Iterable[Revision]) -> str:
    if served is None:
        return ""
    tainted = sorted(it.content.version for it in found if it.taint)
    if not tainted:
        return served.content.version
    digest = blake2b(" ".join(tainted).encode(), digest_size=4).hexdigest()
    return f"{served.content.version}-{digest}"
