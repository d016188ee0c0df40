"""Ports of this machine: the option `--map-port`, and whether Envoy could listen on a port.

Which local port stands for a port that users see is decided in `dag.ports`; this module checks the
machine before Envoy starts. Envoy would not notice a conflict: it shares a port with any process of
the same user that allows it, and either would get requests.
"""

import ipaddress
import socket
from collections.abc import Iterable, Mapping

from contour.host import errors, listening

_LAST = 65535
_NONE: Mapping[int, int] = {}


def mapping(options: Iterable[str]) -> dict[int, int]:
    """The values of `--map-port EXTERNAL=LOCAL`. Raises RefusedError for an invalid one."""
    result: dict[int, int] = {}
    for option in options:
        external, _, local = option.partition("=")
        port = _port(external, option)
        if port in result:
            raise errors.RefusedError(f"--map-port {option}: port {port} is mapped twice")
        result[port] = _port(local, option)
    if len(set(result.values())) < len(result):
        raise errors.RefusedError("--map-port: two ports cannot have the same local port")
    return result


def bindable(text: str) -> str:
    """The IP address of `--bind`, since Envoy accepts no host names. Raises RefusedError."""
    try:
        return str(ipaddress.ip_address("127.0.0.1" if text == "localhost" else text))
    except ValueError:
        raise errors.RefusedError(
            f"--bind {text}: not an IP address; use 127.0.0.1 for this machine alone, "
            "0.0.0.0 for others too"
        ) from None


def _port(text: str, option: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text) <= _LAST:
        return int(text)
    raise errors.RefusedError(
        f"--map-port {option}: write EXTERNAL=LOCAL, two ports from 1 to {_LAST}"
    )


def require_free(address: str, local: Mapping[int, int], udp: Mapping[int, int] = _NONE) -> None:
    """Raises OccupiedError, naming each port that cannot be listened on and who has it.

    The mappings, of ports for TCP and for UDP, are from the ports that users see to those of this
    machine.
    """
    found = [_complaint(address, *it, is_udp=False) for it in sorted(local.items())]
    found += [_complaint(address, *it, is_udp=True) for it in sorted(udp.items())]
    if complaints := [complaint for complaint in found if complaint]:
        raise errors.OccupiedError("\n".join(complaints))


def free(address: str, preferred: int) -> int:
    """The preferred port of an address if it is free, else another one that is."""
    for port in (preferred, 0):
        try:
            return _bind(address, port)
        except OSError:
            continue
    return preferred


def _complaint(address: str, external: int, port: int, *, is_udp: bool) -> str | None:
    if (why := obstacle(address, port, is_udp=is_udp)) is None:
        return None
    udp = "UDP " if is_udp else ""
    return (
        f"cannot listen on {address} {udp}port {port}, which stands for {udp}port {external}: "
        f"{why}; choose another with --map-port {external}=PORT or --bind"
    )


def obstacle(address: str, port: int, *, is_udp: bool = False) -> str | None:
    """Why Envoy could not listen on a port of this machine, and who has it (a TCP port)."""
    try:
        _bind(address, port, socket.SOCK_DGRAM if is_udp else socket.SOCK_STREAM)
    except OSError as error:
        owner = None if is_udp else listening.owner(port)
        by = f" (process {owner} has it)" if owner else ""
        return f"{error.strerror}{by}"
    return None


def is_free(address: str, port: int, is_udp: bool) -> bool:
    """Whether Envoy could listen on a port of this machine now."""
    try:
        _bind(address, port, socket.SOCK_DGRAM if is_udp else socket.SOCK_STREAM)
    except OSError:
        return False
    return True


def _bind(address: str, port: int, kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, kind) as probe:
        if kind is socket.SOCK_STREAM:
            # Else connections of an earlier run that linger in TIME_WAIT would count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((address, port))
        bound: int = probe.getsockname()[1]
        return bound
