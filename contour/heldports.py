"""The ports of this machine that are held by Gateways with Envoys of their own.

The first Gateway that asks for a port gets the usual local port, others get the next free one. A
Gateway keeps its ports until it is removed, so that a new Gateway never moves another. They are
written as rows (`dag.ports.HELD`), since rules know no history.
"""

from dag import listeners, nodes, ports, tables
from dag.engine.incremental import Engine
from dag.engine.view import Change
from dag.fleetnames import DEFAULT_FLEET

_LAST, _FIRST = 65535, 1024


class HeldPorts:
    """What is held by the fleets of one machine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._held: dict[ports.HostPort, int] = {}
        self._shared: dict[nodes.ListenerKey, tuple[bool, int]] = {}  # of the shared fleet
        self._changed: dict[str, tuple[ports.HostPort, ...]] = {}

    def note(self, change: Change) -> bool:
        """Takes a changed answer of the graph. Returns whether there are rows to write."""
        if change.query is listeners.listener and change.key.fleet == DEFAULT_FLEET:
            self._share(change.key, change.new)
        if change.query is not listeners.host_ports:
            return False
        self._changed[change.key] = change.new or ()
        return True

    def _share(self, key: nodes.ListenerKey, found: nodes.Listener | None) -> None:
        self._shared.pop(key, None)
        if found is not None:
            self._shared[key] = found.protocol == "UDP", found.bind_port

    def flush(self) -> None:
        """Writes the changed rows; ports that are no longer needed are freed before new ones are
        chosen."""
        changed, self._changed = self._changed, {}
        wanted = {it for fleet in changed.values() for it in fleet}
        for it in [it for it in self._held if it.fleet in changed and it not in wanted]:
            del self._held[it]
            self._engine.write(ports.HELD, it, None)
        for it in sorted(wanted - self._held.keys()):
            self._held[it] = self._free(it)
            self._engine.write(ports.HELD, it, self._held[it])

    def _free(self, wanted: ports.HostPort) -> int:
        machine = self._engine.row(tables.HOST_PORTS, ())
        chosen = dict(machine.moved + machine.overrides) if machine is not None else {}
        found: int = chosen.get(wanted.port, ports.local_port(wanted.port))
        taken = {(it.is_udp, port) for it, port in self._held.items()}
        taken.update(self._shared.values())
        while (wanted.is_udp, found) in taken:
            found = found + 1 if found < _LAST else _FIRST
        return found
