"""Connections of some peers end; nothing else does, and nothing is left open."""

import os
import socket
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from contour.xds.disconnecting import disconnect


def _descriptors(*files: Any) -> int:
    """Count the descriptors of this process that lead to these files.

    Other descriptors are not counted: threads of earlier tests may open and close theirs.
    """
    wanted = {(found.st_dev, found.st_ino) for found in (os.fstat(it.fileno()) for it in files)}
    count = 0
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found = os.fstat(int(name))
            count += (found.st_dev, found.st_ino) in wanted
    return count


def test_the_connections_of_these_peers_end_and_no_descriptor_is_left() -> None:
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        file = stack.enter_context(tempfile.TemporaryFile())
        pairs: list[tuple[socket.socket, socket.socket]] = []
        for _ in range(2):
            client = stack.enter_context(socket.create_connection(server.getsockname()))
            pairs.append((client, stack.enter_context(server.accept()[0])))
        (one, served), (other, untouched) = pairs
        assert disconnect({f"ipv4:127.0.0.1:{one.getsockname()[1]}"}) == 1
        assert _descriptors(server, file, one, served, other, untouched) == 6
        one.settimeout(5)
        assert one.recv(1) == b""
        untouched.sendall(b"x")
        assert other.recv(1) == b"x"


def test_nobody_is_looked_for_where_nobody_is_named() -> None:
    assert disconnect(()) == 0


def test_the_clients_of_a_unix_socket_end_and_it_takes_others(tmp_path: Path) -> None:
    with ExitStack() as stack:
        listening = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2)]
        clients: list[socket.socket] = []
        for name, it in zip("ab", listening, strict=True):
            it.bind(f"{tmp_path}/{name}")
            it.listen()
            clients += [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2)]
            clients[-2].connect(f"{tmp_path}/{name}")
            stack.enter_context(it.accept()[0])
        assert disconnect({f"unix:{tmp_path}/a"}) == 1
        clients[0].settimeout(5)
        assert clients[0].recv(1) == b""
        clients[1].connect(f"{tmp_path}/a")
        clients[2].setblocking(False)
        with pytest.raises(BlockingIOError):
            clients[2].recv(1)
