"""On which listeners requests for hosts of Ingress and HTTPProxy arrive: questions without rules.

Both APIs ask here, for they know nothing of Gateways, one of which may decide the ports of their
fleet. The rules that answer are in `listeners`, which knows the Gateways.
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds.meta import NamespacedName
from dag import nodes
from dag.engine.view import OpenQuery, View
from dag.problems import Problem, unplaced
from dag.problems.places import Place


class MissingListener(NamedTuple):
    """Why hosts of Ingress and HTTPProxy have no listener for a protocol."""

    gateway: NamespacedName | None
    """The Gateway that decides the ports."""
    is_ambiguous: bool
    """The Gateway has several listeners, none of them on the usual port; otherwise it has none."""


secure_listener: OpenQuery[tuple[()], nodes.Listener | None] = OpenQuery("secure_listener")
"""The listener for TLS of Ingress and HTTPProxy; None if the Gateway has no suitable one."""

missing_listener: OpenQuery[nodes.Protocol, MissingListener | None] = OpenQuery("missing_listener")
"""Why there is no listener for HTTP or HTTPS; None if there is one."""

gateway_tls: OpenQuery[str, nodes.Tls | None] = OpenQuery("gateway_tls")
"""How a Gateway terminates TLS for a host of HTTPProxy, in place of its own; None if none does."""

forwards_unread: OpenQuery[str, bool | None] = OpenQuery("forwards_unread")
"""Whether a wildcard, or `*`, forwards TLS connections unread, on the listener of HTTPProxy; None
where it takes none."""

has_classic_hosts: OpenQuery[nodes.ListenerKey, bool] = OpenQuery("has_classic_hosts")
"""Whether hosts of Ingress or HTTPProxy live on a listener."""


def problems(view: View, place: Place, protocol: nodes.Protocol, who: str) -> Iterator[Problem]:
    """The problem of hosts without a listener; `who` begins its last clause, such as
    `the host has`."""
    missing = view.ask(missing_listener, protocol)
    if missing is None:
        return
    if missing.is_ambiguous:
        yield unplaced.several_listeners(place, protocol, missing.gateway, who)
    else:
        yield unplaced.no_listener(place, protocol, missing.gateway)
