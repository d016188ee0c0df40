"""The network of a runner: a namespace that routes, one for every pod, and one link to this host.

Pods hang on links of their own with a /32 address each, so everything between them passes the
routing namespace, where Services are translated (`services`); nothing has to masquerade, and what
a backend sees as its peer is true. There is no way out: from a pod one reaches pods, Services, and
on this host the API server and the name server, no more. A runner's addresses are those of the
first /16 that no other runner holds; a lock says so. Who comes next removes what was left behind.
"""

import fcntl
import ipaddress
import subprocess
from pathlib import Path
from typing import Self, TextIO

from tests.cluster.controlplane import SERVICES

_FIRST, _COUNT = 160, 32  # second bytes of the /16s
_NAME = "pods"
_GATEWAY = "169.254.1.1"
_LOCKS = Path("/run/lock")
_API_PORT = 6443
KUBERNETES = "10.96.0.1"  # the first of SERVICES: the API server says so, and its certificate, too


class Network:
    """All links, addresses and namespaces of a runner."""

    def __init__(self, api_port: int) -> None:
        self._api_port = api_port
        self._lock, self.number = _claim()
        self.name = f"{_NAME}{self.number}"
        self._prefix = f"10.{_FIRST + self.number}"
        self._pods = 0
        self._free: list[str] = []

    def __enter__(self) -> Self:
        _sweep(self.name)
        _ip(
            f"link add {self.name} type veth peer name host netns {self._made(self.name)}",
            f"addr add {self.host}/32 dev {self.name}",
            f"link set {self.name} up",
            f"route add {self._prefix}.255.2 dev {self.name}",
            f"route add {self._prefix}.0.0/16 via {self._prefix}.255.2 dev {self.name}",
        )
        _ip(
            "link set lo up",
            f"addr add {self._prefix}.255.2/32 dev host",
            f"addr add {_GATEWAY}/32 dev lo",
            "link set host up",
            f"route add {self.host} dev host",
            f"route add default via {self.host} dev host",
            inside=self.name,
        )
        forward = "echo 1 > /proc/sys/net/ipv4/ip_forward"
        _run("nsenter", f"--net=/run/netns/{self.name}", "sh", "-c", forward)
        Path(f"/proc/sys/net/ipv4/conf/{self.name}/route_localnet").write_text("1")
        self._guard_the_host()
        return self

    def __exit__(self, *_: object) -> None:
        _sweep(self.name)
        self._lock.close()

    @property
    def host(self) -> str:
        """The address of this host: where requests of tests come from, and the DNS is."""
        return f"{self._prefix}.255.1"

    @property
    def range(self) -> str:
        """All addresses, as a CIDR."""
        return f"{self._prefix}.0.0/16"

    @property
    def balancers(self) -> str:
        """The addresses of Services of type LoadBalancer, as a CIDR."""
        return f"{self._prefix}.192.0/19"

    @property
    def api_server(self) -> tuple[str, int]:
        """Where the API server is, as seen from a pod."""
        return self.host, _API_PORT

    def node(self, number: int) -> str:
        """The address of a node."""
        return f"{self._prefix}.254.{number}"

    def balancer(self, number: int) -> str:
        """An address for a Service of type LoadBalancer."""
        return f"{self._prefix}.{200 + number // 250}.{1 + number % 250}"

    @property
    def spare_balancer(self) -> str:
        """One that only a Service gets that asks for it."""
        return f"{self._prefix}.192.1"

    def has_balancer(self, address: str) -> bool:
        """Whether a Service can have this one."""
        return ipaddress.ip_address(address) in ipaddress.ip_network(self.balancers)

    def add_node(self, number: int) -> str:
        """Gives a node its address."""
        _ip(f"addr add {self.node(number)}/32 dev lo", inside=self.name)
        return self.node(number)

    def add_pod(self) -> tuple[str, str]:
        """A namespace for a pod, and the address in it."""
        address = self._free.pop(0) if len(self._free) > 64 else self._next()
        _, _, high, low = address.split(".")
        link = f"v{high}-{low}"
        name = self._made(f"{self.name}-{high}-{low}")
        _ip(
            f"link add {link} type veth peer name eth0 netns {name}",
            f"link set {link} up",
            f"route add {address}/32 dev {link}",
            inside=self.name,
        )
        _ip(
            "link set lo up",
            f"addr add {address}/32 dev eth0",
            "link set eth0 up",
            f"route add {_GATEWAY} dev eth0 scope link",
            f"route add default via {_GATEWAY}",
            inside=name,
        )
        return name, address

    def remove_pod(self, name: str, address: str) -> None:
        """At once, also for what is still connected."""
        _, high, low = name.split("-")
        _run("ip", "-n", self.name, "link", "del", f"v{high}-{low}", check=False)
        _run("ip", "netns", "del", name, check=False)
        self._free.append(address)

    def translate(self, rules: str) -> None:
        """Replaces the nftables rules of the routing namespace, atomically."""
        _run("nsenter", f"--net=/run/netns/{self.name}", "nft", "-f", "-", stdin=rules)

    def _guard_the_host(self) -> None:
        """Pods reach this host by one address; there the API server is, which listens on loopback.

        Nothing is forwarded, to pods or from them.
        """
        ours = f'iifname "{self.name}"'
        lines = [
            f"table ip {self.name} {{",
            "chain arriving { type nat hook prerouting priority dstnat;",
            f"{ours} ip daddr {self.host} tcp dport {_API_PORT} dnat to 127.0.0.1:{self._api_port}",
            "}",
            "chain entering { type filter hook input priority 0;",
            f"{ours} ct state established,related accept",
            f"{ours} ct status dnat accept",
            f"{ours} ip daddr != {self.host} drop",
            "}",
            "chain passing { type filter hook forward priority 0;",
            f"{ours} drop",
            f'oifname "{self.name}" drop',
            "}",
            "}",
        ]
        _run("nft", "-f", "-", stdin="\n".join(lines) + "\n")

    def _next(self) -> str:
        self._pods += 1
        return f"{self._prefix}.{self._pods // 250}.{2 + self._pods % 250}"

    def _made(self, name: str) -> str:
        _run("ip", "netns", "add", name)
        return name


def services_range() -> str:
    """Of ClusterIPs, as a CIDR."""
    return SERVICES


def _claim() -> tuple[TextIO, int]:
    """Takes the first free number; what was left under any free one is removed."""
    _LOCKS.mkdir(parents=True, exist_ok=True)
    claimed: list[tuple[TextIO, int]] = []
    for number in range(_COUNT):
        lock = (_LOCKS / f"pods-{number}").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        if Path("/run/netns", f"{_NAME}{number}").exists():
            _sweep(f"{_NAME}{number}")
        if claimed:
            lock.close()
        else:
            claimed.append((lock, number))
    if not claimed:
        raise RuntimeError(f"{_COUNT} runners are there already")
    return claimed[0]


def _sweep(name: str) -> None:
    """Removes everything of this name: what a runner has made, or what one left that was killed."""
    _run("ip", "link", "del", name, check=False)
    _run("nft", "delete", "table", "ip", name, check=False)
    for it in Path("/run/netns").glob("*"):
        if it.name == name or it.name.startswith(f"{name}-"):
            _run("ip", "netns", "del", it.name, check=False)


def _ip(*lines: str, inside: str = "") -> None:
    where = ("-n", inside) if inside else ()
    _run("ip", *where, "-batch", "-", stdin="\n".join(lines) + "\n")


def _run(*command: str, stdin: str = "", check: bool = True) -> None:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}\n{stdin}")
