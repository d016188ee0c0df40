"""Annotations of other controllers: told on every object, and closed where they are to guard."""

from collections.abc import Iterator

import pytest

from contour.status.board import Board
from crds.meta import ObjectRef
from dag import listeners, nodes, services, statuses
from dag.engine.incremental import Engine
from dag.plan import STATUSES
from tests.dag import world
from tests.dag.gateway import manifests as gateways
from tests.dag.httpproxy import manifests as proxies
from tests.dag.ingress import manifests as ingresses
from tests.testbed import pairs

AUTH = "nginx.ingress.kubernetes.io/auth-type"
REWRITE = "nginx.ingress.kubernetes.io/rewrite-target"
BUFFERS = "nginx.ingress.kubernetes.io/proxy-buffer-size"
TYPO = "projectcontour.io/num-retriess"
USE = "; use HTTPProxy spec.virtualhost.authorization"

EDGE = gateways.gateway_class() + gateways.gateway("gw", gateways.http())
SERVICE = gateways.service("s1")
INGRESS = ingresses.ingress("it", f"rules: [{ingresses.rule('a.com', ingresses.path('/', 's1'))}]")
ROOT = proxies.root("it", f"routes: [{proxies.to('s1')}]")
PARENT = proxies.root("parent", "includes: [{name: it}]")
CHILD = proxies.proxy("it", f"routes: [{proxies.to('s1')}]")
ROUTE = gateways.route("it", hosts=("a.com",))
CALLS = ROUTE.replace("HTTPRoute", "GRPCRoute")
GATEWAY = gateways.gateway_class() + gateways.gateway("it")

CASES = {
    "Ingress": (INGRESS, SERVICE),
    "HTTPProxy": (ROOT, SERVICE),
    "HTTPProxy that is included": (CHILD, SERVICE + PARENT),
    "HTTPRoute": (ROUTE, SERVICE + EDGE),
    "GRPCRoute": (CALLS, SERVICE + EDGE),
    "Gateway": (GATEWAY, SERVICE + ROUTE.replace("name: gw", "name: it")),
}


def annotated(manifest: str, name: str, **annotations: str) -> str:
    """The last object of that name, with annotations."""
    text = ", ".join(f"'{key}': '{value}'" for key, value in annotations.items())
    before, mark, after = manifest.rpartition(f"metadata: {{name: {name}")
    return f"{before}{mark}, annotations: {{{text}}}{after}"


def setting(guards: str) -> str:
    return gateways.configuration(f"gateway: {{}}, foreignGuards: {guards}")


def kind_of(case: str) -> str:
    return case.partition(" ")[0]


def served(engine: Engine) -> set[str]:
    """What is answered on the host, or on every host."""
    found = (*world.routes(engine, "a.com"), *world.routes(engine, "*"))
    return {it.rpartition("-> ")[2] for it in found}


def reasons(engine: Engine, kind: str, name: str = "it") -> list[str]:
    """What `contour status` says of an object."""
    board, key = Board(), world.key(name)
    board.put(ObjectRef(kind, *key), engine.answer(STATUSES[kind], key))
    return [it for row in board.rows() for it in row.reasons]


def only(found: list[str], text: str) -> list[str]:
    return [it for it in found if text in it]


@pytest.mark.parametrize("case", CASES)
def test_a_guard_of_another_controller_closes_what_it_guards_and_is_told(case: str) -> None:
    manifest, rest = CASES[case]
    engine = world.world(rest + annotated(manifest, "it", **{AUTH: "basic"}))
    assert served(engine) == {"503"}
    text = f"metadata.annotations[{AUTH}]: belongs to ingress-nginx and guards nothing here, "
    (told,) = only(reasons(engine, kind_of(case)), "belongs to ingress-nginx")
    assert told.endswith(f"{text}so what it guards is closed{USE}")
    world.apply(engine, manifest)
    assert served(engine) == {"default/s1:80"}
    assert only(reasons(engine, kind_of(case)), "ingress-nginx") == []


@pytest.mark.parametrize("case", CASES)
def test_it_is_served_without_its_guard_where_the_configuration_says_so(case: str) -> None:
    manifest, rest = CASES[case]
    text = setting("Report") + rest + annotated(manifest, "it", **{AUTH: "basic"})
    engine = world.world(text)
    assert served(engine) == {"default/s1:80"}
    (told,) = only(reasons(engine, kind_of(case)), "belongs to ingress-nginx")
    assert told.endswith(f"so what it guards is open{USE}")
    world.apply(engine, setting("Closed"))
    assert served(engine) == {"503"}


@pytest.mark.parametrize("case", CASES)
def test_what_opens_nothing_is_told_and_served(case: str) -> None:
    manifest, rest = CASES[case]
    given = {REWRITE: "/", BUFFERS: "8k", TYPO: "3"}
    engine = world.world(rest + annotated(manifest, "it", **given))
    assert served(engine) == {"default/s1:80"}
    found = reasons(engine, kind_of(case))
    assert only(found, f"[{REWRITE}]: belongs to ingress-nginx and has no effect here; use ")
    assert only(found, f"metadata.annotations: have no effect here, and need none: {BUFFERS}")
    (typo,) = only(found, f"[{TYPO}]: is not known on this kind and has no effect")
    near = "projectcontour.io/num-retries?"
    assert typo.endswith(near) is (kind_of(case) == "Ingress")


def _users() -> Iterator[tuple[str, str]]:
    for case, (manifest, rest) in CASES.items():
        if case != "Gateway":
            yield case, manifest + rest


@pytest.mark.parametrize(("case", "text"), list(_users()))
def test_what_stands_on_a_service_is_told_and_closed_wherever_it_is_used(
    case: str, text: str
) -> None:
    name = "haproxy-ingress.github.io/allowlist-source-range"
    guarded = annotated(SERVICE, "s1", **{name: "10.0.0.0/8"})
    engine = world.world(text.replace(SERVICE, "") + guarded)
    assert served(engine) in ({"503"}, {"500"})
    place = f"Service default/s1: metadata.annotations[{name}]: belongs to HAProxy Ingress"
    assert len(only(reasons(engine, kind_of(case)), place)) == 1
    world.apply(engine, setting("Report"))
    assert served(engine) == {"default/s1:80"}
    assert len(only(reasons(engine, kind_of(case)), place)) == 1


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("max-connections", "lots", "'lots' is no number from 0 to 4294967295"),
        ("max-retries", "-1", "'-1' is no number from 0 to 4294967295"),
        ("max-requests", "4294967296", "'4294967296' is no number from 0 to 4294967295"),
        ("per-host-max-connections", "4294967295", ""),
        ("max-pending-requests", "0", ""),
        ("upstream-protocol.tls", "80, 8443", "'8443' is no port of the Service"),
        ("upstream-protocol.h2c", "http", "'http' is no port of the Service"),
        ("upstream-protocol.h2", "80,", ""),
    ],
)
def test_a_value_on_a_service_without_effect_is_told_where_it_is_used(
    name: str, value: str, why: str
) -> None:
    given = annotated(SERVICE, "s1", **{f"projectcontour.io/{name}": value})
    engine = world.world(given + ROOT)
    upstream = engine.ask(services.upstream, (world.key("s1"), 80))
    assert isinstance(upstream, services.Upstream)
    assert (upstream.limits is None) is (name != "per-host-max-connections")
    found = world.messages(engine, "HTTPProxy", "it")
    place = f"Service default/s1: metadata.annotations[projectcontour.io/{name}]"
    assert found == ([f"?SpecError/IgnoredField: {place}: {why}; it has no effect"] if why else [])


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_a_stream_with_a_guard_is_closed(protocol: str) -> None:
    raw = gateways.stream_route(f"{protocol}Route", "it", "{name: s1, port: 80}")
    guarded = annotated(raw, "it", **{AUTH: "basic"})
    edge = gateways.gateway("gw", gateways.listener("raw", 90, protocol))
    port = f"port: 80, protocol: {protocol}"
    engine = world.world(
        gateways.gateway_class() + edge + gateways.service("s1", port=port) + guarded
    )

    def stream() -> nodes.Stream | None:
        key = nodes.ListenerKey(world.FLEET, f"{protocol.lower()}-90")
        found = engine.answer(listeners.listener, key)
        return found.stream if found is not None else None

    assert stream() == nodes.Stream((nodes.WeightedCluster(None),))
    world.apply(engine, raw)
    assert stream() != nodes.Stream((nodes.WeightedCluster(None),))


STREAM = "tcpproxy: {services: [{name: s1, port: 80}]}"
INCLUDING = proxies.tls_root("parent", "tcpproxy: {include: {name: it}}")


@pytest.mark.parametrize(
    ("manifest", "rest"),
    [(proxies.tls_root("it", STREAM), ""), (proxies.proxy("it", STREAM), INCLUDING)],
)
def test_the_tls_of_a_closed_host_stays_and_its_stream_is_closed(manifest: str, rest: str) -> None:
    given = pairs.secret("cert") + SERVICE + rest
    engine = world.world(given + manifest)
    closed = nodes.Stream((nodes.WeightedCluster(None),))
    assert world.secure_host(engine, "a.com").stream not in (None, closed)
    world.apply(engine, annotated(manifest, "it", **{AUTH: "basic"}))
    assert world.secure_host(engine, "a.com").stream == closed


def test_the_condition_of_a_guard_is_an_alarm() -> None:
    engine = world.world(SERVICE + EDGE + setting("Report") + annotated(
        ROUTE, "it", **{AUTH: "basic"}
    ))  # fmt: skip
    found = engine.answer(STATUSES["HTTPRoute"], world.key("it"))
    assert isinstance(found, statuses.RouteStatus)
    (told,) = [it for it in found.parents[0].conditions if it.type == "UnservedGuard"]
    assert (told.status, told.reason) == ("True", "ForeignGuard")
    (accepted,) = [it for it in found.parents[0].conditions if it.type == "Accepted"]
    assert accepted.status == "True"


def test_an_annotation_of_another_controller_wakes_its_own_object_alone() -> None:
    def cost(size: int) -> int:
        hosts = (ingresses.rule(f"h{it}.com", ingresses.path("/", "s1")) for it in range(size))
        others = (ingresses.ingress(f"i{n}", f"rules: [{it}]") for n, it in enumerate(hosts))
        engine = world.world(SERVICE + INGRESS + "".join(others))
        before = engine.work.runs
        world.apply(engine, annotated(INGRESS, "it", **{REWRITE: "/"}))
        return engine.work.runs - before

    assert cost(3) == cost(60) < 20
