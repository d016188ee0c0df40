"""EndpointSlices with addresses as people and programs write them, right or wrong.

Those that can be dialled are loopback: endpoints of checked clusters are really asked.
"""

from random import Random
from typing import Any

Document = dict[str, Any]

_SERVICES = ("s1", "s2")
_IPV4 = ("127.{}.{}.{}",)
_IPV6 = ("::1", "0:0:0:0:0:0:0:1", "::FFFF:127.{}.{}.{}", "::ffff:7f{:02x}:{:02x}{:02x}")
_ODD = (
    *("", " ", "127.{}", "127.{}.{}", "0127.0.0.{}", "127.0.0.1/{}", "127.0.0.{}:80", "0x7f{:06x}"),
    *("[::1]", "::1%{}", "fe80::{:x}", "fe80::{:x}%eth0", "::", "ff02::{:x}", ":::{}", "1::2::{}"),
    *("0.0.0.0", "169.254.169.{}", "224.0.0.{}", "127.0.0.300", "2130706433", "localhost", "a.b"),
    *("١٢٧.0.0.{}", "127.0.0.1\x00", "127.0.0.1\n", "::ffff:169.254.{}.{}", "x" * 300),
)


def slices(seed: int) -> list[Document]:
    """The endpoints of the Services that generated objects refer to."""
    chance = Random(seed)
    return [
        _slice(f"{service}-{number}", service, chance) for service in _SERVICES for number in "ab"
    ]


def _slice(name: str, service: str, chance: Random) -> Document:
    family = chance.choice(("IPv4", "IPv4", "IPv6", "FQDN"))
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": service},
        },
        "addressType": family,
        "ports": [{"port": chance.choice((1, 9, 65_535))} for _ in range(chance.choice((1, 2)))],
        "endpoints": [_endpoint(chance) for _ in range(chance.randrange(6))],
    }


def _endpoint(chance: Random) -> Document:
    shape = chance.choice((*_IPV4, *_IPV6, *_IPV4, *_IPV6, *_ODD))
    address = shape.format(*(chance.randrange(256) for _ in range(3)))
    conditions = {"ready": chance.choice((True, True, False)), "terminating": chance.random() < 0.5}
    return {"addresses": [address], "conditions": conditions}
