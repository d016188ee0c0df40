"""Checks the addresses of a bootstrap's listeners: each once, and none that is already in use.

Envoy itself would not notice: it opens its listeners so that they can share a port, and the kernel
would spread connections over them.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from envoy.config.bootstrap.v3 import bootstrap_pb2
from envoy.config.core.v3 import address_pb2

from dag.rawconfig.content import Remark

_EVERYWHERE = ("0.0.0.0", "::", "")


class _Used(NamedTuple):
    """An address that is in use."""

    address: str
    who: str


def conflicts(found: bootstrap_pb2.Bootstrap, taken: Mapping[int, str]) -> Iterator[Remark]:
    """Static listeners on a port in use; `taken` are TCP ports, each with the listener that has
    it."""
    used: dict[tuple[str, int], list[_Used]] = {
        ("TCP", port): [_Used("", who)] for port, who in taken.items()
    }
    if found.admin.address.HasField("socket_address"):
        admin = found.admin.address.socket_address
        for it in used.get(("TCP", admin.port_value), ()):
            yield Remark("admin.address", f"port {admin.port_value} is used by {it.who}")
        one = _Used(admin.address, "the administration interface")
        used.setdefault(("TCP", admin.port_value), []).append(one)
    for index, listener in enumerate(found.static_resources.listeners):
        path = f"static_resources.listeners[{index}]"
        for address in (listener.address, *(it.address for it in listener.additional_addresses)):
            yield from _conflict(path, listener.name, address, used)


def _conflict(
    path: str, name: str, address: address_pb2.Address, used: dict[tuple[str, int], list[_Used]]
) -> Iterator[Remark]:
    socket = address.socket_address
    if not socket.port_value:
        return
    protocol = address_pb2.SocketAddress.Protocol.Name(socket.protocol)
    present = used.setdefault((protocol, socket.port_value), [])
    for it in present:
        if it.address == socket.address or {it.address, socket.address} & {*_EVERYWHERE}:
            where = f"{protocol} port {socket.port_value}"
            yield Remark(f"{path}.address", f"{where} is used by {it.who}")
            break
    present.append(_Used(socket.address, f"the static listener {name or path}"))
