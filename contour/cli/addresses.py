"""Addresses as values of options: IP addresses, hosts, and HOST:PORT."""

from collections.abc import Callable
from typing import NamedTuple

import click

from contour.cli.texts import Text


class Site(NamedTuple):
    """A host, an IPv6 address without brackets, and a TCP port."""

    host: str
    port: int


def site(text: str) -> Site | None:
    """`HOST:PORT`, with an address of IPv6 in brackets; None if the text is something else."""
    host, _, port = text.rpartition(":")
    is_port = port.isascii() and port.isdecimal() and 0 < int(port) < 65536
    return Site(_bare(host), int(port)) if host and is_port else None


def _bare(host: str) -> str:
    return host.removeprefix("[").removesuffix("]")


class _Address(Text):
    def __init__(self, refusal: Callable[[str], str | None]) -> None:
        self._refusal = refusal

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text without the brackets of an IPv6 address."""
        return _bare(super().convert(value, param, ctx))

    def refusal(self, text: str) -> str:
        """Why the text is no such address; empty if it is one."""
        why = self._refusal(_bare(text))
        return f"{text!r} {why}" if why else ""


def _no_ip(text: str) -> str | None:
    from dag.values import hostnames

    return hostnames.address_refusal(text)


def _no_host(text: str) -> str | None:
    from dag.values import hostnames

    return hostnames.target_refusal(text)


IP = _Address(_no_ip)
HOST = _Address(_no_host)
"""An IP address or the name of a host."""


def path_or_site(_: click.Context, __: click.Parameter, value: str) -> str:
    """Refuses what is neither the path of a socket, which has a slash, nor HOST:PORT."""
    if "/" not in value and site(value) is None:
        raise click.BadParameter(f"{value!r} is neither a path with a slash nor HOST:PORT")
    return value
