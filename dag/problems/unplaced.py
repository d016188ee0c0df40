"""Problems of hosts for which the Gateway in charge has no listener.

They are the same for HTTPProxy and Ingress: the Gateway decides the ports of a fleet
(`dag.listeners`).
"""

from crds.meta import NamespacedName
from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import Contour, ErrorType


def no_listener(place: Place, protocol: str, gateway: NamespacedName | None) -> Problem:
    """The Gateway in charge has none; ports that the settings name would exist in addition."""
    text = f"not served over {protocol}: {_gateway(gateway)} has no {protocol} listener"
    return place.warning(
        ErrorType.ListenerError, Contour.ErrorIdentifyingListener, f"{text}; {_REMEDY}"
    )


def several_listeners(
    place: Place, protocol: str, gateway: NamespacedName | None, who: str
) -> Problem:
    """The Gateway in charge has several, and it is not clear which one serves hosts.

    `who` is the subject and the verb of the last clause, such as `the host has`.
    """
    text = f"{_gateway(gateway)} has more than one {protocol} listener, none on the usual port"
    return place.error(
        ErrorType.ListenerError, Contour.ErrorIdentifyingListener, f"{text}, so {who} no place"
    )


_REMEDY = "add one, or set spec.envoy.externalPorts of the ContourConfiguration"


def _gateway(name: NamespacedName | None) -> str:
    return f"Gateway {name}" if name is not None else "the Gateway"
