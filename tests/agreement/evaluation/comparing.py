"""One request through a real Envoy, compared with its evaluation.

Envoy takes a new configuration after the moment at which it says so, on each of its threads. So a
request that is answered otherwise is asked again for a while, and only the last answer counts.
"""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from random import Random

from dag import nodes
from dag.evaluation import evaluator
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer, Forwarded, Trace
from dag.listeners import DEFAULT_FLEET
from tests.agreement.evaluation import asking, pools, worlds
from tests.testbed import load, served, world
from tests.testbed.envoys import backends
from tests.testbed.local import Local
from tests.testbed.world import World

MET = (
    *("HTTPProxy", "Ingress", "HTTPRoute", "Exact", "Prefix", "Segments", "Regex", "method"),
    *("header present", "header exact", "header contains", "header regex"),
    *("query present", "query exact", "query prefix", "query suffix", "query contains"),
    *("query regex", "Forward", "Redirect", "Respond", "rewrite", "several backends"),
    *("CORS", "IP filter", "certificate passed", "host failed", "request failed"),
    *(f"status {it}" for it in (200, 301, 302, 307, 400, 403, 404, 405, 421, 500, 503)),
)
"""What the requests have to meet, by the names in `Judged.steps`."""

_MISDIRECTED, _NO_UPGRADE = 421, 403

PATIENCE = 10.0
"""Seconds until an answer has to agree."""


@dataclass(slots=True)
class Judged:
    """What was compared."""

    requests: int = 0
    routed: int = 0
    """Requests that a route took."""
    steps: Counter[str] = field(default_factory=Counter)
    """How often each kind of thing was met."""
    disagreements: list[str] = field(default_factory=list)

    def count(self, trace: Trace) -> None:
        """Notes what an evaluation met."""
        self.requests += 1
        self.routed += trace.answer.route is not None
        self.steps.update(f"{it.topic} {it.outcome}" for it in trace.steps)
        self.steps.update(it.text.partition(":")[0] for it in trace.steps if it.topic == "guard")
        self.steps[f"status {trace.answer.status}"] += 1
        route = trace.answer.route
        if route is not None:
            self.steps.update(_features(route, trace.answer))


def _features(route: nodes.Route, answer: Answer) -> set[str]:
    """What of the model a request has met."""
    match = route.match
    found = {type(match.path).__name__, type(route.action).__name__, route.origin.kind}
    found |= {f"header {it.value.operator}" for it in match.headers}
    found |= {f"query {it.value.operator}" for it in match.queries}
    found |= {"method"} if match.method else set()
    if isinstance(route.action, nodes.Forward) and route.action.rewrite is not None:
        found.add("rewrite")
    found |= {"several backends"} if len(answer.backends) > 1 else set()
    return found


async def judged(routing: str, number: int, requests: int, chance: Random) -> Judged:
    """So many worlds after one another, so many requests in each; `Single` or `Shards`."""
    found = Judged()
    async with _site(routing) as site:
        there: list[worlds.Document] = []
        for _ in range(number):
            made = worlds.made(chance)
            names = {served.key(it) for it in made}
            gone = [it for it in there if served.key(it) not in names]
            await site.change(made, gone)
            there = made
            await site.control.until(lambda: site.control.fleet.acceptance.is_settled, 60)
            for _ in range(requests):
                is_preflight = chance.random() < 0.05
                asked = asking.preflight(chance) if is_preflight else asking.made(chance)
                told = await _disagreement(site, asked, found)
                if told:
                    found.disagreements.append(told)
        assert not site.envoy.refusals
    return found


@contextlib.asynccontextmanager
async def _site(routing: str) -> AsyncIterator[served.Site[Local]]:
    async with backends(len(pools.BACKENDS)) as ports:
        configuration = world.configuration(
            envoy={"listener": {"routing": routing}},
            gateway={"controllerName": "projectcontour.io/gateway-controller"},
        )
        fixed = [configuration, *worlds.fixed(ports)]
        async with served.serving(Local, World(0, 0), fixed, drain=0) as site:
            yield site


async def _disagreement(site: served.Site[Local], asked: Request, found: Judged) -> str:
    """What of Envoy's answer is not as evaluated; empty if all of it is."""
    engine = site.control.instance.controller.engine
    trace = evaluator.evaluate(engine, DEFAULT_FLEET, asked)
    found.count(trace)
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while True:
        answer = await _answer(site, asked)
        told = difference(trace.answer, answer)
        if not told or asyncio.get_running_loop().time() > deadline:
            return f"{asked}: {told}; {trace.answer}" if told else ""
        await asyncio.sleep(0.05)


async def _answer(site: served.Site[Local], asked: Request) -> load.Answer | None:
    """None if the connection is closed."""
    port = site.tls_port if asked.is_secure else site.port
    connection = load.Connection(port, asked.asked if asked.is_secure else "")
    try:
        return await connection.ask(asking.Wire(asked))
    except (OSError, EOFError):
        return None
    finally:
        connection.close()


def difference(expected: Answer, answer: load.Answer | None) -> str:
    """How an answer differs from what was evaluated; empty if it does not."""
    if untold := _untold(expected):
        return untold
    if answer is None:
        return "" if expected.status is None and not expected.backends else "closed"
    if expected.status is not None:
        return _own(expected, answer)
    if not expected.backends:
        return f"answered {answer.status}, though the connection was to be closed"
    told = [_forwarded(it, expected, answer) for it in expected.backends]
    return "" if not all(told) else " or ".join(told)


def _untold(expected: Answer) -> str:
    """What the route says and the evaluation leaves out, which no answer would contradict."""
    route = expected.route
    if route is None or expected.status not in {None, getattr(route.action, "status", None)}:
        return ""
    body = route.action.body if isinstance(route.action, nodes.Respond) else ""
    shares = [it.headers for it in expected.backends if it.cluster is not None]
    untold = [
        body and not expected.body,
        _changes(route.response_headers) and not expected.response_headers,
        _changes(route.request_headers) and not all(shares),
    ]
    return "the evaluation leaves out a body or headers of the route" if any(untold) else ""


def _changes(policy: nodes.HeaderPolicy | None) -> bool:
    return policy is not None and bool(policy.set or policy.add or policy.remove)


def _own(expected: Answer, answer: load.Answer) -> str:
    if expected.status == _MISDIRECTED and answer.status == _NO_UPGRADE:
        return ""  # Envoy judges an upgrade before our filters where it knows the route at once
    if answer.status != expected.status:
        return f"answered {answer.status}"
    if expected.location and answer.headers.get("location") != expected.location:
        if expected.status == 307 and expected.route is None:
            return "" if answer.headers.get("location", "").endswith(expected.location) else "307"
        return f"location {answer.headers.get('location')}"
    if expected.body and answer.body.decode() != expected.body:
        return f"body {answer.body!r}"
    return _headers(expected, answer)


def _forwarded(share: Forwarded, expected: Answer, answer: load.Answer) -> str:
    """How an answer differs from that of one of the backends."""
    if share.cluster is None or share.status:
        return "" if answer.status == share.status else f"answered {answer.status}"
    if answer.status == 101 and answer.headers.get("upgrade", "").lower() == "websocket":
        return "" if expected.route and _switches(expected.route) else "switched the protocol"
    if answer.status != 200:
        return f"answered {answer.status}"
    told = json.loads(answer.body)
    backend = share.cluster.port.service.name
    if (told["backend"], told["path"], told["host"]) != (backend, share.path, share.host):
        return f"{told['backend']} got {told['host']} {told['path']}"
    for name, value in share.headers:
        if told["headers"].get(name) != value:
            return f"the backend got {name}: {told['headers'].get(name)}"
    return _headers(expected, answer)


def _switches(route: nodes.Route) -> bool:
    return isinstance(route.action, nodes.Forward) and route.action.websockets


def _headers(expected: Answer, answer: load.Answer) -> str:
    for name, value in expected.response_headers:
        if answer.headers.get(name) != value:
            return f"header {name}: {answer.headers.get(name)}"
    return ""
