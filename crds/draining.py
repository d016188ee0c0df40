"""How long Envoy keeps a listener or filter chain that a change has replaced."""

DRAIN_SECONDS = 40
"""The default number of seconds. With fewer, long responses and WebSockets of an edited host are
cut; with more, frequent edits of TLS settings fill Envoy's memory.
"""


def drain_time(least: int) -> int:
    """Envoy's drain time (`--drain-time-s`) with which connections last at least this many seconds.

    Envoy 1.40 ends WebSockets and tunnels at random moments of the last third of its drain time.
    """
    return (3 * least + 1) // 2
