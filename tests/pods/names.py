"""A name server for pods: the names of Services, as the cluster's DNS gives them out.

Answers questions for A over UDP; of other types there is nothing, of other names nothing exists.
It is asked for more than it asks itself: nothing leaves the machine.
"""

import asyncio
import struct
from collections.abc import Callable, Sequence

ZONE = "cluster.local"
PORT = 53

Lookup = Callable[[str], Sequence[str] | None]

_A, _IN = 1, 1
_ANSWER, _NO_SUCH_NAME = 0x8580, 0x8583  # authoritative, recursion is available
_SECONDS = 5


class NameServer(asyncio.DatagramProtocol):
    """`lookup` gives the addresses of a name, or None if it does not exist."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        """Of asyncio."""
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Of asyncio."""
        if reply := answer(data, self._lookup):
            self._transport.sendto(reply, addr)


def resolv_conf(server: str, namespace: str) -> str:
    """What a pod in this namespace has in its resolv.conf."""
    search = f"{namespace}.svc.{ZONE} svc.{ZONE} {ZONE}"
    return f"nameserver {server}\nsearch {search}\noptions ndots:5\n"


def answer(question: bytes, lookup: Lookup) -> bytes | None:
    """The reply to a packet; None if it is no question."""
    if len(question) < 17 or question[2] & 0x80:
        return None
    name, end = _name(question, 12)
    kind, kind_class = struct.unpack_from(">HH", question, end)
    found = lookup(name.lower())
    asked = found if found and (kind, kind_class) == (_A, _IN) else ()
    head = struct.pack(
        ">HHHHHH",
        int.from_bytes(question[:2]), _NO_SUCH_NAME if found is None else _ANSWER,
        1, len(asked), 0, 0,
    )  # fmt: skip
    return head + question[12 : end + 4] + b"".join(map(_record, asked))


def _record(address: str) -> bytes:
    """With a pointer to the name in the question."""
    packed = bytes(int(it) for it in address.split("."))
    return struct.pack(">HHHIH", 0xC00C, _A, _IN, _SECONDS, 4) + packed


def _name(packet: bytes, at: int) -> tuple[str, int]:
    labels = []
    while length := packet[at]:
        labels.append(packet[at + 1 : at + 1 + length].decode(errors="replace"))
        at += 1 + length
    return ".".join(labels), at + 1
