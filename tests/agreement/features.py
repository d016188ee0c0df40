"""What an HTTPProxy can be made of: what may stand on a host, a route and its Services.

Whatever the schema lets one write there is a feature, so a new field is one by itself. Two features
make a pair if some route can have both; those that cannot meet, and why, are told here.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from tests.dag.httpproxy import generated

Document = Mapping[str, Any]
Pair = tuple[str, str]

_SPEC = generated.SPECS["HTTPProxy"]["properties"]
HOST = _SPEC["virtualhost"]["properties"]
TLS = HOST["tls"]["properties"]
ROUTE = _SPEC["routes"]["items"]["properties"]
SERVICE = ROUTE["services"]["items"]["properties"]
STRATEGIES = ("Random", "WeightedLeastRequest", "Cookie", "RequestHash")


def _features() -> Iterator[str]:
    yield from (f"host {it}" for it in _split(HOST.keys() - {"fqdn", "tls"}))
    yield from (f"tls {it}" for it in TLS.keys() - {"passthrough"})
    yield from (f"route {it}" for it in _split(ROUTE.keys() - {"services", "loadBalancerPolicy"}))
    yield from (f"balancing {it}" for it in STRATEGIES)
    yield from (f"service {it}" for it in SERVICE.keys() - {"name", "port"})


def _split(names: set[str]) -> Iterator[str]:
    """Local and global rate limits are two filters."""
    yield from names - {"rateLimitPolicy"}
    yield from ("rateLimitPolicy.local", "rateLimitPolicy.global")


FEATURES = tuple(sorted(_features()))

_ANSWERED = ("route requestRedirectPolicy", "route directResponsePolicy")
_ANONYMOUS = "tls enableFallbackCertificate"

APART: Mapping[str, tuple[tuple[frozenset[str], frozenset[str]], ...]] = {
    "a route does one thing": (
        (frozenset(_ANSWERED), frozenset(_ANSWERED)),
        *((frozenset({it}), frozenset(f"service {name}" for name in SERVICE)) for it in _ANSWERED),
    ),
    "addresses are either let in or kept out": tuple(
        (frozenset({f"{it} ipAllowPolicy"}), frozenset({f"{it} ipDenyPolicy"}))
        for it in ("host", "route")
    ),
    "a choice of endpoints is made in one way": (
        (
            frozenset(f"balancing {it}" for it in STRATEGIES),
            frozenset(f"balancing {it}" for it in STRATEGIES),
        ),
    ),
    "an endpoint that starts gets its share by weight": (
        (
            frozenset({"service slowStartPolicy"}),
            frozenset({"balancing Random", "balancing Cookie", "balancing RequestHash"}),
        ),
    ),
    "nobody knows who a client without a server name is": (
        (
            frozenset({_ANONYMOUS}),
            frozenset(
                {
                    "tls clientValidation",
                    "host authorization",
                    "host jwtProviders",
                    "route authPolicy",
                    "route jwtVerificationPolicy",
                }
            ),
        ),
    ),
}
"""Which features cannot meet, by the reason: each of the one set with each of the other."""

NEEDED: Mapping[str, str] = {
    "route authPolicy": "host authorization",
    "route jwtVerificationPolicy": "host jwtProviders",
    "service validation": "service protocol",
}
"""What a feature makes no sense without."""


def _apart() -> Iterator[Pair]:
    for groups in APART.values():
        for some, others in groups:
            yield from ((one, other) for one in some for other in others if one != other)


_NEVER = frozenset(tuple(sorted(it)) for it in _apart())
PAIRS = frozenset(it for it in combinations(FEATURES, 2) if it not in _NEVER)


def is_possible(one: str, other: str) -> bool:
    """Whether a route can have both."""
    return (min(one, other), max(one, other)) not in _NEVER


def pairs(spec: Document) -> Iterator[Pair]:
    """The pairs that meet on a route of a root."""
    host = set(_of_host(spec.get("virtualhost", {})))
    for route in spec.get("routes", ()):
        yield from combinations(sorted(host | set(_of_route(route))), 2)


def _of_host(host: Document) -> Iterator[str]:
    yield from (f"tls {it}" for it, value in host.get("tls", {}).items() if value)
    yield from (f"host {it}" for it in _written(host) if it not in {"fqdn", "tls"})


def _of_route(route: Document) -> Iterator[str]:
    for it in _written(route):
        if it not in {"services", "loadBalancerPolicy"}:
            yield f"route {it}"
    if strategy := route.get("loadBalancerPolicy", {}).get("strategy"):
        yield f"balancing {strategy}"
    for service in route.get("services", ()):
        yield from (f"service {it}" for it in _written(service) if it not in {"name", "port"})


def _written(holder: Document) -> Iterator[str]:
    for name, value in holder.items():
        if name == "rateLimitPolicy":
            yield from (f"{name}.{it}" for it in value if value[it])
        elif value:
            yield name
