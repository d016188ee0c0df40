"""How long Envoy keeps what a changed listener or filter chain replaces."""

DRAIN_SECONDS = 40
"""Envoy keeps what a changed listener replaces for so long: shorter, and long responses and
WebSockets of an edited host are cut; longer, and whoever edits TLS all the time fills its memory.
"""


def drain_time(least: int) -> int:
    """Envoy's own drain time (`--drain-time-s`), for connections to last at least so long.

    Envoy 1.40 ends WebSockets and tunnels at random moments of the last third of it.
    """
    return (3 * least + 1) // 2
