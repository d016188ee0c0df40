"""How the hosts of a listener are spread over resources, as the first settled configuration says.

The mode does not change while the process runs, since a change drains all listeners.
"""

from dag import tables
from dag.configuration import settings
from dag.engine.incremental import Engine

_WITH_HOSTS = ("Ingress", "HTTPProxy", "HTTPRoute", "GRPCRoute")
FEW = 100
"""Up to so many objects with hosts count as few: in one RouteConfiguration, a change costs Envoy 3
ms."""


def fix(engine: Engine) -> None:
    """Keeps the mode of a configuration, if none is kept.

    It is written before any host has read it: a later row would make every host stale.
    """
    if engine.row(tables.ROUTING, ()) is None:
        engine.write(tables.ROUTING, (), engine.ask(settings.routing, ()))


def note_size(engine: Engine) -> None:
    """Notes whether there are few hosts on this machine, until the mode is fixed."""
    is_one_machine = engine.row(tables.HOST_PORTS, ()) is not None
    if is_one_machine and engine.row(tables.ROUTING, ()) is None:
        found = sum(engine.size(tables.BY_KIND[kind]) for kind in _WITH_HOSTS)
        engine.write(tables.BEGAN_SMALL, (), found <= FEW or None)
