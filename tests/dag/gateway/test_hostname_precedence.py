"""Which of several routes serves a request, against an oracle that reads the sentences of the API.

Random sets of routes on a listener, whose host names meet the listener's in one host or in several.
The oracle knows neither virtual hosts nor orders of routes: it looks for all rules that take a
request, and which of them comes first ("HTTPRouteSpec.hostnames", "HTTPRouteRule.matches", and the
same of GRPCRoute and TLSRoute). It is compared with what the evaluation makes of the answers.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from crds.decode import Decoded, decode
from crds.kinds import GATEWAY
from dag import plan, reached, tables
from dag.engine.incremental import Engine
from dag.evaluation import evaluator
from dag.evaluation.requests import Request
from tests.dag.gateway.manifests import gateway_class
from tests.dag.world import FLEET, apply

WORLDS = int(os.environ.get("HOSTNAME_PRECEDENCE_WORLDS", "3"))
SETS = 40
"""In one world, each with a listener and a domain of its own."""
KINDS = ("HTTPRoute", "GRPCRoute", "TLSRoute")
NAMES = ("a.b", "c.b", "*.b", "*")
PATHS = ("/", "/s", "/s/m", "/s/m/x")


@dataclass(frozen=True)
class Rule:
    """What one rule matches: of an HTTPRoute; of a GRPCRoute if the path is a call."""

    path: str
    is_exact: bool
    method: str
    headers: tuple[str, ...]

    def takes(self, asked: Request) -> bool:
        """Whether a request is one of those."""
        path = asked.path
        is_below = path == self.path or path.startswith(self.path.rstrip("/") + "/")
        return (
            (path == self.path if self.is_exact else is_below)
            and self.method in {"", asked.method}
            and all(asked.header(it) == "1" for it in self.headers)
        )


@dataclass(frozen=True)
class Written:
    """A route."""

    name: str
    hosts: tuple[str, ...]
    created: int
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Case:
    """A listener, and the routes that are attached to it."""

    name: str
    kind: str
    host: str
    routes: tuple[Written, ...]


def case(chance: Random, number: int) -> Case:
    domain, kind = f"d{number}.com", chance.choice(KINDS)
    fewest = 1 if kind == "TLSRoute" else 0
    routes = tuple(
        Written(
            f"d{number}-r{index}",
            tuple(f"{it}.{domain}" for it in chance.sample(NAMES, chance.randint(fewest, 2))),
            chance.randint(1, 3),
            tuple(_rule(chance, kind) for _ in range(chance.randint(1, 3))),
        )
        for index in range(chance.randint(2, 5))
    )
    return Case(f"d{number}", kind, f"{chance.choice(NAMES)}.{domain}", routes)


def _rule(chance: Random, kind: str) -> Rule:
    headers = tuple(it for it in ("x", "y") if chance.random() < 0.3)
    match kind:
        case "TLSRoute":
            return Rule("/", False, "", ())
        case "GRPCRoute":
            path = chance.choice(PATHS[:3])
            return Rule(path, path == "/s/m", "", headers)
        case _:
            return Rule(
                chance.choice(PATHS), chance.random() < 0.3, chance.choice(["", "GET"]), headers
            )


def documents(cases: list[Case]) -> Iterator[dict[str, Any]]:
    """The Gateway, and everything on it."""
    listeners = [
        {"name": it.name, "hostname": it.host}
        | (
            {"port": 443, "protocol": "TLS", "tls": {"mode": "Passthrough"}}
            if it.kind == "TLSRoute"
            else {"port": 80, "protocol": "HTTP"}
        )
        for it in cases
    ]
    spec = {"gatewayClassName": "contour", "listeners": listeners}
    yield {
        "apiVersion": f"{GATEWAY}/v1",
        "kind": "Gateway",
        "metadata": {"name": "gw"},
        "spec": spec,
    }
    for at in cases:
        for it in at.routes:
            yield _route(at, it)
            ports = [{"name": f"p{port}", "port": port} for port in (80, 81, 82)]
            named = {"name": it.name, "namespace": "default"}
            yield {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": named,
                "spec": {"ports": ports},
            }
            yield {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": named | {"labels": {"kubernetes.io/service-name": it.name}},
                "addressType": "IPv4",
                "ports": ports,
                "endpoints": [{"addresses": ["10.0.0.1"]}],
            }


def _route(at: Case, it: Written) -> dict[str, Any]:
    rules: list[dict[str, Any]] = [
        {"backendRefs": [{"name": it.name, "port": 80 + index}]} | _matches(at.kind, rule)
        for index, rule in enumerate(_rules(at, it))
    ]
    return {
        "apiVersion": f"{GATEWAY}/v1",
        "kind": at.kind,
        "metadata": {
            "name": it.name,
            "creationTimestamp": f"2026-01-01T00:00:0{it.created}Z",
        },
        "spec": {
            "parentRefs": [{"name": "gw", "sectionName": at.name}],
            "hostnames": list(it.hosts),
            "rules": rules,
        },
    }


def _rules(at: Case, it: Written) -> tuple[Rule, ...]:
    return it.rules[:1] if at.kind == "TLSRoute" else it.rules


def _matches(kind: str, rule: Rule) -> dict[str, Any]:
    headers = {"headers": [{"name": it, "value": "1"} for it in rule.headers]}
    match kind:
        case "TLSRoute":
            return {}
        case "GRPCRoute":
            _, service, *method = rule.path.split("/")
            called = {"service": service} | ({"method": method[0]} if method else {})
            return {"matches": [headers | ({"method": called} if service else {})]}
        case _:
            path = {"type": "Exact" if rule.is_exact else "PathPrefix", "value": rule.path}
            method_ = {"method": rule.method} if rule.method else {}
            return {"matches": [headers | method_ | {"path": path}]}


def requests(chance: Random, at: Case) -> Iterator[Request]:
    for _ in range(8):
        headers = tuple((it, "1") for it in ("x", "y") if chance.random() < 0.5)
        is_call, is_tls = at.kind == "GRPCRoute", at.kind == "TLSRoute"
        yield Request(
            host=f"{chance.choice(['a.b', 'c.b', 'z.b', 'z'])}.{at.name}.com",
            path=chance.choice(PATHS[2:3] if is_call else PATHS),
            method="POST" if is_call else chance.choice(["GET", "POST"]),
            headers=(*headers, ("content-type", "application/grpc")) if is_call else headers,
            port=443 if is_tls else 80,
            is_secure=is_tls,
        )


def covers(host: str, other: str) -> bool:
    return host in {"", other} or (host[0] == "*" and other.endswith(host[1:]))


def common(one: str, other: str) -> str | None:
    if covers(one, other):
        return other
    return one if covers(other, one) else None


def nearness(host: str) -> tuple[bool, int]:
    """Less is more specific: exact names, then the longer ones."""
    return host[:1] in {"*", ""}, -len(host)


def specificity(kind: str, rule: Rule) -> tuple[int, ...]:
    """Less is more specific."""
    if kind == "GRPCRoute":
        _, service, *method = rule.path.split("/")
        return -len(service), -len("".join(method)), -len(rule.headers)
    return (not rule.is_exact, -len(rule.path), not rule.method, -len(rule.headers))


def expected(at: Case, asked: Request) -> tuple[str, int] | None:
    """The Service and the port that a request comes to."""
    meeting = [
        (shared, own, it)
        for it in at.routes
        for own in (it.hosts or ("",))
        if (shared := common(own, at.host)) is not None and covers(shared, asked.host)
    ]
    nearest = min((nearness(shared) for shared, _, _ in meeting), default=None)
    found = [
        (nearness(own), specificity(at.kind, rule), it.created, it.name, index)
        for shared, own, it in meeting
        if nearness(shared) == nearest
        for index, rule in enumerate(_rules(at, it))
        if rule.takes(asked)
    ]
    return (min(found)[-2], 80 + min(found)[-1]) if found else None


def actual(engine: Engine, asked: Request) -> tuple[str, int] | None:
    found = evaluator.evaluate(engine, FLEET, asked).answer
    clusters = [it.cluster for it in (*found.backends, *found.streams)]
    if not clusters:
        return None
    (cluster,) = clusters
    assert cluster is not None
    return cluster.port.service.name, cluster.port.port


@pytest.mark.parametrize("seed", range(WORLDS))
def test_a_request_comes_to_the_rule_that_the_api_says(seed: int) -> None:
    chance = Random(seed)
    cases = [case(chance, number) for number in range(SETS)]
    engine = Engine(plan.PLAN + reached.PLAN)
    engine.write(tables.FLEETS, FLEET, True)
    apply(engine, gateway_class())
    for raw in documents(cases):
        found = decode(raw)
        assert isinstance(found, Decoded)
        assert found.object is not None, found.complaints
        engine.write(tables.BY_KIND[found.kind.kind], found.key, found.object)
    engine.settle()
    served = 0
    for at in cases:
        for asked in requests(chance, at):
            wanted = expected(at, asked)
            assert actual(engine, asked) == wanted, (at, asked)
            served += wanted is not None
    assert served > SETS
