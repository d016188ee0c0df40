"""Connections of some peers end; nothing else does, and nothing is left open."""

import os
import socket
import tempfile

from contour.xds.disconnecting import disconnect


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_the_connections_of_these_peers_end_and_no_descriptor_is_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, tempfile.TemporaryFile():
        pairs = []
        for _ in range(2):
            client = socket.create_connection(server.getsockname())
            pairs.append((client, server.accept()[0]))
        (one, served), (other, untouched) = pairs
        before = _descriptors()
        assert disconnect({f"ipv4:127.0.0.1:{one.getsockname()[1]}"}) == 1
        assert _descriptors() == before
        one.settimeout(5)
        assert one.recv(1) == b""
        untouched.sendall(b"x")
        assert other.recv(1) == b"x"
        for it in (one, served, other, untouched):
            it.close()


def test_nobody_is_looked_for_where_nobody_is_named() -> None:
    assert disconnect(()) == 0
