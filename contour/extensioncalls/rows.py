"""What the controller keeps about hosts and listeners that extensions modify.

Rules know no history, so a last good state is written as a row when the answer for it is finished.
Uses of a question are counted, since several hosts may share one. Nothing here waits for a server.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable
from typing import Protocol, TypeAlias, TypeVar

from contour.envoy.fleets import FleetKey
from contour.envoy.hooks import questions
from contour.envoy.hooks.questions import (
    Question,
    Reply,
    Shaped,
    ShapedListener,
    ShapedStream,
    StreamKey,
    TemplateKey,
    Translated,
)
from contour.extensioncalls.lasting import Lasting
from contour.extensioncalls.registering import Registrations
from contour.extensioncalls.remembering import Memory
from contour.extensioncalls.translations import Translations
from crds.meta import ObjectRef
from dag import hookservers, nodes
from dag.engine.incremental import Engine
from dag.engine.view import Change, Table
from dag.hookservers import Connection


class Questioner(Protocol):
    """Asks extensions (`contour.extensioncalls.asker`)."""

    def want(self, question: Question) -> Reply | None:
        """Asks a question. Returns the reply, if it is known from an earlier time."""

    def drop(self, question: Question) -> None:
        """The question is no longer needed."""

    def doubt(self, question: Question, *, is_refused: bool) -> None:
        """The reply to a question is refused (`is_refused`), or is not refused any more."""

    def connect(self, name: str, found: Connection | None) -> None:
        """Connects to an extension in this way; None: the extension has been removed."""


class Nobody:
    """Asks nothing."""

    def want(self, question: Question) -> Reply | None:
        """It stays open."""

    def drop(self, question: Question) -> None:
        """Does nothing."""

    def doubt(self, question: Question, *, is_refused: bool) -> None:
        """Does nothing."""

    def connect(self, name: str, found: Connection | None) -> None:
        """Does nothing."""


MOST_TOLD = 5
"""Messages about hosts and listeners in the status of one object; the others are only counted."""

Key: TypeAlias = nodes.HostKey | TemplateKey | FleetKey | StreamKey
State: TypeAlias = Shaped | ShapedListener | Translated
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)


class _Waiting(Protocol[V_co]):
    """A host, listener or stream, which may wait for extensions."""

    @property
    def served(self) -> V_co | None:
        """What is served of it meanwhile."""
        ...

    @property
    def is_finished(self) -> bool:
        """Whether it does not wait."""
        ...


class HookRows:
    """The rows about what extensions modify, between the graph and the `Questioner`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.questioner: Questioner = Nobody()
        self._lasting = Lasting()
        self._uses: Counter[bytes] = Counter()
        self._refused: Counter[bytes] = Counter()
        self._told: defaultdict[ObjectRef, dict[Key, str]] = defaultdict(dict)
        self._changed: set[ObjectRef] = set()
        self._translations = Translations(engine)
        self._memory = Memory(engine)
        self._registrations = Registrations(engine, self._translations)

    def outlast(self, lasting: Lasting) -> None:
        """Stores last good states in `lasting`, for the next process."""
        self._lasting = self._translations.lasting = lasting

    def note(self, change: Change) -> bool:
        """Takes a changed answer of the graph. Returns whether rows were written or are to be
        written."""
        if self._registrations.note(change):
            return True
        if change.query is hookservers.connection:
            self.questioner.connect(change.key, change.new)
        if change.query is questions.shaped_stream:
            self._keep_good(questions.GOOD_STREAMS, change.key, change.new)
            self._tell(change.key, change.old, change.new)
            return True
        has_written = change.query is questions.translated
        if change.query is questions.shaped:
            has_written = self._keep_good(questions.GOOD, change.key, change.new)
        elif change.query is questions.shaped_listener:
            has_written = self._keep_good(questions.GOOD_LISTENERS, change.key, change.new)
        elif change.query is questions.translated:
            self._keep_lists(change.key.fleet, change.new)
        else:
            return False
        old: State | None = change.old
        new: State | None = change.new
        self._tell(change.key, old, new)
        if not isinstance(old, Translated) and not isinstance(new, Translated):
            answered = (it.answered if it is not None else () for it in (old, new))
            has_written |= self._memory.note(change.key.fleet, *answered)
        is_known = self._count(old, new)
        self._doubt(old, new)
        return is_known or bool(self._changed) or has_written

    def flush(self) -> None:
        """Writes the messages for objects (once for all changed hosts of an object), the sums of
        answered questions, and what was served before an extension was registered."""
        self._registrations.flush()
        self._memory.flush()
        changed, self._changed = self._changed, set()
        for it in changed:
            self._engine.write(hookservers.UNFINISHED, it, self._texts(it) or None)

    def _keep_good(self, table: Table[K, V], key: K, new: _Waiting[V] | None) -> bool:
        """Writes a last good state. Returns whether an earlier process had stored it. While the
        host or listener waits, the state is stored for the next process."""
        if new is None:
            self._engine.write(table, key, None)
        elif _is_good(new, is_finished=new.is_finished):
            self._engine.write(table, key, new.served)
        if new is None or new.is_finished:
            self._lasting.keep(table, key, None)
            return False
        good = self._engine.row(table, key)
        is_recalled = good is None and (good := self._lasting.recall(table, key)) is not None
        if is_recalled:
            self._engine.write(table, key, good)
        self._lasting.keep(table, key, good)
        return is_recalled

    def _keep_lists(self, fleet: str, new: Translated | None) -> None:
        if self._translations.keep(fleet, new):
            self._memory.cover(fleet)
        elif new is None:
            self._memory.forget(fleet)

    def _count(self, old: State | None, new: State | None) -> bool:
        """Counts the uses of questions. Returns whether a reply was already known."""
        before = {it.key: it for it in (old.asked if old else ())}
        now = {it.key: it for it in (new.asked if new else ())}
        is_known = False
        for key in now.keys() - before.keys():
            self._uses[key] += 1
            if self._uses[key] == 1:
                is_known |= self._begin(now[key])
        for key in before.keys() - now.keys():
            self._uses[key] -= 1
            if not self._uses[key]:
                del self._uses[key]
                self.questioner.drop(before[key])
                self._engine.write(questions.REPLIES, key, None)
        return is_known

    def _doubt(self, old: State | None, new: State | None) -> None:
        """Counts the questions whose replies are refused: these are asked again."""
        for it in new.refused if new else ():
            self._refused[it.key] += 1
            if self._refused[it.key] == 1:
                self.questioner.doubt(it, is_refused=True)
        for it in old.refused if old else ():
            self._refused[it.key] -= 1
            if not self._refused[it.key]:
                del self._refused[it.key]
                self.questioner.doubt(it, is_refused=False)

    def _begin(self, question: Question) -> bool:
        known = self.questioner.want(question)
        if known is not None:
            self._engine.write(questions.REPLIES, question.key, known)
        return known is not None

    def _tell(
        self, key: Key, old: State | ShapedStream | None, new: State | ShapedStream | None
    ) -> None:
        origins = set(new.origins) if new is not None and new.told else set[ObjectRef]()
        for it in set(old.origins if old else ()) - origins:
            if self._told[it].pop(key, None) is not None:
                self._changed.add(it)
            if not self._told[it]:
                del self._told[it]
        for it in origins:
            if new is not None and self._told[it].get(key) != (text := _text(key, new)):
                self._told[it][key] = text
                self._changed.add(it)

    def _texts(self, subject: ObjectRef) -> tuple[str, ...]:
        found = self._told.get(subject, {})
        texts = sorted(set(found.values()))
        more = len(texts) - MOST_TOLD
        return tuple(texts) if more <= 0 else (*texts[:MOST_TOLD], f"and {more} more")


def _is_good(found: object, *, is_finished: bool) -> bool:
    """Whether what is served becomes the last good state."""
    return found.is_good if isinstance(found, Shaped) else is_finished


def _text(key: Key, found: State | ShapedStream) -> str:
    said = questions.silences(found.told)
    if isinstance(found, ShapedStream):
        return f"{_where(key)}: {said}; until then {_until_then(found)}"
    if isinstance(found, Translated):
        end = "" if found.passes else "; until then new and changed ones are not in force"
        return f"clusters and Secrets: {said}{end}"
    if found.is_finished:
        return f"{_where(key)}: {said}"
    return f"{_where(key)}: {said}; until then {_until_then(found)}"


def _where(key: Key) -> str:
    match key:
        case StreamKey(host=host) if host:
            return f"stream of host {host}"
        case StreamKey(listener=listener):
            return f"stream of listener {listener}"
        case nodes.HostKey(host=host):
            return f"host {host}"
        case TemplateKey(listener=listener, is_quic=is_quic):
            return f"listener {listener}{' (HTTP/3)' if is_quic else ''}"
        case FleetKey(fleet=fleet):
            return f"fleet {fleet}"


def _until_then(found: Shaped | ShapedListener | ShapedStream) -> str:
    if isinstance(found, ShapedStream):
        return _UNTIL_THEN["last"] if found.is_last else "its connections are closed"
    if found.served is None:
        is_host = isinstance(found, Shaped)
        return "the host answers 503" if is_host else "it is not opened"
    return _UNTIL_THEN[found.until_then]


_UNTIL_THEN = {
    "last": "it stays as it was last served",
    "held": "each route that it is asked about stays as it was last served",
    "partly": "the routes that refer to its objects answer 503, or stay as they were last served",
    "unmodified": "it is served without these changes",
}
