"""The stream of a TLS host with a `tcpproxy`: its own one, or that of the HTTPProxy it includes.

A Service that cannot be resolved keeps its share: those connections are closed. Source: HTTPProxy
reference, "TCPProxy".
"""

from collections.abc import Generator, Iterator, Sequence

from crds import httpproxy as crd
from crds.policies import HeadersPolicy
from dag import nodes
from dag.engine.view import View
from dag.foreign import ignored
from dag.httpproxy import backends, balancing, healthchecks, included
from dag.httpproxy.included import IncludedProxy, Trail
from dag.problems import Problem, Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place
from dag.values import weights

Following = Generator[IncludedProxy | Problem, None, nodes.Stream | None]


def stream(view: View, root: crd.HTTPProxy) -> Following:
    """The stream; None where there is no `tcpproxy`, or it leads nowhere and its author is told."""
    written = root.spec.tcpproxy
    if written is None:
        return None
    try:
        return (yield from _follow(view, (root,), written))
    except Refused as refused:
        yield refused.problem
        return None


def _follow(view: View, trail: Trail, written: crd.TCPProxy) -> Following:
    """The stream of the end of the trail, where this is written."""
    place = problems.spec(trail[-1].metadata.key).at("tcpproxy")
    include = written.include or written.includes
    if not written.services and include is None:
        raise Refused(problems.stream_not_defined(place, _NEEDS))
    if include is None:
        found = yield from _stream(view, place, written)
        is_closed = any(ignored.closing(view, problems.KIND, it.metadata) for it in trail)
        return _CLOSED if is_closed else found
    if written.services:
        raise Refused(problems.stream_ambiguous(place, _NEEDS))
    child = included.child(view, place.at("include"), trail, include)
    if child.spec.tcpproxy is None:
        raise Refused(problems.included_no_stream(place.at("include"), child.metadata.key))
    yield IncludedProxy(child.metadata.key)
    return (yield from _follow(view, (*trail, child), child.spec.tcpproxy))


_CLOSED = nodes.Stream((nodes.WeightedCluster(None),))
"""The stream of a closed HTTPProxy: its connections are closed."""

_NEEDS = "needs either services or an include"


def _stream(view: View, place: Place, written: crd.TCPProxy) -> Following:
    spread = yield from balancing.of_connections(place, written.load_balancer_policy)
    manner = backends.UpstreamOptions(
        spread.balancing,
        healthchecks.of_tcp(place, written.health_check_policy),
        is_stream=True,
    )
    found = yield from backends.weighted_services(view, place, written.services, manner)
    clusters = {it.place: nodes.WeightedCluster(it.cluster, it.weight) for it in found}
    listed = yield from _listed(place, written.services)
    is_even = not any(it.weight for _, it in listed)
    shares = tuple(
        clusters.get(at) or nodes.WeightedCluster(None, 1 if is_even else it.weight)
        for at, it in listed
        if is_even or it.weight
    )
    counted = weights.scaled([it.weight for it in shares])
    shares = tuple(it._replace(weight=n) for it, n in zip(shares, counted, strict=True))
    return nodes.Stream(shares)


def _listed(
    place: Place, written: Sequence[crd.Service]
) -> Findings[tuple[tuple[Place, crd.Service], ...]]:
    """The Services that may get connections, of which nobody makes copies."""
    every = [(place.at("services", index), it) for index, it in enumerate(written)]
    for at, it in every:
        if it.mirror:
            text = "connections of a tcpproxy are not mirrored; the service gets none"
            yield problems.ignored_field(at.at("mirror"), text)
        else:
            yield from _unread(at, it)
    found = tuple((at, it) for at, it in every if not it.mirror)
    if not found:
        text = "needs a service that is not a mirror"
        raise Refused(problems.stream_not_defined(place.at("services"), text))
    return found


def _unread(at: Place, written: crd.Service) -> Iterator[Problem]:
    """The fields that change requests or responses, of which a connection has none. A new `Host` is
    the server name of TLS towards the Service (`backends`)."""
    asked = written.request_headers_policy
    others = asked is not None and any(it.name.lower() != "host" for it in asked.set)
    fields = {
        "requestHeadersPolicy": others or (asked is not None and bool(asked.remove)),
        "responseHeadersPolicy": written.response_headers_policy not in (None, HeadersPolicy()),
        "cookieRewritePolicies": bool(written.cookie_rewrite_policies),
    }
    text = "has no effect: Envoy does not interpret the data of a tcpproxy"
    for name in (name for name, is_written in fields.items() if is_written):
        yield problems.ignored_field(at.at(name), text)
