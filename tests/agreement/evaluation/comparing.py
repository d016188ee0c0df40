"""One request through a real Envoy, compared with its evaluation.

Envoy takes a new configuration after the moment at which it says so, on each of its threads. So a
request that is answered otherwise is asked again for a while, and only the last answer counts.
"""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from contour.cli.sending import GRPC, GRPC_UNKNOWN
from dag import nodes
from dag.engine.incremental import Engine
from dag.evaluation import actions, evaluator
from dag.evaluation.requests import Request
from dag.evaluation.trace import MARK, Answer, Forwarded, Trace
from dag.fleetnames import DEFAULT_FLEET
from tests.agreement.evaluation import asking, pools, worlds
from tests.contour.envoy.served import peers
from tests.testbed import load, served, world
from tests.testbed.envoys import backends
from tests.testbed.local import Local
from tests.testbed.world import World

MET = (
    *(
        "HTTPProxy",
        "Ingress",
        "HTTPRoute",
        "GRPCRoute",
        "Exact",
        "Prefix",
        "Segments",
        "Regex",
        "method",
    ),
    *("header present", "header exact", "header contains", "header regex"),
    *("query present", "query exact", "query prefix", "query suffix", "query contains"),
    *("query regex", "Forward", "Redirect", "Respond", "rewrite", "several backends"),
    *(
        "CORS",
        "IP filter",
        "JWT",
        "API key",
        "login",
        "CSRF",
        "basic authentication",
        "good key",
        "bad key",
        "good token",
        "bad token",
        "let in",
        "not let in",
        "limit spent",
        "limit left",
        "authorization",
        "SecurityPolicy",
        "certificate passed",
        "host failed",
        "request failed",
    ),
    "error pages",
    *(f"status {it}" for it in (200, 301, 302, 307, 400, 401, 403, 404, 405, 421, 500, 503)),
)
"""What the requests have to meet, by the names in `Judged.steps`."""

_MISDIRECTED, _NO_UPGRADE, _NO_TRACE, _MALFORMED = 421, 403, 405, 400

PATIENCE = 60.0
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

    def count(self, trace: Trace, asked: Request) -> None:
        """Notes what an evaluation met."""
        self.requests += 1
        self.routed += trace.answer.route is not None
        self.steps.update(f"{it.topic} {it.outcome}" for it in trace.steps)
        self.steps.update(it.text.partition(":")[0] for it in trace.steps if it.topic == "guard")
        expected = _verified(trace, asked)
        self.steps[f"status {expected.status}"] += 1
        self.steps["SecurityPolicy"] += any(_APPLIES in it.text for it in trace.steps)
        if _is_noted(trace, _VERIFIED):
            self.steps["bad token" if asking.has_bad_token(asked) else "good token"] += 1
        if _is_noted(trace, _COMPARED) and trace.answer.route is not None:
            is_unknown = _is_unknown(trace.answer.route, asked)
            self.steps["bad key" if is_unknown else "good key"] += 1
        if _is_noted(trace, _AUTHORIZED):
            self.steps["let in" if asking.is_let_in(asked) else "not let in"] += 1
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


Seen = Callable[[Engine, Request, load.Answer | None], None]
"""Is told of each request that Envoy has answered as evaluated."""


def _unseen(_engine: Engine, _asked: Request, _answer: load.Answer | None) -> None:
    """Nobody wants to know."""


async def judged(
    routing: str, number: int, requests: int, chance: Random, seen: Seen = _unseen
) -> Judged:
    """So many worlds after one another, so many requests in each; `Single` or `Shards`."""
    found = Judged()
    async with _site(routing) as site:
        there: list[worlds.Document] = []
        for _ in range(number):
            made = [worlds.configuration(routing, chance), *worlds.made(chance)]
            names = {served.key(it) for it in made}
            gone = [it for it in there if served.key(it) not in names]
            await site.change(made, gone)
            there = made
            await site.control.until(lambda: site.control.fleet.acceptance.is_settled, 60)
            for _ in range(requests):
                is_preflight = chance.random() < 0.05
                asked = asking.preflight(chance) if is_preflight else asking.made(chance)
                told = await _disagreement(site, asked, found, seen)
                if told:
                    found.disagreements.append(told)
        assert not site.envoy.refusals
    return found


@contextlib.asynccontextmanager
async def _site(routing: str) -> AsyncIterator[served.Site[Local]]:
    async with backends(len(pools.BACKENDS)) as ports, peers.serving() as servers:
        configuration = world.configuration(envoy={"listener": {"routing": routing}})
        fixed = [configuration, *worlds.fixed(ports, servers.grpc)]
        async with served.serving(Local, World(0, 0), fixed, drain=0) as site:
            yield site


async def _disagreement(site: served.Site[Local], asked: Request, found: Judged, seen: Seen) -> str:
    """What of Envoy's answer is not as evaluated; empty if all of it is."""
    engine = site.control.instance.controller.engine
    trace = evaluator.evaluate(engine, DEFAULT_FLEET, asked)
    found.count(trace, asked)
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while True:
        answer = await _answer(site, asked)
        told = difference(trace, asked, answer)
        if not told:
            if answer is not None and _is_noted(trace, _LIMITED):
                found.steps["limit spent" if _is_limit(answer) else "limit left"] += 1
            seen(engine, asked, answer)
            return ""
        if asyncio.get_running_loop().time() > deadline:
            return f"{asked}: {told}; {trace.answer}"
        await asyncio.sleep(0.05)


async def _answer(site: served.Site[Local], asked: Request) -> load.Answer | None:
    """None if the connection is closed."""
    port = site.tls_port if asked.is_secure else site.port
    tls = load.trusting("http/1.1") if asked.is_secure else None
    connection = load.Connection(port, asked.asked if asked.is_secure else "", tls=tls)
    try:
        return await connection.ask(asking.Wire(asked))
    except (OSError, EOFError):
        return None
    finally:
        connection.close()


def difference(trace: Trace, asked: Request, answer: load.Answer | None) -> str:
    """How an answer differs from what was evaluated; empty if it does not."""
    expected = _verified(trace, asked)
    if answer is None:
        return "" if expected.status is None and not expected.backends else "closed"
    if _is_noted(trace, _LIMITED) and _is_limit(answer):
        return ""
    if asked.is_call:
        answer = _called(expected, answer)
    if expected.status is not None:
        return _own(expected, asked, answer)
    if not expected.backends:
        return f"answered {answer.status}, though the connection was to be closed"
    if not all(it.share for it in expected.backends):
        return "a backend is told that gets no requests"
    told = [_forwarded(it, expected, asked, answer) for it in expected.backends]
    return "" if not all(told) else " or ".join(told)


def _verified(trace: Trace, asked: Request) -> Answer:
    """The answer; where the evaluation says that Envoy compares a key, verifies the token, or asks
    a server, a request that is not let in gets 401."""
    route = trace.answer.route
    if route is None:
        return trace.answer
    if _is_noted(trace, _COMPARED) and _is_unknown(route, asked):
        return actions.refused(Answer(401, "the key or password is bad", route=route), route)
    if _is_noted(trace, _VERIFIED) and asking.has_bad_token(asked):
        return actions.refused(Answer(401, "the token is bad", route=route), route)
    if _is_noted(trace, _AUTHORIZED) and not asking.is_let_in(asked):
        return actions.refused(Answer(401, "the server does not let it pass", route=route), route)
    return trace.answer


def _is_noted(trace: Trace, words: str) -> bool:
    return any(it.text.startswith(words) for it in trace.steps)


def _is_unknown(route: nodes.Route, asked: Request) -> bool:
    """Whether Envoy is shown a key or a password that it does not know."""
    wanted = route.policies.authentication if route.policies is not None else None
    assert isinstance(wanted, nodes.Authentication)
    if wanted.key_sources and asking.has_bad_key(asked):
        return True
    return wanted.has_passwords and asking.has_bad_password(asked)


_COMPARED = "authentication: Envoy compares"
_APPLIES = "SecurityPolicy"
_VERIFIED = "JWT: the token is verified"
_AUTHORIZED = "authorization: a server decides"
_LIMITED = "local rate limit: may answer 429"


def _is_limit(answer: load.Answer) -> bool:
    """Whether a limit has answered: Envoy's filter says so in the headers, also to gRPC clients."""
    return "x-limited" in answer.headers


def _called(expected: Answer, answer: load.Answer) -> load.Answer:
    """Envoy's own answer to a call of gRPC, which is 200, with the status that stands for."""
    told = answer.headers.get("grpc-status")
    statuses = {expected.status, *(_status(it) for it in expected.backends)}
    statuses |= {_NO_UPGRADE} if expected.status == _MISDIRECTED else set()
    found = [it for it in statuses if it and told == str(GRPC.get(it, GRPC_UNKNOWN))]
    return answer._replace(status=found[0], body=expected.body.encode()) if found else answer


def _status(share: Forwarded) -> int:
    """What Envoy itself answers to a share; 0 if it does not. No backend here speaks HTTP/2."""
    if share.status or share.cluster is None or share.cluster.protocol != "h2c":
        return share.status
    return 503


def _own(expected: Answer, asked: Request, answer: load.Answer) -> str:
    """How an answer of Envoy itself differs."""
    if expected.status in {_MISDIRECTED, _NO_TRACE} and _is_refused_upgrade(asked, answer):
        return ""  # Envoy judges an upgrade before our filters where it knows the route at once
    if answer.status == _MISDIRECTED and expected.status == _MALFORMED and asked.is_secure:
        return ""  # a host that may not be served is found by a name with an empty port, too
    if answer.status != expected.status:
        return f"Envoy answered {answer.status} {answer.headers.get('grpc-status', '')}"
    if expected.location and answer.headers.get("location") != expected.location:
        if expected.status == 307 and expected.route is None:
            return "" if answer.headers.get("location", "").endswith(expected.location) else "307"
        return f"location {answer.headers.get('location')}"
    if not expected.cause and answer.body.decode() != expected.body:
        return f"body {answer.body!r}"
    changes = [it for it in expected.response_headers if it[0] != _TYPE]
    before = {} if _is_drawn(expected.route) else {"x-seen": None}
    return _changed(changes, answer.headers, before)


def _is_refused_upgrade(asked: Request, answer: load.Answer) -> bool:
    is_asked = asked.is_secure and asked.upgrade is not None
    return is_asked and answer.status == _NO_UPGRADE


_TYPE = "content-type"
"""Envoy writes it to its own answers whatever a route says."""


def _is_drawn(route: nodes.Route | None) -> bool:
    """Whether the headers of Envoy's own answer depend on the backend that was drawn, or on nothing
    that is told."""
    if route is None or not isinstance(route.action, nodes.Forward):
        return route is None
    return len({it.response_headers for it in route.action.backends}) > 1


def _forwarded(share: Forwarded, expected: Answer, asked: Request, answer: load.Answer) -> str:
    """How an answer differs from that of one of the backends."""
    if share.cluster is None or _status(share):
        if answer.status != _status(share):
            return f"Envoy answered {answer.status}, not {_status(share)}"
        return _changed(share.response_headers, answer.headers, {"x-seen": None})
    if answer.status == 101 and answer.headers.get("upgrade", "").lower() == "websocket":
        return "" if expected.route and _switches(expected.route) else "switched the protocol"
    if answer.status != 200 or MARK not in answer.headers:
        return f"Envoy answered {answer.status} {answer.headers.get('grpc-status', '')}"
    told = json.loads(answer.body)
    backend = share.cluster.port.service.name
    if (told["backend"], told["path"], told["host"]) != (backend, share.path, share.host):
        return f"{told['backend']} got {told['host']} {told['path']}"
    sent = {it: _last(asked.values(it)) for it in (*pools.NAMES, "x-added")}
    got = _changed(share.headers, told["headers"], sent)
    return got or _changed(share.response_headers, answer.headers, _OF_BACKENDS)


def _last(values: Sequence[str]) -> str | None:
    """Which of several values of a header the backends tell."""
    return values[-1] if values else None


_OF_BACKENDS = {"x-seen": None, _TYPE: "application/json; charset=utf-8"}
"""Headers of the answers of backends; None: they send none of the name."""


def _switches(route: nodes.Route) -> bool:
    return isinstance(route.action, nodes.Forward) and route.action.websockets


def _changed(
    changes: Iterable[tuple[str, str | None]],
    found: Mapping[str, str],
    before: Mapping[str, str | None],
) -> str:
    """How headers differ from those before and the changes; empty if they do not.

    Both ways: a change that is told and not made, and one that is made and not told.
    """
    for name, value in {**before, **dict(changes)}.items():
        if found.get(name) != value:
            return f"header {name}: {found.get(name)}, not {value}"
    return ""
