"""The runtime of a fleet (RTDS): keys of users, and limits that Envoy reads from there.

It is one layer, which every Envoy requests before anything else. The bootstrap's layer takes
precedence over it. A fleet without settings has an empty layer, because an Envoy that starts waits
for it.
"""

from envoy.service.runtime.v3 import rtds_pb2

from contour.envoy import encoding, extending, names
from contour.envoy.credentials import Pieces
from contour.envoy.fleets import FleetKey
from contour.xds import resources
from dag import listeners
from dag.configuration import settings
from dag.engine.view import Kept, View, query

_CYCLE = "http.max_requests_per_io_cycle"


@query
def layer(view: View, key: FleetKey) -> Pieces:
    """The layer of a fleet."""
    given = view.ask(settings.runtime, ())
    result = rtds_pb2.Runtime(name=names.RUNTIME.name)
    result.layer.update(dict(given.values))
    if given.requests_per_cycle is not None:
        result.layer[_CYCLE] = given.requests_per_cycle
    if given.connections_per_listener is not None:
        for it in view.ask(listeners.listeners, key.fleet):
            result.layer[_connections(it.name)] = given.connections_per_listener
    return (resources.Change(names.RUNTIME, "", resources.part(encoding.encoded(result))),)


def _connections(listener: str) -> str:
    return f"envoy.resource_limits.listener.{listener}.connection_limit"


KEPT = (Kept(layer, extending.FLEETS),)
PUBLISHED = (layer,)
