"""What Envoy forwards unread: connections to TCP ports and to hosts without HTTP, and packets to
UDP ports."""

from collections.abc import Iterable, Iterator

from dag import listeners, nodes
from dag.evaluation import attached, guards, places
from dag.evaluation.places import World
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer, Forwarded, Trace
from dag.values import hostnames


def of_port(world: World, at: nodes.ListenerKey, request: Request, trace: Trace) -> Answer:
    """What becomes of a connection to a TCP port, or of packets to a UDP port."""
    port = f"{request.scheme.upper()} port {request.port}"
    trace.note("listener", "passed", f"{port}: {at.name}")
    found = world.answer(listeners.listener, at)
    stream = found.stream if found is not None else None
    if stream is None:
        lost = "packets are dropped" if request.is_datagram else "connections are closed"
        return Answer(cause=f"no route leads anywhere from {port}: {lost}")
    attached.of_stream(world, nodes.HostKey(*at, hostnames.EVERY), stream, trace)
    if request.is_datagram:
        return _sent(world, stream, port, request)
    return _streamed(world, stream, f"to {port}", request, trace)


def of_host(
    world: World, key: nodes.HostKey, host: nodes.SecureHost, request: Request, trace: Trace
) -> Answer:
    """What becomes of a TLS connection to a host whose bytes are forwarded."""
    assert host.stream is not None
    attached.of_stream(world, key, host.stream, trace)
    return _streamed(world, host.stream, f"for {key.host}", request, trace)


def described(host: str, stream: nodes.Stream) -> str:
    """What TLS connections for a host are to Envoy, as a text for people."""
    is_open = any(it.cluster is not None for it in stream.shares)
    return f"connections for {host} are {'no HTTP to Envoy' if is_open else 'closed'}"


def _streamed(
    world: World, stream: nodes.Stream, which: str, request: Request, trace: Trace
) -> Answer:
    before = stream.guards
    if before is not None and before.ip_filter is not None:
        words = guards.not_admitted(before.ip_filter, request, trace)
        if words:
            return Answer(cause=f"{words}: the connection is closed")
    limits = _limits(before)
    for words in limits:
        trace.note("guard", "noted", words)
    shares = [it for it in stream.shares if it.weight]
    used = [it.cluster for it in shares if it.cluster is not None]
    if not used:
        return Answer(cause=f"no backend takes connections {which}: they are closed")
    if not any(places.is_ready(world, it) for it in used):
        words = places.nothing_ready(used)
        return Answer(cause=f"{words}: connections {which} are closed")
    return Answer(
        cause=f"Envoy forwards the bytes of connections {which} unread",
        streams=tuple(_shared(shares, request)),
        may_be_refused=bool(limits),
    )


def _sent(world: World, stream: nodes.Stream, port: str, request: Request) -> Answer:
    """What becomes of packets, which pass no guard."""
    shares = [it for it in stream.shares if it.weight]
    used = [it.cluster for it in shares if it.cluster is not None]
    if not used:
        return Answer(cause=f"no backend takes packets to {port}: they are dropped")
    if not any(places.is_ready(world, it) for it in used):
        return Answer(cause=f"{places.nothing_ready(used)}: packets to {port} are dropped")
    if any(member.is_fallback for it in used for member in it.members):
        shares = [it for it in shares if it.cluster is not None]  # they get what others cannot take
    return Answer(
        cause=f"Envoy forwards packets to {port} unread",
        streams=tuple(_shared(shares, request)),
    )


def _shared(shares: Iterable[nodes.WeightedCluster], request: Request) -> Iterator[Forwarded]:
    found = tuple(shares)
    total = sum(it.weight for it in found)
    return (Forwarded(it.weight / total, it.cluster, request.host, "") for it in found)


def _limits(before: nodes.StreamGuards | None) -> list[str]:
    """Guards that may close a connection by what is not known here, as texts for people."""
    if before is None:
        return []
    told = {
        "connection limit: may close the connection": before.limit is not None,
        "rate limit service: may close the connection": bool(before.descriptors),
    }
    return [words for words, is_so in told.items() if is_so]
