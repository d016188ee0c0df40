"""What an Envoy that shares its ports with nobody keeps from its start: the options of its sockets.

On one machine two instances that listened on one port would each get half of the requests, so ports
are exclusive there; and another option needs another socket, which Envoy cannot open beside the old
one. Where they are not exclusive, as in a pod, a change of the options acts at once.
"""

from dag import defaults, listeners, tables
from dag.engine.incremental import Engine
from dag.gateway import clientports


def hold(engine: Engine) -> None:
    """From now on they are as they are; later wishes are told to wait for the next start."""
    found = engine.answer(defaults.edge, ())
    if found is not None:
        engine.write(tables.SOCKET_OPTIONS, (), (found.tos, found.traffic_class))
        for key in [key for key, _ in engine.answers(listeners.listener)]:
            asked = engine.answer(clientports.wanted, key)
            if asked is not None:
                engine.write(tables.HELD_SOCKETS, key, clientports.options(asked.sockets))
        engine.settle()
