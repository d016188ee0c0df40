"""What a change costs: as much with 3,000 routes on the Gateway as with 30."""

from collections.abc import Callable

import pytest
import yaml

from crds.decode import Decoded, decode
from dag import hosts, nodes, tables
from dag.engine.incremental import Engine
from dag.engine.work import Work
from dag.gateway import addresses
from dag.statuses import Address
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    backend,
    configuration,
    gateway,
    gateway_class,
    grant,
    host,
    http,
    listener_set,
    namespace,
    on,
    policy,
    route,
    service,
    stream_route,
    telemetry_policy,
    to,
    xbackend,
    xbackend_traffic_policy,
)
from tests.dag.world import FLEET, apply, delete, key, world
from tests.testbed import pairs

SIZES = (30, 3000)


def crowd(size: int) -> Engine:
    """A Gateway with many routes, each for a host of its own."""
    open_ = gateway("gw", rest="allowedListeners: {namespaces: {from: All}}")
    trusting = policy("p2", f"hostname: a.com, caCertificateRefs: [{_BUNDLE}]", target="s2")
    few = route("far", to(_TO_FAR), hosts=("far.com",)) + route("s2", to("s2"), hosts=("s2.com",))
    named = "targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gw}]"
    whole = _attached("whole", named, "whole")
    few += route("there", _TO_THERE, hosts=("there.com",))
    few += backend("there", _THERE) + backend("spare", _THERE)
    known = xbackend("far", _FAR) + pairs.trust_bundle("known") + trusting + few
    known += namespace("default")
    names = configuration("enableExternalNameService: true")
    it = world(gateway_class() + open_ + names + service("s1") + service("s2") + known + whole)
    template = yaml.load(route("r"), yaml.CSafeLoader)
    for number in range(size):
        name = f"r{number}"
        spec = template["spec"] | {"hostnames": [f"h{number}.com"]}
        found = decode(template | {"metadata": {"name": name}, "spec": spec})
        assert isinstance(found, Decoded)
        it.write(tables.HTTPROUTES, key(name), found.object)
    it.settle()
    return it


CHANGES: dict[str, Callable[[Engine], None]] = {
    "a route comes": lambda it: apply(it, route("new", hosts=("new.com",))),
    "a route goes": lambda it: delete(it, "HTTPRoute", "r7"),
    "a route is edited": lambda it: apply(it, route("r7", on("/x", "s1"), hosts=("h7.com",))),
    "a route takes another host": lambda it: apply(it, route("r7", hosts=("else.com",))),
    "a route joins the host of another": lambda it: apply(it, route("new", hosts=("h7.com",))),
    "a route takes the matches of another": lambda it: apply(
        it, route("a-first", hosts=("h9.com",))
    ),
    "a Service that no route knows comes": lambda it: apply(it, service("other")),
    "a grant that no route needs comes": lambda it: apply(it, grant("g", "default")),
    "a route of another Gateway comes": lambda it: apply(it, route("x", parents="{name: other}")),
    "a GRPCRoute comes": lambda it: apply(
        it, route("calls", hosts=("calls.com",)).replace("HTTPRoute", "GRPCRoute")
    ),
    "a TLSRoute that finds no listener comes": lambda it: apply(
        it, stream_route("TLSRoute", "t", "{name: s1, port: 80}", hosts="[t.com]")
    ),
    "a policy for a Service that no route knows comes": lambda it: apply(
        it, policy("p", "hostname: a.com, wellKnownCACertificates: System", target="other")
    ),
    "a ListenerSet comes": lambda it: apply(it, listener_set("s", http("x", host("x.com")))),
    "a policy of a route comes": lambda it: apply(it, _attached("one", _R9)),
    "a policy of a route is edited": lambda it: apply(it, _attached("two", _R9)),
    "a traffic policy of a route comes": lambda it: apply(it, _traffic(1)),
    "a traffic policy of a route is edited": lambda it: apply(it, _traffic(2)),
    "a policy of a route that is merged comes": lambda it: apply(it, _merged("one")),
    "a policy of a route that is merged is edited": lambda it: apply(it, _merged("two")),
    "a policy of a route that is merged goes": lambda it: delete(it, "SecurityPolicy", "sp"),
    "a policy for labels that no route has comes": lambda it: apply(
        it, _attached("one", "targetSelectors: [{kind: HTTPRoute, matchLabels: {a: b}}]", "other")
    ),
    "a policy of clients of the Gateway comes": lambda it: apply(it, _taking(1)),
    "a policy of clients of the Gateway is edited": lambda it: apply(it, _taking(2)),
    "a policy of clients of the Gateway goes": lambda it: delete(it, "ClientTrafficPolicy", "ctp"),
    "an XBackend that no route knows comes": lambda it: apply(it, xbackend("other", _FAR)),
    "an XBackend is edited": lambda it: apply(it, xbackend("far", _FAR.replace("a.com", "b.com"))),
    "a reference to an XBackend comes": lambda it: apply(
        it, route("to-far", to(_TO_FAR), hosts=("to.far.com",))
    ),
    "a Backend that no route knows comes": lambda it: apply(it, backend("other", _THERE)),
    "a Backend is edited": lambda it: apply(it, backend("there", _THERE.replace(".1", ".2"))),
    "a Backend becomes a fallback": lambda it: apply(
        it, backend("spare", f"{_THERE}, fallback: true")
    ),
    "a Backend goes": lambda it: delete(it, "Backend", "there"),
    "a policy of retries for a Service that no route knows comes": lambda it: apply(
        it, xbackend_traffic_policy("x", _BOUNDED, ("other",))
    ),
    "a policy of retries comes": lambda it: apply(
        it, xbackend_traffic_policy("x", _BOUNDED, ("s2",))
    ),
    "a policy of retries is edited": lambda it: apply(
        it, xbackend_traffic_policy("x", _BOUNDED.replace("10", "11"), ("s2",))
    ),
    "another policy of retries loses": lambda it: apply(
        it, xbackend_traffic_policy("y", _BOUNDED, ("s2",))
    ),
    "a policy of retries goes": lambda it: delete(it, "XBackendTrafficPolicy", "x"),
    "an XBackend goes": lambda it: delete(it, "XBackend", "far"),
    "a ClusterTrustBundle that nobody knows comes": lambda it: apply(it, pairs.trust_bundle("x")),
    "a ClusterTrustBundle is emptied": lambda it: apply(it, pairs.trust_bundle("known", b"")),
    "a ClusterTrustBundle comes back": lambda it: apply(it, pairs.trust_bundle("known")),
    "a telemetry policy of another Gateway comes": lambda it: apply(
        it, telemetry_policy("t", _TRACED, ("other",))
    ),
    "a telemetry policy comes": lambda it: apply(it, telemetry_policy("t", _TRACED)),
    "a telemetry policy is edited": lambda it: apply(
        it, telemetry_policy("t", f"{_TRACED}, serviceName: edge")
    ),
    "a telemetry policy goes": lambda it: delete(it, "XTelemetryPolicy", "t"),
    "a route with retries, a session and rewrites comes": lambda it: apply(
        it, route("new-fields", _REWRITTEN, hosts=("new.fields.com",))
    ),
    "the GatewayClass gets a label": lambda it: apply(
        it, gateway_class().replace("name: contour", "name: contour, labels: {a: b}")
    ),
    "the namespace of all routes gets a label": lambda it: apply(it, namespace("default", "a: b")),
    "a Service gets a cluster IP": lambda it: _assign(it, "10.96.0.1"),
    "another cluster IP comes": lambda it: _assign(it, "10.96.0.1", "10.96.0.2"),
}
_FAR = "type: ExternalHostname, externalHostname: {hostname: a.com}, port: {number: 80}"
_BOUNDED = "retryConstraint: {budget: {percent: 10}}, sessionPersistence: {cookie: {}}"
_THERE = "endpoints: [{ip: {address: 10.0.0.1, port: 80}}]"
_EACH = "{{group: gateway.envoyproxy.io, kind: Backend, name: {}}}"
_TO_THERE = f"{{backendRefs: [{_EACH.format('there')}, {_EACH.format('spare')}]}}"
_TO_FAR = "{group: gateway.networking.x-k8s.io, kind: XBackend, name: far}"
_BUNDLE = "{group: certificates.k8s.io, kind: ClusterTrustBundle, name: known}"
_TRACED = "mode: Enabled, provider: {backendRef: {name: s1, port: 80}}"
_R9 = "targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r9}]"


def _attached(value: str, targets: str, name: str = "sp") -> str:
    """A SecurityPolicy."""
    header = f"headers: [{{name: x, values: [{value}]}}]"
    rules = f"authorization: {{rules: [{{action: Allow, principal: {{{header}}}}}]}}"
    return (
        "---\n{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: SecurityPolicy, "
        f"metadata: {{name: {name}, namespace: default}}, spec: {{{targets}, {rules}}}}}\n"
    )


def _merged(value: str) -> str:
    """A SecurityPolicy that is merged with that of the Gateway."""
    return _attached(value, f"{_R9}, mergeType: StrategicMerge")


def _taking(hops: int) -> str:
    """A ClientTrafficPolicy of the Gateway."""
    target = "{group: gateway.networking.k8s.io, kind: Gateway, name: gw}"
    asked = f"clientIPDetection: {{xForwardedFor: {{numTrustedHops: {hops}}}}}"
    return (
        "---\n{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: ClientTrafficPolicy, "
        "metadata: {name: ctp, namespace: default}, "
        f"spec: {{targetRefs: [{target}], {asked}}}}}\n"
    )


def _traffic(seconds: int) -> str:
    """A BackendTrafficPolicy."""
    return (
        "---\n{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: BackendTrafficPolicy, "
        f"metadata: {{name: tp, namespace: default}}, spec: {{{_R9}, "
        f"timeout: {{http: {{requestTimeout: {seconds}s}}}}}}}}\n"
    )


_REWRITE = "filters: [{type: URLRewrite, urlRewrite: {hostname: b.com}}]"
_REWRITTEN: str = (
    "{retry: {attempts: 0}, sessionPersistence: {cookie: {}},"
    f" backendRefs: [{{name: s1, port: 80, {_REWRITE}}}]}}"
)


def _assign(it: Engine, *found: str) -> None:
    """Gives the Gateway's Service addresses of the cluster."""
    within = tuple(Address("IPAddress", each) for each in found)
    for table in (addresses.ASSIGNED, addresses.CLUSTER_IPS):
        it.write(table, FLEET, within or None)
    it.settle()


def work(it: Engine, change: Callable[[Engine], None]) -> tuple[int, int, int]:
    it.work = Work()
    change(it)
    return it.work.runs, it.work.checks, it.work.woken


def assert_alike(small: tuple[int, int, int], large: tuple[int, int, int]) -> None:
    """How many answers are marked stale depends on the order of the members of buckets, too."""
    assert small[:2] == large[:2]
    assert large[2] <= 1.5 * small[2]


@pytest.fixture(scope="module", name="crowds")
def _crowds() -> tuple[Engine, ...]:
    return tuple(map(crowd, SIZES))


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_costs_as_much_with_many_routes_as_with_few(
    crowds: tuple[Engine, ...], name: str
) -> None:
    small, large = (work(it, CHANGES[name]) for it in crowds)
    assert_alike(small, large)
    assert max(small) < 120


@pytest.mark.parametrize(
    ("labels", "spec"), [("labels: {a: b}", ""), ("", ", addresses: [{routability: Cluster}]")]
)
def test_a_label_or_field_that_routes_do_not_read_leaves_them_alone(labels: str, spec: str) -> None:
    it = crowd(30)
    after = gateway("gw", rest=f"allowedListeners: {{namespaces: {{from: All}}}}{spec}")
    after = after.replace("name: gw,", f"name: gw, {labels},") if labels else after
    runs, _, woken = work(it, lambda it: apply(it, after))
    assert runs < 20
    assert woken > 60
    assert status_text.attached(it) == {"http": 33}


def sets(size: int) -> Engine:
    """A Gateway with many ListenerSets of eight listeners, each with a host and a route."""
    it = world(
        gateway_class()
        + gateway("gw", rest="allowedListeners: {namespaces: {from: All}}")
        + service("s1")
        + "".join(_set(number) for number in range(size))
    )
    assert status_text.set_listener(it, "l0", "s0") == ["Accepted", "ResolvedRefs", "Programmed"]
    return it


def _set(number: int) -> str:
    listeners = (http(f"l{n}", host(f"h{n}.s{number}.com")) for n in range(8))
    parent = f"{{name: s{number}, kind: ListenerSet}}"
    return listener_set(f"s{number}", *listeners) + route(f"r{number}", parents=parent)


SET_CHANGES: dict[str, Callable[[Engine], None]] = {
    "a set comes": lambda it: apply(it, _set(1000)),
    "a set goes": lambda it: delete(it, "ListenerSet", "s2"),
    "a set is edited": lambda it: apply(it, listener_set("s1", http("l0", host("new.com")))),
    "a route of a set comes": lambda it: apply(
        it, route("new", parents="{name: s1, kind: ListenerSet, sectionName: l0}")
    ),
    "a filter of a set's listener comes": lambda it: apply(it, _filtered("/a")),
    "a filter of a set's listener is edited": lambda it: apply(it, _filtered("/b")),
}


def _filtered(path: str) -> str:
    asked = f"protocol: HTTP, http: {{path: {path}}}, backendRef: {{name: s1, port: 80}}"
    filters = f"filters: {{requests: [{{type: ExternalAuth, externalAuth: {{{asked}}}}}]}}"
    return listener_set("s3", http("l0", f"{host('h0.s3.com')}, {filters}"))


@pytest.fixture(scope="module", name="many_sets")
def _many_sets() -> tuple[Engine, ...]:
    return sets(5), sets(100)


@pytest.mark.parametrize("name", SET_CHANGES)
def test_a_change_costs_as_much_with_many_sets_as_with_few(
    many_sets: tuple[Engine, ...], name: str
) -> None:
    small, large = (work(it, SET_CHANGES[name]) for it in many_sets)
    assert_alike(small, large)


def test_many_rules_to_one_service_lead_to_one_cluster() -> None:
    routes = (
        route(f"r{n}", *(on(f"/{n}/{m}", "s1") for m in range(16)), hosts=(f"h{n}.com",))
        for n in range(16)
    )
    it = world(gateway_class() + gateway("gw") + service("s1") + "".join(routes))
    found = [
        route_.action.backends[0].cluster
        for n in range(16)
        if (host_ := it.answer(hosts.virtual_host, _http(f"h{n}.com"))) is not None
        for route_ in host_.routes
        if isinstance(route_.action, nodes.Forward)
    ]
    assert len(found) == 256
    assert len(set(found)) == 1


def _http(name: str) -> nodes.HostKey:
    return nodes.HostKey(FLEET, "ingress_http", name)
