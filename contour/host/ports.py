"""Which port of this machine stands for a port that users see.

The port itself if it is 1024 or more, else that plus 8000, so that no root is needed; `--map-port`
has the last word. A port that is taken already by another one of ours moves to the next free one.
Pure, but for `require_free`, which looks at the machine before Envoy does.
"""

import socket
from collections.abc import Iterable, Mapping

from contour.host import errors, listening

_FIRST_UNPRIVILEGED = 1024
_SHIFT = 8000
_LAST = 65535


def local_ports(
    external: Iterable[int],
    mapped: Mapping[int, int] | None = None,
    held: Mapping[int, int] | None = None,
) -> dict[int, int]:
    """The local port of each external one; those that are held stay what they are.

    Well-known ports choose first: 80 gets 8080 whether or not there is a listener on 8080.
    """
    wanted = set(external)
    result = {port: local for port, local in (held or {}).items() if port in wanted}
    result |= {port: local for port, local in (mapped or {}).items() if port in wanted}
    for port in sorted(wanted - result.keys()):
        result[port] = _next_free(_unprivileged(port), set(result.values()))
    return result


def _unprivileged(port: int) -> int:
    return port if port >= _FIRST_UNPRIVILEGED else port + _SHIFT


def _next_free(port: int, taken: set[int]) -> int:
    while port in taken:
        port = port + 1 if port < _LAST else _FIRST_UNPRIVILEGED
    return port


def mapping(options: Iterable[str]) -> dict[int, int]:
    """The values of `--map-port EXTERNAL=LOCAL`. Raises RefusedError for one without sense."""
    result: dict[int, int] = {}
    for option in options:
        external, _, local = option.partition("=")
        result[_port(external, option)] = _port(local, option)
    if len(set(result.values())) < len(result):
        raise errors.RefusedError("--map-port: two ports cannot have the same local port")
    return result


def _port(text: str, option: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text) <= _LAST:
        return int(text)
    raise errors.RefusedError(
        f"--map-port {option}: write EXTERNAL=LOCAL, two ports from 1 to {_LAST}"
    )


def require_free(address: str, local: Mapping[int, int]) -> None:
    """Raises OccupiedError, naming each port that Envoy could not listen on and who has it.

    Envoy itself would not notice: it shares a port with any process of the same user that lets it.
    """
    found = [
        complaint
        for external, port in local.items()
        if (complaint := _complaint(address, external, port))
    ]
    if found:
        raise errors.OccupiedError("\n".join(found))


def _complaint(address: str, external: int, port: int) -> str | None:
    try:
        _bind(address, port)
    except OSError as error:
        owner = listening.owner(port)
        by = f" by process {owner}" if owner else ""
        return (
            f"port {port} on {address}, which stands for port {external}, cannot be used{by}: "
            f"{error.strerror}; choose another one with --map-port {external}=PORT"
        )
    return None


def _bind(address: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        # Else connections of an earlier run that linger in TIME_WAIT would count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((address, port))
