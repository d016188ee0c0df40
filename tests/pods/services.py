"""How packets to Services find pods: from Services and EndpointSlices to nftables rules.

Pure; `network` applies the text. As kube-proxy does it: an address of a Service is translated to
one of the ready endpoints, by chance, for every new connection; where none is ready, to those that
end but still serve; where there is none at all it is refused.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Raw = dict[str, Any]
Target = tuple[str, int]


@dataclass(frozen=True, slots=True, order=True)
class Front:
    """What clients connect to."""

    address: str
    protocol: str
    port: int


Table = Mapping[Front, tuple[Target, ...]]


def fronts(service: Raw, slices: Iterable[Raw], nodes: Iterable[str]) -> Iterator[
    tuple[Front, tuple[Target, ...]]
]:  # fmt: skip
    """Where a Service is reached, and what is behind: ClusterIPs, node ports, balancers."""
    spec = service["spec"]
    mine = list(slices)
    addresses = [it for it in spec.get("clusterIPs") or () if it != "None" and ":" not in it]
    balanced = service.get("status", {}).get("loadBalancer", {}).get("ingress") or ()
    addresses += [it["ip"] for it in balanced if "ip" in it]
    for port in spec.get("ports") or ():
        targets = tuple(sorted(set(_targets(mine, port.get("name", "")))))
        protocol = port.get("protocol", "TCP").lower()
        for address in addresses:
            yield Front(address, protocol, port["port"]), targets
        if port.get("nodePort"):
            for address in nodes:
                yield Front(address, protocol, port["nodePort"]), targets


def endpoints(slices: Iterable[Raw]) -> Iterator[str]:
    """The addresses of what is ready."""
    for it in slices:
        for endpoint in it.get("endpoints") or ():
            if endpoint.get("conditions", {}).get("ready", True):
                yield from endpoint["addresses"]


def _targets(slices: list[Raw], port: str) -> list[Target]:
    ready, ending = [], []
    for it in slices:
        number = next((p["port"] for p in it.get("ports") or () if p.get("name", "") == port), None)
        if number is None or it.get("addressType") != "IPv4":
            continue
        for endpoint in it.get("endpoints") or ():
            conditions = endpoint.get("conditions", {})
            found = [(address, number) for address in endpoint["addresses"]]
            if conditions.get("ready", True):
                ready += found
            elif conditions.get("terminating") and conditions.get("serving"):
                ending += found
    return ready or ending


def rules(
    table: Table,
    services: str,
    balancers: str,
    cut: Iterable[tuple[str, str]] = (),
    dark: Iterable[str] = (),
) -> str:
    """The whole table of nftables.

    `cut` are pairs of addresses that do not reach one another, `dark` those that nobody reaches.
    """
    served = {front: targets for front, targets in sorted(table.items()) if targets}
    chains: dict[tuple[str, tuple[Target, ...]], str] = {}
    for front, targets in served.items():
        chains.setdefault((front.protocol, targets), f"to{len(chains)}")
    choice = [
        f"{it.address} . {it.protocol} . {it.port} : goto {chains[it.protocol, targets]}"
        for it, targets in served.items()
    ]
    behind = sorted({address for targets in served.values() for address, _ in targets})
    unreachable = [f"{one} . {other}" for pair in cut for one, other in (pair, pair[::-1])]
    lines = [
        "table ip services", "delete table ip services", "table ip services {",
        *(_chain(name, protocol, targets) for (protocol, targets), name in chains.items()),
        "chain choice {", _match("ip daddr . meta l4proto . th dport vmap", choice), "}",
        "chain arriving { type nat hook prerouting priority dstnat;", "goto choice", "}",
        "chain leaving { type nat hook output priority -100;", "goto choice", "}",
        "chain returning { type nat hook postrouting priority srcnat;",
        _match("ip saddr . ip daddr", [f"{it} . {it}" for it in behind], "masquerade"), "}",
        "chain refused { type filter hook prerouting priority -90;",
        f"ip daddr {{ {services}, {balancers} }} meta l4proto tcp reject with tcp reset",
        f"ip daddr {{ {services}, {balancers} }} reject", "}",
        "chain cut { type filter hook forward priority 0;",
        _match("ip saddr . ip daddr", unreachable, "drop"),
        *(_match(it, sorted(dark), "drop") for it in ("ip saddr", "ip daddr")), "}",
        "}",
    ]  # fmt: skip
    return "\n".join(it for it in lines if it) + "\n"


def _chain(name: str, protocol: str, targets: tuple[Target, ...]) -> str:
    choice = ", ".join(f"{i} : {address} . {port}" for i, (address, port) in enumerate(targets))
    rule = f"dnat to numgen random mod {len(targets)} map {{ {choice} }}"
    return f"chain {name} {{\nmeta l4proto {protocol} {rule}\n}}"


def _match(key: str, elements: list[str], verdict: str = "") -> str:
    return f"{key} {{ {', '.join(elements)} }} {verdict}" if elements else ""
