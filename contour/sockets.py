"""Socket options of an Envoy with exclusive ports: they stay as they were at its start.

On one machine, two instances that listened on the same port would each get half of the requests, so
ports are exclusive there. A changed option needs a new socket, which Envoy cannot open beside the
old one. Where ports are not exclusive, as in a pod, a changed option takes effect at once.
"""

from dag import defaults, listeners, tables
from dag.engine.incremental import Engine
from dag.gateway import clientports


def hold(engine: Engine) -> None:
    """Fixes the options as they are now; statuses say that later changes need a restart."""
    found = engine.answer(defaults.edge, ())
    if found is not None:
        engine.write(tables.SOCKET_OPTIONS, (), (found.tos, found.traffic_class))
        for key in [key for key, _ in engine.answers(listeners.listener)]:
            asked = engine.answer(clientports.wanted, key)
            if asked is not None:
                engine.write(tables.HELD_SOCKETS, key, clientports.options(asked.sockets))
        engine.settle()
