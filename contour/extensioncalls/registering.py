"""What was served when an extension was registered counts as a last good state.

Registering an extension that does not answer yet must not close hosts that have been served. So
rows with their states are written when a hook is registered, before anything else is published.
Hosts that are added later, or at the same moment, have to wait for answers. At the start of the
process nothing was served.
"""

from contour.envoy import listening, policy, routing
from contour.envoy.hooks import questions
from contour.envoy.hooks.questions import Good, GoodListener, TemplateKey
from contour.extensioncalls.translations import Translations
from dag import hookservers, hosts, listeners, nodes
from dag.engine.incremental import Engine
from dag.engine.view import Change


class Registrations:
    """Between the graph and its rows of last good states."""

    def __init__(self, engine: Engine, translations: Translations) -> None:
        self._engine = engine
        self._translations = translations
        self._has_gained = False
        self._hosts: set[nodes.HostKey] = set()
        self._listeners: set[nodes.ListenerKey] = set()

    def note(self, change: Change) -> bool:
        """Takes a changed answer of the graph. Returns whether rows may have to be written."""
        if change.query is hookservers.servers:
            self._has_gained = bool(_gained(change.old, change.new))
        elif change.query is routing.host and self._is_closed(change):
            self._hosts.add(change.key)
        elif change.query is listening.listener and change.old and not change.new:
            self._listeners.add(change.key)
        else:
            return False
        return True

    def _is_closed(self, change: Change) -> bool:
        """Whether a host that was served is no longer served."""
        found = self._engine.answer(questions.shaped, change.key)
        return bool(change.old) and found is not None and found.served is None

    def flush(self) -> None:
        """Writes the rows, if a hook has been registered."""
        closed, self._hosts = self._hosts, set()
        shut, self._listeners = self._listeners, set()
        has_gained, self._has_gained = self._has_gained, False
        if not has_gained:
            return
        for key in closed:
            self._keep_host(key)
        for at in shut:
            self._keep_listener(at)
        for fleet, found in self._engine.answers(questions.translated):
            if found is not None and not found.is_finished:
                self._translations.begin(fleet.fleet, found)

    def _keep_host(self, key: nodes.HostKey) -> None:
        node = self._engine.answer(hosts.virtual_host, key)
        if node is not None and self._engine.row(questions.GOOD, key) is None:
            self._engine.write(questions.GOOD, key, Good(node, None))

    def _keep_listener(self, at: nodes.ListenerKey) -> None:
        node = self._engine.answer(listeners.listener, at)
        plain = self._engine.answer(policy.downstream, ())
        for key in (TemplateKey(*at), TemplateKey(*at, is_quic=True)):
            is_known = self._engine.row(questions.GOOD_LISTENERS, key) is not None
            if node is not None and plain is not None and not is_known:
                self._engine.write(questions.GOOD_LISTENERS, key, GoodListener(node, plain))


def _gained(
    old: tuple[nodes.HookServer, ...] | None, new: tuple[nodes.HookServer, ...] | None
) -> bool:
    """Whether hooks are called that were not called before; not so at the start."""
    if old is None or new is None:
        return False
    before = {hook for it in old for hook in it.hooks}
    return any(it.hooks - before for it in new)
