"""SecurityPolicies with `contour run`: what the task pages of Envoy Gateway say of each guard.

With both ways of cutting hosts into RouteConfigurations.
"""

from base64 import b64encode
from collections.abc import Iterator

import pytest

from tests.e2e import deciders, peers
from tests.e2e.cases import Case, check
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import certificates, pairs, tokens

pytestmark = pytest.mark.envoy

_CONFIGURATION = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec:
  gateway: {controllerName: projectcontour.io/gateway-controller}
  envoy: {listener: {routing: %s}}
"""
_ROUTE = """---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s}
spec:
  parentRefs: [{name: web}]
  hostnames: [%s]
  rules:
  - {name: all, backendRefs: [{name: one, port: 80}]}
  - {name: shut, matches: [{path: {value: /shut}}], backendRefs: [{name: two, port: 80}]}
"""
_NAMES = (
    "ip", "localip", "rules", "claims", "optional", "lenient", "cors", "oidc", "asked", "called",
    "parts", "bare", "keyed", "basic", "both", "unknown", "csrf",
)  # fmt: skip


@pytest.fixture(scope="module", name="guarded", params=["Shards", "Single"])
def _guarded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Standalone]:
    authority = certificates.authority()
    routes = [_ROUTE % (it, f"{it}.example.com") for it in _NAMES]
    routes.append(_ROUTE % ("whole", "x.guarded.example.com"))
    text = manifest("security.yaml").replace("$routes", "".join(routes))
    files = {
        "services.yaml": manifest("services.yaml"),
        "security.yaml": text.replace("$keys", tokens.jwks()),
        "configuration.yaml": _CONFIGURATION % request.param,
        "secret.yaml": pairs.of("certificate", certificates.issued(authority, "*.example.com")),
    }
    with deciders.Deciding().serving() as port, deciders.calls() as calling:
        ports = {"deciding": port, "calls": calling}
        files["peers.yaml"] = "---\n".join(peers.service(*it) for it in ports.items())
        with standalone(tmp_path_factory.mktemp("security"), files, ports) as found:
            found.authority = authority
            yield found


def page(origin: str) -> dict[str, str]:
    return {"origin": origin}


def basic(text: str) -> dict[str, str]:
    return {"authorization": f"Basic {b64encode(text.encode()).decode()}"}


def bearer(**claims: object) -> dict[str, str]:
    return {"authorization": f"Bearer {tokens.token(**claims)}"}


FOO = {"iss": "https://foo.bar.com"}
JOHN = {**FOO, "user": {"name": "John Doe", "roles": ["user", "admin"]}, "sub": "me"}
ALL = {**JOHN, "scope": "read modify more"}
USER = {"x-user-id": "example-user"}
KEY = {"x-api-key": "supersecret"}
PREFLIGHT = {"access-control-request-method": "GET"}
CASES = [
    # Addresses, in order.
    Case("http://ip.example.com/", 403),
    Case("http://localip.example.com/"),
    Case("http://bare.example.com/"),
    # Headers, methods and paths.
    Case("http://rules.example.com/users", 403),
    Case("http://rules.example.com/users", headers=USER),
    Case("https://rules.example.com/users/1?a=b", headers={"x-user-id": "other-user"}),
    Case("http://rules.example.com/users", 403, method="POST", headers=USER),
    Case("http://rules.example.com/users", 403, headers={"x-user-id": "stranger"}),
    Case("http://rules.example.com/elsewhere", 403, headers=USER),
    Case("http://rules.example.com/open"),
    Case("http://rules.example.com/open/a?b=c", method="POST"),
    Case("http://rules.example.com/opened", 403),
    Case("http://rules.example.com/exact?a"),
    Case("http://rules.example.com/exact/a", 403),
    Case("http://rules.example.com/v12/a"),
    Case("http://rules.example.com/v/a", 403),
    Case("http://rules.example.com/open", 403, headers={"x-user-id": "banned"}),
    Case("http://rules.example.com/open", 403, headers={"x-user-id": "me, banned"}),
    # A header that is sent several times allows as a whole, and denies by any of its values.
    Case("http://rules.example.com/users", 403, headers={**USER, "X-User-ID": "stranger"}),
    Case("http://rules.example.com/users", 403, headers={"X-User-ID": "stranger", **USER}),
    Case("http://rules.example.com/users", 403, headers={**USER, "X-User-ID": "other-user"}),
    Case("http://rules.example.com/users", 403, headers={**USER, "X-User-ID": ""}),
    Case("http://rules.example.com/open", headers={**USER, "X-User-ID": "stranger"}),
    Case("http://rules.example.com/open", 403, headers={**USER, "X-User-ID": "banned"}),
    Case("http://rules.example.com/open", 403, headers={"x-user-id": "a", "X-User-ID": "b"}),
    Case("http://rules.example.com/open", headers={"x-user-id": "b", "X-User-ID": "a"}),
    Case(
        "http://rules.example.com/open",
        403,
        headers={"x-user-id": "a", "X-User-ID": "b", "X-User-Id": "c" * 9000},
    ),
    Case("http://rules.example.com/empty", headers={"x-user-id": ""}),
    Case("http://rules.example.com/empty", 403),
    # Claims and scopes.
    Case("http://claims.example.com/", 401),
    Case("http://claims.example.com/", headers=bearer(**ALL), seen={"x-subject": "me"}),
    Case("http://claims.example.com/", 403, headers=bearer(**JOHN, scope="read")),
    Case("http://claims.example.com/", 403, headers=bearer(**JOHN)),
    Case("http://claims.example.com/", 401, headers=bearer(**{**ALL, "iss": "other"})),
    Case(
        "http://claims.example.com/",
        403,
        headers=bearer(**{**ALL, "user": {"name": "John Doe", "roles": ["user"]}}),
    ),
    Case(
        "http://claims.example.com/",
        403,
        headers=bearer(**{**ALL, "user": {"name": "Mallory", "roles": ["admin"]}}),
    ),
    # Tokens that need not be there, and where they are.
    Case("http://optional.example.com/"),
    Case("http://optional.example.com/", headers={"x-token": f"Token {tokens.token()}"}),
    Case("http://optional.example.com/", 401, headers={"x-token": "Token nonsense"}),
    Case("http://optional.example.com/", 401, headers={"cookie": "token=nonsense"}),
    Case(f"http://optional.example.com/?token={tokens.token()}"),
    Case("http://optional.example.com/?token=nonsense", 401),
    Case("http://lenient.example.com/public"),
    Case("http://lenient.example.com/private", 403),
    Case("http://lenient.example.com/private", 403, headers={"authorization": "Bearer nonsense"}),
    Case("http://lenient.example.com/private", headers=bearer(sub="me")),
    Case("http://lenient.example.com/private", 403, headers=bearer(sub="you")),
    # Other origins.
    Case(
        "http://cors.example.com/",
        method="OPTIONS",
        headers={"origin": "http://www.foo.com", **PREFLIGHT},
        answered={
            "access-control-allow-origin": "http://www.foo.com",
            "access-control-allow-methods": "GET,POST",
            "access-control-allow-headers": "x-header-1,x-header-2",
            "access-control-allow-credentials": "true",
            "access-control-max-age": "90",
        },
    ),
    Case(
        "http://cors.example.com/",
        headers={"origin": "capacitor://localhost"},
        answered={
            "access-control-allow-origin": "capacitor://localhost",
            "access-control-expose-headers": "x-header-3",
        },
    ),
    Case(
        "http://cors.example.com/",
        headers={"origin": "http://www.bar.com"},
        answered={"access-control-allow-origin": None},
    ),
    # Servers that decide.
    Case("http://asked.example.com/", 403),
    Case("http://asked.example.com/", headers={"x-word": "open"}, seen={"x-tenant": "gold"}),
    Case("http://called.example.com/", 403),
    Case("http://called.example.com/", headers={"x-word": "open"}, seen={"x-tenant": "gold"}),
    Case("http://called.example.com/", 403, headers={"x-word": "open", "x-secret": "s"}),
    # Pages of other hosts may change nothing, unless they are listed.
    Case("http://csrf.example.com/"),
    Case("http://csrf.example.com/", headers=page("https://evil.example.com")),
    Case("http://csrf.example.com/", 403, method="POST"),
    *(
        Case("http://csrf.example.com/", status, method=method, headers=page(origin))
        for method in ("POST", "DELETE")
        for origin, status in {
            "http://csrf.example.com": 200,
            "https://www.example.com": 200,
            "http://WWW.example.com": 200,
            "https://a.b.trusted.com": 200,
            "https://trusted.com": 403,
            "https://evil.com": 403,
            "https://www.example.com.evil.com": 403,
            "https://www.example.com:8443": 403,
            "null": 403,
        }.items()
    ),
    Case("http://csrf.example.com/", method="PUT", headers={"referer": "https://x.trusted.com/a"}),
    Case("http://csrf.example.com/", 403, method="PUT", headers={"referer": "https://evil.com/"}),
    Case("http://csrf.example.com/shut", method="POST", headers=page("https://evil.com")),
    # Keys of clients: the first place that has one decides; backends get the name, not the key.
    Case("http://keyed.example.com/", 401),
    Case("http://keyed.example.com/", 401, headers={"x-api-key": "nonsense"}),
    Case("http://keyed.example.com/", 401, headers={"x-api-key": "client1"}),
    Case(
        "http://keyed.example.com/",
        headers={**KEY, "x-client-id": "admin"},
        seen={"x-client-id": "client1", "x-api-key": None},
    ),
    Case("https://keyed.example.com/", headers=KEY, seen={"x-client-id": "client1"}),
    Case("http://keyed.example.com/?key=othersecret&a=b", path="/?a=b"),
    Case(
        "http://keyed.example.com/",
        headers={"cookie": "a=b; key=othersecret"},
        seen={"x-client-id": "client2"},
    ),
    Case("http://keyed.example.com/?key=supersecret", 401, headers={"x-api-key": "nonsense"}),
    # Names and passwords of users.
    Case("http://basic.example.com/", 401),
    Case("http://basic.example.com/", 401, headers=basic("foo:nonsense")),
    Case("http://basic.example.com/", 401, headers=basic("bar:test1")),
    Case(
        "http://basic.example.com/",
        headers={**basic("foo:test1"), "x-user": "admin"},
        seen={"x-user": "foo"},
    ),
    Case("https://basic.example.com/", headers=basic("foo:test1")),
    # Both, one after the other, for one rule of a route; and rules behind them.
    Case("http://both.example.com/", backend="one"),
    Case("http://both.example.com/shut", 401, headers=KEY),
    Case("http://both.example.com/shut", 401, headers=basic("foo:test1")),
    Case("http://both.example.com/shut", headers={**KEY, **basic("foo:test1")}),
    Case(
        "http://both.example.com/shut",
        403,
        method="POST",
        headers={**KEY, **basic("foo:test1")},
    ),
    Case("http://unknown.example.com/", 500, headers=basic("foo:test1")),
    # What is not served closes; parts of Gateways and routes; nobody else is guarded.
    Case("http://oidc.example.com/", 500),
    Case("http://x.guarded.example.com/", 403),
    Case("http://x.guarded.example.com/", headers={"x-user-id": "me"}),
    Case("http://parts.example.com/", backend="one"),
    Case("http://parts.example.com/shut", 403),
    Case("https://parts.example.com/shut", 403),
]


_IDS = [f"{n} {it.method} {it.url.partition('?')[0]}" for n, it in enumerate(CASES)]
"""Without tokens, which differ in each process."""


@pytest.mark.parametrize("case", CASES, ids=_IDS)
def test_a_request_meets_the_guards_of_its_policy(guarded: Standalone, case: Case) -> None:
    check(guarded, case)
