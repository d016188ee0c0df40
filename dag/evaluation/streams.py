"""Connections that Envoy forwards unread: those to TCP ports, and to hosts without HTTP."""

from dag import listeners, nodes
from dag.evaluation import attached, guards, places
from dag.evaluation.places import World
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer, Forwarded, Trace
from dag.values import hostnames


def of_port(world: World, at: nodes.ListenerKey, request: Request, trace: Trace) -> Answer:
    """What becomes of a connection to a TCP port."""
    port = f"TCP port {request.port}"
    trace.note("listener", "passed", f"{port}: {at.name}")
    found = world.answer(listeners.listener, at)
    stream = found.stream if found is not None else None
    if stream is None:
        return Answer(cause=f"no route leads anywhere from {port}: connections are closed")
    attached.of_stream(world, nodes.HostKey(*at, hostnames.EVERY), stream, trace)
    return _streamed(world, stream, f"to {port}", request, trace)


def of_host(
    world: World, key: nodes.HostKey, host: nodes.SecureHost, request: Request, trace: Trace
) -> Answer:
    """What becomes of a TLS connection to a host whose bytes are forwarded."""
    assert host.stream is not None
    attached.of_stream(world, key, host.stream, trace)
    return _streamed(world, host.stream, f"for {key.host}", request, trace)


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
    total = sum(it.weight for it in shares)
    return Answer(
        cause=f"Envoy forwards the bytes of connections {which} unread",
        streams=tuple(Forwarded(it.weight / total, it.cluster, request.host, "") for it in shares),
        may_be_refused=bool(limits),
    )


def _limits(before: nodes.StreamGuards | None) -> list[str]:
    """Guards that may close a connection by what is not known here, as texts for people."""
    if before is None:
        return []
    told = {
        "connection limit: may close the connection": before.limit is not None,
        "rate limit service: may close the connection": bool(before.descriptors),
    }
    return [words for words, is_so in told.items() if is_so]
