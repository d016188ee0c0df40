"""Ports of this machine: what an option says, and who is in the way."""

import os
import socket

import pytest

from contour.host import errors, ports
from tests.testbed.ports import free_port, free_ports


def test_a_port_can_be_mapped() -> None:
    assert ports.mapping(["80=18080", "443=18443"]) == {80: 18080, 443: 18443}


@pytest.mark.parametrize(
    "option", ["80", "80=", "=80", "80=x", "0=80", "80=65536", "80=8080=1", "²=3"]
)
def test_a_mapping_without_sense_is_refused(option: str) -> None:
    with pytest.raises(errors.RefusedError, match="EXTERNAL=LOCAL"):
        ports.mapping([option])


def test_two_ports_cannot_share_a_local_one() -> None:
    with pytest.raises(errors.RefusedError, match="same local port"):
        ports.mapping(["80=8080", "8080=8080"])


def test_free_ports_are_fine() -> None:
    ports.require_free("127.0.0.1", {80: free_port()})
    ports.require_free("::1", {80: free_port()})


def test_a_port_in_use_is_told_with_its_owner_and_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(errors.OccupiedError) as caught:
            ports.require_free("127.0.0.1", {80: port})
    assert f"port {port}" in str(caught.value)
    assert f"process {os.getpid()}" in str(caught.value)
    assert "--map-port 80=PORT" in str(caught.value)


def test_a_port_that_its_owner_would_share_is_in_use_all_the_same() -> None:
    with (
        socket.create_server(("127.0.0.1", 0), reuse_port=True) as server,
        pytest.raises(errors.OccupiedError, match="Address already in use"),
    ):
        ports.require_free("127.0.0.1", {80: server.getsockname()[1]})


def test_ports_of_tcp_and_udp_are_distinct() -> None:
    of_tcp, of_udp = free_ports(2)
    with (
        socket.create_server(("127.0.0.1", of_tcp)),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):
        udp.bind(("127.0.0.1", of_udp))
        ports.require_free("127.0.0.1", {80: of_udp}, {53: of_tcp})
        with pytest.raises(errors.OccupiedError) as caught:
            ports.require_free("127.0.0.1", {80: of_tcp}, {53: of_udp})
    first, second = str(caught.value).splitlines()
    assert first.startswith(f"cannot listen on 127.0.0.1 port {of_tcp}, ")
    assert second.startswith(f"cannot listen on 127.0.0.1 UDP port {of_udp}, ")


def test_every_port_in_use_is_told_at_once() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        taken = {80: one.getsockname()[1], 443: two.getsockname()[1]}
        with pytest.raises(errors.OccupiedError) as caught:
            ports.require_free("127.0.0.1", taken)
    assert len(str(caught.value).splitlines()) == 2


def test_an_address_that_is_not_of_this_machine_is_told(unused_tcp_port: int) -> None:
    with pytest.raises(errors.OccupiedError, match="Cannot assign requested address"):
        ports.require_free("192.0.2.1", {80: unused_tcp_port})
