"""Where requests for the hosts of Ingress and HTTPProxy arrive, as both of these APIs ask it.

They know nothing of Gateways, one of which may decide the ports of their fleet; who does, answers
(`listeners`).
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds.meta import NamespacedName
from dag import nodes
from dag.engine.view import OpenQuery, View
from dag.problems import Problem, unplaced
from dag.problems.places import Place


class MissingListener(NamedTuple):
    """Why hosts of Ingress and HTTPProxy have no place on a protocol."""

    gateway: NamespacedName | None
    """The one in charge."""
    is_ambiguous: bool
    """It has several listeners, none on the usual port; else it has none."""


secure_listener: OpenQuery[tuple[()], nodes.Listener | None] = OpenQuery("secure_listener")
"""Where TLS of Ingress and HTTPProxy arrives; None if a Gateway leaves it open."""

missing_listener: OpenQuery[nodes.Protocol, MissingListener | None] = OpenQuery("missing_listener")
"""Why there is no listener for HTTP or HTTPS; None if there is one."""

gateway_tls: OpenQuery[str, nodes.Tls | None] = OpenQuery("gateway_tls")
"""How a Gateway terminates TLS for a host of HTTPProxy, in place of its own; None if none does."""

has_classic_hosts: OpenQuery[nodes.ListenerKey, bool] = OpenQuery("has_classic_hosts")
"""Whether hosts of Ingress or HTTPProxy live on a listener."""


def problems(view: View, place: Place, protocol: nodes.Protocol, who: str) -> Iterator[Problem]:
    """What is told where hosts have no listener; `who` is what follows: `the host has` none."""
    missing = view.ask(missing_listener, protocol)
    if missing is None:
        return
    if missing.is_ambiguous:
        yield unplaced.several_listeners(place, protocol, missing.gateway, who)
    else:
        yield unplaced.no_listener(place, protocol, missing.gateway)
