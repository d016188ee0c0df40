"""Settings of connections that policies have for clients and for backends alike.

Source: Envoy Gateway 1.9.
"""

from crds.envoygateway.keepalives import HTTP2Keepalive, TCPKeepalive
from dag import nodes
from dag.problems import shared
from dag.problems.places import Findings, Place
from dag.values import durations, quantities

LEAST_WINDOW = 65_535
"""Bytes: Envoy takes no smaller window of HTTP/2."""
_MOST = 2**31 - 1


def seconds(text: str | None) -> float | None:
    """The seconds of a field; None where it is absent."""
    return durations.seconds(text) if text is not None else None


def byte_count(
    given: int | str | None, at: Place, least: int, most: int = _MOST
) -> Findings[int | None]:
    """The bytes of a field; None where it is absent, or cannot be."""
    if given is None:
        return None
    if why := quantities.refusal(given, least, most):
        yield shared.no_effect(at, why)
        return None
    return quantities.whole(given)


def keepalive(written: TCPKeepalive | None) -> nodes.Keepalive | None:
    """The probes of the kernel, with Linux' own values for what is absent."""
    if written is None:
        return None
    return nodes.Keepalive(
        min(written.probes or 9, 127),
        _whole(written.idle_time, 7200),
        _whole(written.interval, 75),
    )


def pings(written: HTTP2Keepalive | None, at: Place) -> Findings[nodes.Pings | None]:
    """The pings of HTTP/2; None where they are absent, or cannot be."""
    if written is None:
        return None
    interval, idle = seconds(written.interval), seconds(written.idle_interval)
    if interval is None and idle is None:
        yield shared.no_effect(at, "interval or idleInterval must be set")
        return None
    timeout = seconds(written.timeout)
    if timeout is None:
        timeout = 20.0
    for field, given in (("interval", interval), ("timeout", timeout), ("idleInterval", idle)):
        if given is not None and given < 0.001:
            yield shared.no_effect(at.at(field), "must be at least 1ms")
            return None
    return nodes.Pings(
        interval, timeout, 15 if written.interval_jitter is None else written.interval_jitter, idle
    )


def _whole(text: str | None, usual: int) -> int:
    """Whole seconds, of which Linux takes 1 to 32767."""
    return min(max(round(durations.seconds(text)), 1), 32767) if text is not None else usual
