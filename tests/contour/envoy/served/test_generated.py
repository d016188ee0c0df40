"""Whatever the rules may say, Envoy takes: random nodes, every field, and nothing is refused."""

from collections.abc import Iterator
from dataclasses import fields
from random import Random
from typing import Any

import pytest

from crds.meta import ObjectRef
from dag import nodes
from tests.contour.envoy import world
from tests.contour.envoy.served.conftest import GRPC, HTTP, ONE, Served
from tests.contour.envoy.served.test_resilience import EVERY
from tests.testbed import tokens

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.asyncio(loop_scope="module"),
]

HOSTS = 150
TEXT = 'a%b "c" \\ ]] {d} %REQ(x)%'
MATCH = nodes.ValueMatch("prefix", "x-", ignore_case=True)
HEADERS = nodes.HeaderPolicy(
    set=(("x-a", TEXT), ("x-b", nodes.Format((TEXT, nodes.Operator("REQ", ":path"))))),
    add=(("x-c", ""),),
    remove=("x-d",),
)
PROVIDERS = tuple(
    nodes.JwtProvider(f"shop/front/{it}", nodes.LocalJwks(tokens.jwks()), TEXT, (TEXT,))
    for it in range(3)
)
CLUSTERS = tuple(world.cluster(name, **more) for name, more in EVERY.items())
ENTRIES: tuple[nodes.DescriptorEntry, ...] = (
    nodes.GenericKey(TEXT, "k"),
    nodes.RequestHeader("x-a", "k"),
    nodes.RemoteAddress(),
    nodes.HeaderValueMatch((nodes.HeaderMatch("x-a", MATCH),), TEXT),
)
FILTER = ObjectRef("RateLimitFilter", "default", "f")
REGEX = nodes.Regex(r'/"\d\\')
COUNTED: tuple[nodes.CountedEntry, ...] = (
    nodes.HeaderValueMatch((nodes.HeaderMatch("x-a", MATCH),), TEXT),
    nodes.RequestHeader("x-a", "k"),
    nodes.ClientRange("10.0.0.0/8"),
    nodes.RemoteAddress(),
    nodes.ClientRange("2001:db8::/32", inverted=True),
    *(
        nodes.PathMatch(path, inverted)
        for path in (nodes.Exact("/%"), nodes.Segments("/a"), nodes.Prefix("/"), REGEX)
        for inverted in (False, True)
    ),
    nodes.QueryValueMatch(nodes.QueryMatch("a b", MATCH)),
    nodes.QueryValueMatch(nodes.QueryMatch("ü", MATCH), expect=False),
    nodes.QueryValue("q"),
)
UNITS: tuple[nodes.LimitUnit, ...] = ("Second", "Minute", "Hour", "Day", "Week", "Month", "Year")
KEY_SOURCES = (nodes.KeySource("header", "x-key"), nodes.KeySource("cookie", "key"))
GUARDS: dict[str, tuple[Any, ...]] = {
    "cors": (
        nodes.Cors((nodes.ValueMatch("present"),), ("*",), ("*",), ("*",), 0, True, True),
        nodes.Cors((nodes.ValueMatch("regex", r"https://[a-z]+\.test"),), max_age=86400),
    ),
    "csrf": (
        nodes.Csrf((MATCH, nodes.ValueMatch("present"), nodes.ValueMatch("regex", "a.*:[0-9]+"))),
        nodes.Csrf(enforced=0),
        nodes.Csrf(enforced=333_333),
    ),
    "ip_filter": (
        nodes.IpFilter("ALLOW", (nodes.IpRange("::/0"), nodes.IpRange("10.0.0.1/32", "Remote"))),
        nodes.IpFilter("DENY", ()),
    ),
    "login": (
        nodes.Login(
            ObjectRef("SecurityPolicy", "shop", "login"), "client",
            nodes.ProviderEndpoints("https://idp.test/auth?a=b", "https://idp.test/token"), ONE,
            "https://a.test/callback", "/callback", "/logout",
            nodes.LoginCookies(*(f"c{number}" for number in range(7))),
            scopes=("openid",), denied=(nodes.HeaderMatch("x-api", nodes.ValueMatch("present")),),
        ),
    ),
    "authentication": (
        nodes.Authentication(ObjectRef("SecurityPolicy", "shop", "keys"), KEY_SOURCES),
        nodes.Authentication(ObjectRef("SecurityPolicy", "shop", "ü%REQ(x)%"), has_passwords=True),
    ),
    "jwt": tuple(nodes.Jwt(it.name) for it in PROVIDERS),
    "authorization": (
        nodes.Authorization(GRPC, authority="a.test", context=((TEXT, TEXT),), fail_open=True),
        nodes.Authorization(
            HTTP, "http", timeout=1.5, path_prefix="/p", request_headers=(MATCH,),
            upstream_headers=(MATCH,), body=nodes.AuthorizationBody(9, True, True),
        ),
    ),
    "access": (
        nodes.Access(
            (
                nodes.AccessRule("DENY", ("GET", "PUT"), nodes.Prefix("/p"), is_other_path=True),
                nodes.AccessRule("ALLOW", ranges=(nodes.IpRange("::/0", "Remote"),)),
                nodes.AccessRule(
                    "ALLOW",
                    headers=(("x-a", (TEXT, "b")), ("x-b", ("c",))),
                    claims=(
                        nodes.Claims("p", ("a", "b"), ("v", TEXT)),
                        nodes.Claims("p", ("l",), ("v",), is_list=True),
                    ),
                ),
            )
        ),
        nodes.Access((), "ALLOW"),
    ),
    "local_rate_limit": (
        *(
            nodes.LocalRateLimit(1, unit, 2, status, (("x-a", TEXT),))
            for unit in ("second", "minute", "hour")
            for status in sorted(nodes.LIMIT_STATUSES)
        ),
        nodes.LocalLimits(tuple(nodes.LocalLimit(2**32 - 1, it) for it in UNITS)),
        nodes.LocalLimits(
            tuple(
                nodes.LocalLimit(1, "Second", (entry,), cost=it, is_shadow=it > 2, tells=it > 3)
                for it, entry in enumerate(COUNTED)
            )
        ),
    ),
    "rate_limits": (nodes.RateLimits((ENTRIES, ENTRIES[:1])),),
    "limits": (
        (nodes.Limit(FILTER, "0", ()),),
        tuple(
            nodes.Limit(
                FILTER, str(it), (entry,), is_shared=it > 3, cost=it, late_cost=it, tells=it > 2
            )
            for it, entry in enumerate(COUNTED)
        ),
    ),
    "body_limit": (1, 2**31),
    "error_pages": (
        (nodes.ErrorPage(((404, 405), (500, 600)), TEXT, "text/html", 200),),
        (
            nodes.ErrorPage(
                (), nodes.Format((TEXT, nodes.Operator("REQ", "x"))), "", None,
                (nodes.HeaderMatch("x-a", nodes.ValueMatch("regex", "a.*")),), "envoy", HEADERS,
            ),
            nodes.ErrorPage(
                ((404, 405),), source="backend",
                headers=(nodes.HeaderMatch("x-a", nodes.ValueMatch("suffix", "b")),),
            ),
        ),
        (nodes.ErrorPage((), "never"), nodes.ErrorPage(((100, 1000),), TEXT * 100)),
    ),
    "fault": (
        nodes.Fault(0.001, 0, 599, None, 1),
        nodes.Fault(86400.0, grpc_status=16, aborted=0),
        nodes.Fault(status=200, aborted=0),
    ),
    "compressors": (
        (nodes.Compressor("zstd", 2**32 - 1),),
        tuple(nodes.Compressor(it) for it in ("brotli", "gzip", "zstd")),
    ),
    "session": (
        nodes.SessionPersistence("s", lifetime=3.0),
        nodes.SessionPersistence("x-s", "Header"),
    ),
}  # fmt: skip
REWRITES = (
    nodes.Rewrite("b.test", full_path=rf"/{TEXT}\1"),
    nodes.Rewrite(prefix="/"),
    nodes.Rewrite(host_header="x-host", prefix="/new"),
    nodes.Rewrite(
        host_of_endpoint=True, path=nodes.Substitution("^/(a)", r"/\1\\"), tells_host=True
    ),
    nodes.Rewrite(host_from_path=nodes.Substitution("/(.*)", r"\1.test"), full_path="/"),
)
RETRIES = (
    nodes.Retry(("5xx", "cancelled"), 0, 0.1, (500, 599), 0.001, 0.0001),
    nodes.Retry((), 3, backoff=5.0, per_priority=1),
)
HASHES = (
    nodes.HashPolicy("Cookie", "c", 0.0, "/", (("Secure", ""), ("a", TEXT)), True),
    nodes.HashPolicy("Cookie", "c"),
    nodes.HashPolicy("Header", "x-h"),
    nodes.HashPolicy("Query", "Q"),
    nodes.HashPolicy("SourceIp"),
)
REDIRECTS = (
    nodes.InternalRedirect(),
    nodes.InternalRedirect(2, (301, 302, 303, 307, 308), "Always", True),
    nodes.InternalRedirect(9, (), "SafeOnly", True),
    nodes.InternalRedirect(1, (302,), "SafeOnly"),
)
COOKIES = (
    nodes.CookieRewrite(TEXT, "/p", "d.test", True, "None"),
    nodes.CookieRewrite("b", secure=False),
)
PATHS: tuple[nodes.Path, ...] = (
    nodes.Prefix("/"),
    nodes.Segments("/a.b"),
    nodes.Exact("/e%20"),
    nodes.Regex("/[a-z]+(/x)?"),
)


def _policies(chance: Random) -> nodes.Policies:
    wanted = {name: (nodes.OFF, *values) for name, values in GUARDS.items()}
    for name in ("limits", "login"):  # of routes alone, so there is nothing to turn off
        wanted[name] = GUARDS[name]
    chosen = chance.sample(sorted(wanted), chance.randint(0, len(wanted)))
    return nodes.Policies(**{name: chance.choice(wanted[name]) for name in chosen})


def _some(chance: Random, values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(chance.sample(values, chance.randint(0, min(3, len(values)))))


def _backend(chance: Random) -> nodes.Backend:
    return nodes.Backend(
        chance.choice((*CLUSTERS, ONE, None)),
        chance.choice((0, 1, 2**31)),
        request_headers=chance.choice((None, HEADERS)),
        response_headers=chance.choice((None, HEADERS)),
        host=chance.choice(("", "h.test")),
        cookies=_some(chance, COOKIES),
    )


def _forward(chance: Random) -> nodes.Forward:
    return nodes.Forward(
        tuple(_backend(chance) for _ in range(chance.randint(0, 4))),
        timeout=chance.choice((None, 0.0, 1.5)),
        idle_timeout=chance.choice((None, 0.0, 3600.0)),
        rewrite=chance.choice((*REWRITES, None)),
        retry=chance.choice((*RETRIES, None)),
        websockets=chance.random() < 0.3,
        mirrors=tuple(
            nodes.Mirror(it, *chance.choice(((0, 100), (1, 3), (100, 100))))
            for it in _some(chance, CLUSTERS)
        ),
        hash_policies=_some(chance, HASHES),
        internal_redirect=chance.choice((*REDIRECTS, None)),
        cookies=_some(chance, COOKIES),
        missing=chance.choice((404, 500, 503)),
    )


def _routes(chance: Random) -> Iterator[nodes.Route]:
    for path in chance.sample(PATHS, chance.randint(1, len(PATHS))):
        actions: tuple[nodes.Action, ...] = (
            _forward(chance),
            _forward(chance),
            nodes.Redirect(307, "https", "b.test", 8443, prefix="/"),
            nodes.Respond(chance.choice((200, 599)), TEXT * 100),
        )
        action = chance.choice(actions)
        yield nodes.Route(
            nodes.Match(path, is_grpc=chance.random() < 0.2),
            action,
            world.ORIGIN,
            request_headers=chance.choice((None, HEADERS)),
            response_headers=chance.choice((None, HEADERS)),
            policies=chance.choice((None, _policies(chance))),
        )


def hosts(served: Served) -> None:
    service = nodes.RateLimitService(GRPC, timeout=1.0, fail_open=True, x_ratelimit_headers=True)
    served.proxy.world.engine.write(world.RATE_LIMIT_SERVICES, (), service)
    chance = Random(7)
    for number in range(HOSTS):
        served.serve(
            f"h{number}.test",
            *_routes(chance),
            policies=chance.choice((None, _policies(chance))),
            jwt_providers=PROVIDERS,
            is_fallback=chance.random() < 0.2,
            server_names=chance.choice((None, nodes.ServerNames("*", ("*.x.test",)))),
        )


async def test_nothing_is_refused(envoy: Served) -> None:
    """The fixture looks into the quarantine at the end; here, that the hosts are really there."""
    dump = await envoy.proxy.admin("config_dump?resource=dynamic_route_configs")
    for number in range(HOSTS):
        assert f'"h{number}.test"' in dump, number


async def test_every_guard_is_there() -> None:
    assert set(GUARDS) == {it.name for it in fields(nodes.Policies)}
