"""What differs between two small worlds, as the author of the change is told it."""

from collections.abc import Iterator

import pytest

from dag.comparison import Difference, Harm, Uncompared, worlds
from dag.comparison.worlds import K, V
from dag.engine.incremental import Engine
from dag.engine.view import Query
from tests.dag import world
from tests.testbed import certificates, pairs

SERVICES = "".join(
    f"""
---
apiVersion: v1
kind: Service
metadata: {{name: {name}}}
spec: {{ports: [{{port: 80}}]}}
"""
    for name in ("web", "new")
)
SECRET = pairs.of("tls", certificates.self_signed("shop.example.com"))


def proxy(*routes: str, host: str = "shop.example.com", more: str = "") -> str:
    entries = "".join(f"  - {{{it}}}\n" for it in routes)
    return f"""
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: shop}}
spec:
  virtualhost: {{fqdn: '{host}'{more}}}
  routes:
{entries}"""


def to(service: str, path: str = "/", more: str = "") -> str:
    return f"conditions: [{{prefix: {path}}}], services: [{{name: {service}, port: 80}}]{more}"


def on(conditions: str, service: str = "web", more: str = "") -> str:
    return f"conditions: [{conditions}], services: [{{name: {service}, port: 80}}]{more}"


def having(header: str, service: str) -> str:
    return on(f"{{header: {{name: {header}, present: true}}}}", service)


UNKNOWN = r"{regex: '/\Qa\E'}"
"""No text is made up for this expression."""
ALLOW = ", ipAllowPolicy: [{source: Peer, cidr: 10.0.0.0/8}]"
WEB = "Service default/web:80"
NEW = "Service default/new:80"

GATEWAY = """
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: contour}
spec: {controllerName: projectcontour.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw}
spec:
  gatewayClassName: contour
  listeners: [{name: http, port: %d, protocol: HTTP%s}]
"""


def gateway_route(rule: str, port: int = 80, hosts: str = "shop.example.com") -> str:
    return (
        (GATEWAY % (port, ""))
        + f"""
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: shop}}
spec: {{parentRefs: [{{name: gw}}], hostnames: [{hosts}], rules: [{{{rule}}}]}}
"""
    )


def backend(service: str, more: str = "") -> str:
    return f"{{name: {service}, port: 80{more}}}"


PLAIN = "name http; protocol TCP; number 80; bound 8080"
SECURE = "name https; protocol TCP; number 443; bound 8443"
OTHER = "name http-8080; protocol TCP; number 8080; bound 16080"
MIRRORED = ", filters: [{type: RequestMirror, requestMirror: {backendRef: {name: web, port: 80}}}]"


def drawn(weight: int, service: str = "web") -> str:
    first = backend(service, f", weight: {weight}{MIRRORED}")
    return gateway_route(f"backendRefs: [{first}, {backend('web')}]")


PRECONNECT = """
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}]
  connection: {preconnect: {perEndpointPercent: 150}}
"""

INGRESS = """
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop}
spec:
  rules:
  - host: '*.example.com'
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
"""

WIDER = proxy(to("new"), host="*.example.com", more=", tls: {secretName: tls}").replace(
    "name: shop}", "name: wider}"
)

CASES = {
    "nothing": (proxy(to("web")), proxy(to("web")), []),
    "another Service": (
        proxy(to("web")), proxy(to("new")), [f"/*: answer: {WEB} -> {NEW}"],
    ),
    "a shadowed route": (
        proxy("services: [{name: web, port: 80}]"),
        proxy("services: [{name: web, port: 80}]", to("web", "/cart")),
        [],
    ),
    "a longer prefix": (
        proxy(to("web")), proxy(to("web"), to("new", "/cart")),
        [f"/cart*: answer: {WEB} -> {NEW}"],
    ),
    "a timeout": (
        proxy(to("web")), proxy(to("web", more=", timeoutPolicy: {response: 5s}")),
        ["/*: timeout:  -> 5 s"],
    ),
    "a duration and a ratio": (
        proxy(to("web")),
        proxy(
            "services: [{name: web, port: 80, slowStartPolicy: {window: 10s, aggression: '1.5'}}]"
        ),
        ["/*: backend slow start: none -> window 10 s; aggression 1.5"],
    ),
    "another backend beside": (
        proxy(to("web")),
        proxy("services: [{name: web, port: 80}, {name: new, port: 80}]"),
        [f"/*: answer: {WEB} -> {WEB} (weight 1), {NEW} (weight 1)"],
    ),
    "another backend beside, with a slow start": (
        proxy(to("web")),
        proxy(
            "services: [{name: web, port: 80},"
            " {name: new, port: 80, slowStartPolicy: {window: 10s}}]"
        ),
        [
            f"/*: answer: {WEB} -> {WEB} (weight 1), {NEW} (weight 1)",
            "/*: backend slow start: none -> none, window 10 s",
        ],
    ),
    "a share that is mirrored": (
        gateway_route(f"backendRefs: [{backend('web')}]"),
        gateway_route(f"backendRefs: [{backend('web')}]{MIRRORED}"),
        ["/*: mirrors:  -> Service default/web:80 (100%)"],
    ),
    "connections that are opened beforehand": (
        gateway_route(f"backendRefs: [{backend('web')}]"),
        gateway_route(f"backendRefs: [{backend('web')}]") + PRECONNECT,
        ["/*: backend connections: none -> preconnect per endpoint 1.5"],
    ),
    "a guard that is gone": (
        proxy(to("web", more=ALLOW)), proxy(to("web")),
        ["/*: ip filter: action ALLOW; ranges cidr 10.0.0.0/8 ->  (unguarded)"],
    ),
    "a guard that has come": (
        proxy(to("web")), proxy(to("web", more=ALLOW)),
        ["/*: ip filter:  -> action ALLOW; ranges cidr 10.0.0.0/8"],
    ),
    "a host that is gone": (
        proxy(to("web")), "", [f"/*: answer: {WEB} -> answered 404 (closed)"],
    ),
    "a host of a wider one": (
        proxy(to("web"), host="*.example.com"),
        proxy(to("web"), host="*.example.com") + proxy(to("new")).replace("shop}", "other}"),
        [f"/*: answer: {WEB} -> {NEW}"],
    ),
    "a Service that is missing": (
        proxy(to("web")), proxy(to("nobody")), [f"/*: answer: {WEB} -> answered 503 (closed)"],
    ),
    "two conditions that meet": (
        proxy(having("x", "web")), proxy(having("x", "web"), having("y", "new")),
        [f"/*, with 1 header condition: answer: answered 404 -> {NEW}"],
    ),
    "an expression of which no text is known": (
        proxy(on(UNKNOWN), to("web")), proxy(on(UNKNOWN, "new"), to("web")),
        [rf"the expression /\Qa\E: answer: {WEB} -> {NEW}"],
    ),
    "one that goes, and nothing else takes its requests": (
        proxy(on(UNKNOWN), on("{exact: /b}")), proxy(on("{exact: /b}")),
        [rf"the expression /\Qa\E: answer: {WEB} -> answered 404 (closed)"],
    ),
    "one that goes, and another may take some of its requests": (
        proxy(on(UNKNOWN), to("web")), proxy(on("{regex: '/[b-z]'}"), to("web")),
        [r"the expression /\Qa\E: not compared"],
    ),
    "a route whose requests all go to another": (
        proxy(on("{regex: /a.*}")), proxy(on("{regex: /a.*}"), to("new", "/a")),
        ["/a*: not compared"],
    ),
    "a route behind one for requests without a header": (
        proxy(on("{header: {name: x, notpresent: true}}"), to("web")),
        proxy(on("{header: {name: x, notpresent: true}}"), to("new")),
        [f"/*: answer: {WEB} -> {NEW}"],
    ),
    "a condition that another meets by its simplest value": (
        proxy(on("{header: {name: x, exact: a}}"), on("{header: {name: x, contains: a}}")),
        proxy(on("{header: {name: x, exact: a}}"), on("{header: {name: x, contains: a}}", "new")),
        [f"/*, with 1 header condition: answer: {WEB} -> {NEW}"],
    ),
    "an expression some of whose paths have a route of their own": (
        proxy(on("{regex: '/(a|b)/.*'}"), to("new", "/b/"), to("web")),
        proxy(to("new", "/b/"), to("web")),
        [f"the expression /(a|b)/.*: answer: {WEB} -> {NEW}"],
    ),
    "a route for names of several labels": (
        INGRESS, INGRESS + gateway_route(f"backendRefs: [{backend('new')}]", 80, "'*.example.com'"),
        [f"/*: answer: {WEB} -> {NEW}", f"/*: answer: answered 404 -> {NEW}"],
    ),
    "several hosts": (
        gateway_route(f"backendRefs: [{backend('web')}]", 80, "a.test, b.test"),
        gateway_route(f"backendRefs: [{backend('web')}]", 80, "b.test, c.test"),
        [f"/*: answer: {WEB} -> answered 404 (closed)", f"/*: answer: answered 404 -> {WEB}"],
    ),
    "another port": (
        gateway_route(f"backendRefs: [{backend('web')}]"),
        gateway_route(f"backendRefs: [{backend('web')}]", 8080),
        [
            f"fleet contour: ports: {PLAIN}, {SECURE} -> {SECURE}, {OTHER}",
            "port 8080: listener:  -> HTTP",
            "port 80: listener: HTTP ->  (closed)",
            f"/*: answer: answered 404 -> {WEB}",
            f"/*: answer: {WEB} -> answered 404 (closed)",
        ],
    ),
    "a method": (
        gateway_route(f"matches: [{{method: POST}}], backendRefs: [{backend('web')}]"),
        gateway_route(f"matches: [{{method: POST}}], backendRefs: [{backend('new')}]"),
        [f"POST /*: answer: {WEB} -> {NEW}"],
    ),
    "the backend of a drawn share": (
        drawn(1), drawn(1, "new"), [f"/*: answer: {WEB} -> {NEW}"],
    ),
    "a drawn share": (
        drawn(1), drawn(3), ["/*: share of requests: 50% -> 75%"],
    ),
    "a certificate that is missing, and a wider host": (
        SECRET + WIDER + proxy(to("web", more=ALLOW), more=", tls: {secretName: tls}"),
        SECRET + WIDER + proxy(to("web", more=ALLOW), more=", tls: {secretName: gone}"),
        [
            "TLS: certificate: Secret default/tls ->  (closed)",
            "/*: answer: redirected with 301 to https://the same host -> answered 503 (closed)",
            f"/*: answer: {WEB} -> answered 421 (closed)",
            "/*: ip filter: action ALLOW; ranges cidr 10.0.0.0/8 -> ",
        ],
    ),
    "TLS that is gone": (
        SECRET + proxy(to("web"), more=", tls: {secretName: tls}"), proxy(to("web")),
        [
            "TLS: certificate: Secret default/tls ->  (closed)",
            f"/*: answer: redirected with 301 to https://the same host -> {WEB}",
            f"/*: answer: {WEB} -> answered 404 (closed)",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_told(name: str) -> None:
    before, after, wanted = CASES[name]
    assert list(told(before, after)) == wanted


def told(before: str, after: str) -> Iterator[str]:
    old, new = (world.world(SERVICES + it) for it in (before, after))
    for it in worlds.differences(old, new):
        if isinstance(it, Uncompared):
            yield f"{it.what}: not compared"
        else:
            harm = f" ({it.harm})" if it.harm else ""
            yield f"{it.what}: {it.aspect}: {it.before} -> {it.after}{harm}"


LOST = "ip filter: action ALLOW; ranges cidr 10.0.0.0/8 ->  (unguarded)"


@pytest.mark.parametrize(
    ("condition", "what"),
    [
        ("{cookie: {name: canary, exact: always}}", "/*, with 1 header condition"),
        (
            "{cookie: {name: a, contains: b}}, {cookie: {name: c, regex: '[0-9]+'}}",
            "/*, with 2 header conditions",
        ),
        ("{header: {name: x-user, regex: '[a-z]+-admin'}}", "/*, with 1 header condition"),
        ("{header: {name: x, notcontains: any}}", "/*, with 1 header condition"),
        (r"{header: {name: x, regex: '\Qa\E'}}", "/*, with 1 header condition"),
        ("{header: {name: ':method', notexact: GET}}", "/*"),
        ("{header: {name: ':method', regex: 'PUT|PATCH'}}", "/*"),
        ("{header: {name: ':path', regex: '/a[?]b=[0-9]'}}", "/*"),
        ("{header: {name: ':authority', regex: '.*:8080'}}", "/*"),
        ("{queryParameter: {name: q, regex: '[0-9]+'}}", "/*, with 1 query condition"),
        (
            "{queryParameter: {name: q, prefix: a}}, {queryParameter: {name: q, suffix: b}}",
            "/*, with 2 query conditions",
        ),
        ("{regex: '/v[0-9]+/admin.*'}", "the expression /v[0-9]+/admin.*"),
        (r"{regex: '/\Qa\E'}", r"the expression /\Qa\E"),
    ],
)
def test_a_guard_that_goes_is_told_whatever_the_conditions_of_its_route(
    condition: str, what: str
) -> None:
    guarded = proxy(on(condition, more=ALLOW), to("web"))
    assert list(told(guarded, proxy(to("web")))) == [f"{what}: {LOST}"]


POLICY = """
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: {name: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}]
  %s
"""
USERS = """
---
apiVersion: v1
kind: Secret
metadata: {name: users}
stringData: {.htpasswd: "me:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="}
"""


@pytest.mark.parametrize(
    ("policy", "aspect"),
    [
        ("authorization: {defaultAction: Deny}", "access"),
        ("basicAuth: {users: {name: users}}", "authentication"),
        ("csrf: {}", "csrf"),
    ],
)
def test_a_policy_that_goes_leaves_its_route_unguarded(policy: str, aspect: str) -> None:
    given = USERS + gateway_route(f"backendRefs: [{backend('web')}]")
    (line,) = told(given + POLICY % policy, given)
    assert line.startswith(f"/*: {aspect}: ")
    assert line.endswith(" ->  (unguarded)")


def passed(service: str = "web", more: str = "", tls: str | None = "}") -> str:
    """A host with a `tcpproxy`. `tls` ends how TLS is terminated; if None, it is passed on."""
    terms = ", tls: {passthrough: true}" if tls is None else f", tls: {{secretName: tls{tls}"
    stream = f"  tcpproxy: {{services: [{{name: {service}, port: 80}}]}}\n"
    return SECRET + proxy(more=terms + more).replace("  routes:\n", stream)


def tcp(service: str) -> str:
    return (
        (GATEWAY % (9000, "")).replace("HTTP}", "TCP}")
        + f"""
---
apiVersion: gateway.networking.k8s.io/v1alpha2
kind: TCPRoute
metadata: {{name: shop}}
spec: {{parentRefs: [{{name: gw}}], rules: [{{backendRefs: [{{name: {service}, port: 80}}]}}]}}
"""
    )


@pytest.mark.parametrize(
    ("before", "after", "harm"),
    [
        (passed(), passed("new"), None),
        (passed(), passed(more=ALLOW), None),
        (passed(more=ALLOW), passed(), "unguarded"),
        (passed(), passed("gone"), "closed"),
        (tcp("web"), tcp("new"), None),
        (tcp("web"), tcp("gone"), "closed"),
        (tcp("gone"), tcp("web"), None),
    ],
)
def test_what_hurts_connections_is_marked(before: str, after: str, harm: Harm | None) -> None:
    old, new = (world.world(SERVICES + it) for it in (before, after))
    (found,) = (it for it in worlds.differences(old, new) if it.place.listener)
    assert isinstance(found, Difference)
    assert found.harm == harm


CHECKED = ", clientValidation: {caSecret: ca}}"


@pytest.mark.parametrize(
    ("before", "after", "harms"),
    [
        (passed(tls=CHECKED), passed(tls=None), ["unguarded"]),
        (passed(), passed(tls=None), [None]),
        (passed(tls=CHECKED), passed("gone", tls=None), ["closed", None]),
        (passed(tls=CHECKED), passed(), ["unguarded"]),
    ],
)
def test_certificates_that_nobody_checks_any_more_are_marked(
    before: str, after: str, harms: list[Harm | None]
) -> None:
    given = SERVICES + pairs.authority("ca")
    old, new = (world.world(given + it) for it in (before, after))
    found = [it for it in worlds.differences(old, new) if it.place.listener]
    assert [it.harm for it in found if isinstance(it, Difference)] == harms


LET_IN = ", ipAllowPolicy: [{source: Peer, cidr: 127.0.0.0/8}]"


@pytest.mark.parametrize(
    ("one", "other", "has_example"),
    [
        (to("web"), to("new"), True),
        (to("web", more=LET_IN), to("new", more=LET_IN), True),
        (to("web", more=ALLOW), to("new", more=ALLOW), False),
        (having("x-one", "web"), having("x-one", "new"), True),
        (having("x_one", "web"), having("x_one", "new"), False),  # which listeners refuse
        (to("web"), to("web", more=", timeoutPolicy: {response: 5s}"), True),
    ],
)
def test_an_example_is_answered_differently(one: str, other: str, has_example: bool) -> None:
    old, new = (world.world(SERVICES + proxy(it)) for it in (one, other))
    found = next(worlds.differences(old, new))
    assert isinstance(found, Difference)
    assert (found.example is not None) == has_example


FILTER = (
    ", filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: HTTP, http: {},"
    " backendRef: {name: web, port: 80}}}]}"
)


def test_a_filter_of_a_listener_that_goes_leaves_it_unguarded() -> None:
    with_filter, without = (world.world(SERVICES + GATEWAY % (80, it)) for it in (FILTER, ""))
    for old, new, harm in ((with_filter, without, "unguarded"), (without, with_filter, "drained")):
        found = [it for it in worlds.differences(old, new) if isinstance(it, Difference)]
        assert ("filter gateway/default/gw/http/0", harm) in [(it.what, it.harm) for it in found]


CLIENTS = """
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: ClientTrafficPolicy
metadata: {name: edge}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gw}]
  clientIPDetection: {xForwardedFor: {numTrustedHops: %d}}
"""
ROUTE = """
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r%d}
spec: {parentRefs: [{name: gw}], hostnames: [h%d.example.com]}
"""


class Walked:
    """A world that counts how often all answers of a query are read."""

    def __init__(self, of: Engine) -> None:
        self.walks = 0
        self.answer, self.bucket, self._of = of.answer, of.bucket, of

    def answers(self, query: Query[K, V]) -> Iterator[tuple[K, V]]:
        self.walks += 1
        return self._of.answers(query)


def test_all_hosts_are_read_as_often_for_many_hosts_whose_tls_differs_as_for_few() -> None:
    def walks(size: int) -> int:
        text = SECRET + GATEWAY % (443, "S, tls: {certificateRefs: [{name: tls}]}")
        text += "".join(ROUTE % (it, it) for it in range(size))
        old, new = (Walked(world.world(text + CLIENTS % it)) for it in (1, 2))
        assert len(list(worlds.differences(old, new))) > size
        return old.walks + new.walks

    assert walks(2) == walks(20)
