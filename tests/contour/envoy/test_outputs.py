"""From changed nodes to changed parts, by the real engine."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contour.envoy import (
    authenticating,
    credentials,
    extending,
    http3,
    limits,
    listenershaping,
    listening,
    monitors,
    names,
    outputs,
    patching,
    routing,
    runtime,
    shaping,
    shards,
    streamshaping,
    translating,
)
from contour.envoy.grpcclients import queries as grpcclients
from contour.xds import resources
from crds.meta import NamespacedName
from dag import nodes, services, tables
from dag.configuration.reading import Settings, Timeouts
from dag.engine.view import Table
from dag.ports import HostPorts
from tests.contour.envoy import world
from tests.laws.rebuild import rebuilt

ONE, TWO = world.cluster("one"), world.cluster("two")


@pytest.fixture(autouse=True)
def _rows() -> Iterator[None]:
    with world.nodes_as_rows():
        yield


def _started() -> world.World:
    made = world.World()
    made.listeners(world.plain_listener(), world.secure_listener())
    made.endpoints(ONE, 9001)
    made.engine.write(world.SECRETS, NamespacedName("shop", "cert"), nodes.Secret(b"C", b"K"))
    made.engine.write(world.SECRETS, NamespacedName("shop", "wild"), nodes.Secret(b"C", b"K"))
    made.settle()
    return made


def _table(host: str, listener: str = world.PLAIN) -> resources.Name:
    (table,) = shards.tables_of(listener, host, sharded=True)
    return names.routes(table)


def test_a_host_brings_its_cluster_and_its_endpoints() -> None:
    made = _started()
    made.host(world.PLAIN, "a.test", world.route(world.forward(ONE)))
    changed = {(it.name.type_url, it.part) for it in made.settle()}
    assert changed == {
        (resources.SCOPE, ""),
        (resources.ROUTE, "a.test"),
        (resources.CLUSTER, ""),
        (resources.ENDPOINTS, ""),
    }
    part = made.parts[_table("a.test")]["a.test"]
    (cluster,) = made.names(resources.CLUSTER)
    assert part.needs == (resources.Name(resources.CLUSTER, cluster),)
    assert part.origins == (world.ORIGIN,)
    needed = made.parts[resources.Name(resources.CLUSTER, cluster)][""].needs
    assert needed == (names.endpoints(ONE.port),)


def test_what_no_host_uses_any_more_leaves_with_it() -> None:
    made = _started()
    before = {name: dict(parts) for name, parts in made.parts.items()}
    made.host(world.PLAIN, "a.test", world.route(world.forward(ONE)))
    made.host(world.SECURE, "a.test", world.route(world.forward(TWO)))
    made.secure("a.test", world.tls())
    made.settle()
    made.no_host(world.PLAIN, "a.test")
    made.no_host(world.SECURE, "a.test")
    made.secure("a.test", None)
    made.settle()
    assert made.parts == before


def test_a_change_of_every_cluster_renames_them_and_touches_no_endpoints() -> None:
    made = _started()
    made.host(world.PLAIN, "a.test", world.route(world.forward(ONE)))
    made.settle()
    made.engine.write(world.SETTINGS, (), Settings(timeouts=Timeouts(connect=9)))
    changed = made.settle()
    clusters = [it.value is None for it in changed if it.name.type_url == resources.CLUSTER]
    assert sorted(clusters) == [False, True]
    assert {it.name.type_url for it in changed} == {resources.CLUSTER, resources.ROUTE}


PROBES = nodes.ServicePort(ONE.port.service, 81, "probes")
FIRST, SECOND = "10.0.0.1", "10.0.0.2"


@pytest.mark.parametrize(
    ("probes", "expected"),
    [
        (((FIRST, 9101), (SECOND, 9102)), [9101, 9102]),
        (((FIRST, 9101),), [9101, 0]),
        (((FIRST, 9001), (SECOND, 9001)), [0, 0]),  # as it is with addresses of this machine
    ],
)
def test_health_is_asked_for_where_each_endpoint_has_the_other_port(
    probes: tuple[tuple[str, int], ...], expected: list[int]
) -> None:
    made = _started()
    served = ((FIRST, 9001), (SECOND, 9001))
    for port, found in ((ONE.port, served), (PROBES, probes)):
        made.engine.write(
            world.ENDPOINTS, port, nodes.Endpoints(tuple(nodes.Endpoint(*it) for it in found))
        )
    checked = nodes.Cluster(ONE.port, health_check=nodes.HealthCheck(), health_port=PROBES)
    made.host(world.PLAIN, "a.test", world.route(world.forward(checked)))
    made.settle()
    (locality,) = made.message(names.endpoints(ONE.port, PROBES)).endpoints
    every = [it.endpoint for it in locality.lb_endpoints]
    assert [it.address.socket_address.port_value for it in every] == [9001, 9001]
    assert [it.health_check_config.port_value for it in every] == expected
    assert made.engine.answer(services.endpoints, PROBES) is None, "it would be told to be idle"


def test_endpoints_change_nothing_else() -> None:
    made = _started()
    made.host(world.PLAIN, "a.test", world.route(world.forward(ONE)))
    made.settle()
    made.endpoints(ONE, 9001, 9002)
    assert [it.name for it in made.settle()] == [names.endpoints(ONE.port)]


def test_a_renewed_certificate_changes_one_secret() -> None:
    made = _started()
    made.secure("a.test", world.tls())
    made.secure("b.test", world.tls())
    made.settle()
    made.engine.write(world.SECRETS, NamespacedName("shop", "cert"), nodes.Secret(b"C2", b"K2"))
    assert [it.name for it in made.settle()] == [names.secret(NamespacedName("shop", "cert"))]


def test_a_secure_host_with_known_settings_is_one_entry() -> None:
    made = _started()
    made.secure("a.test", world.tls())
    made.settle()
    made.secure("b.test", world.tls())
    changed = made.settle()
    assert [(it.name, it.part) for it in changed] == [(names.listener(world.SECURE), "name/b.test")]


def test_a_host_is_in_every_table_where_it_is_looked_up() -> None:
    made = _started()
    made.host(world.PLAIN, "*.wild.test", world.route(nodes.Respond(200)))
    made.host(world.SECURE, "*", world.route(nodes.Respond(200)))
    made.settle()
    holding = [name for name, parts in made.parts.items() if "*.wild.test" in parts]
    assert holding == [_table("*.wild.test")]
    holding = [name for name, parts in made.parts.items() if "*" in parts]
    assert len(holding) == shards.WILD


def test_the_secure_listener_exists_while_a_host_does() -> None:
    made = _started()
    assert made.names(resources.LISTENER) == [world.PLAIN]
    for host in ("a.test", "*.wild.test", "*"):
        made.secure(host, world.tls())
        made.settle()
        assert made.names(resources.LISTENER) == [world.PLAIN, world.SECURE]
        made.secure(host, None)
        made.settle()
        assert made.names(resources.LISTENER) == [world.PLAIN]


def test_a_listener_leaves_with_its_tables_and_scopes() -> None:
    made = _started()
    assert len(made.names(resources.SCOPE)) == 2 * (shards.EXACT + shards.WILD)
    made.listeners()
    made.settle()
    assert made.parts == {}


def test_the_single_mode_has_one_table_per_listener_and_no_scopes() -> None:
    made = _started()
    made.host(world.PLAIN, "a.test", world.route(world.forward(ONE)))
    made.engine.write(world.SETTINGS, (), Settings(routing="Single"))
    made.settle()
    assert made.names(resources.SCOPE) == []
    expected = [world.PLAIN, world.SECURE]
    assert made.names(resources.ROUTE) == expected
    assert set(made.parts[names.routes(world.PLAIN)]) == {"", "a.test"}


def test_a_setting_that_envoy_never_sees_changes_nothing() -> None:
    made = _started()
    made.host(world.PLAIN, "a.test", world.route(world.forward(ONE)))
    made.settle()
    made.engine.write(world.SETTINGS, (), Settings(root_namespaces=("shop",)))
    assert made.settle() == []


def test_one_edited_host_costs_the_same_among_many() -> None:
    made = _started()
    for number in range(300):
        made.host(world.PLAIN, f"h{number}.test", world.route(world.forward(ONE)))
    made.settle()
    runs = made.engine.work.runs
    made.host(world.PLAIN, "h7.test", world.route(world.forward(TWO)))
    made.settle()
    assert made.engine.work.runs - runs <= 6


@pytest.mark.parametrize("seed", range(60))
def test_after_any_history_the_parts_are_those_of_a_rebuild(seed: int) -> None:
    chance = random.Random(seed)
    made = _started()
    for _ in range(30):
        for _ in range(chance.randint(1, 3)):
            chance.choice(EDITS)(made, chance)
        made.settle()
    whole: dict[resources.Name, dict[str, resources.Part | None]] = {}
    for pieces in rebuilt(world.PLAN, _rows_of(made)).values():
        for name, part, value in pieces if isinstance(pieces, tuple) else ():
            whole.setdefault(name, {})[part] = value
    assert made.parts == whole


HOSTS = ("a.test", "b.test", "*.wild.test", "*")


def _edit_host(made: world.World, chance: random.Random) -> None:
    listener, host = chance.choice((world.PLAIN, world.SECURE)), chance.choice(HOSTS)
    if chance.random() < 0.3:
        made.no_host(listener, host)
    else:
        clusters = [chance.choice((ONE, TWO)) for _ in range(chance.randint(0, 2))]
        made.host(listener, host, world.route(world.forward(*clusters)))


def _edit_tls(made: world.World, chance: random.Random) -> None:
    tls = chance.choice((None, world.tls(), world.tls("wild"), world.tls(minimum="1.3")))
    made.secure(chance.choice(HOSTS), tls)


def _edit_listeners(made: world.World, chance: random.Random) -> None:
    found = (world.plain_listener(chance.choice((8080, 8081))), world.secure_listener())
    made.listeners(*chance.choice((found, found, found[:1], found[1:], ())))


def _edit_settings(made: world.World, chance: random.Random) -> None:
    connect = chance.choice((2.0, 3.0))
    mode = chance.choice(("Shards", "Single"))
    made.engine.write(
        world.SETTINGS,
        (),
        Settings(routing=mode, timeouts=Timeouts(connect=connect)),  # type: ignore[arg-type]
    )


def _edit_endpoints(made: world.World, chance: random.Random) -> None:
    made.endpoints(chance.choice((ONE, TWO)), *range(9000, 9000 + chance.randint(0, 2)))


EDITS: tuple[Callable[[world.World, random.Random], None], ...] = (
    *(_edit_host, _edit_host, _edit_tls, _edit_tls),
    *(_edit_listeners, _edit_settings, _edit_endpoints),
)


def _rows_of(made: world.World) -> dict[Table[Any, Any], dict[Any, Any]]:
    tables: tuple[Table[Any, Any], ...] = (
        *(world.VIRTUAL_HOSTS, world.SECURE_HOSTS, world.LISTENERS),
        *(world.ENDPOINTS, world.SECRETS, world.SETTINGS),
    )
    return {table: dict(made.engine.rows(table)) for table in tables}


def test_every_answer_is_published_under_the_fleet_of_its_key() -> None:
    made = _started()
    made.host(world.PLAIN, "a.test", world.route(world.forward(ONE)))
    found = [it for change in made.engine.settle() for it in outputs.changes(change)]
    assert {fleet for fleet, _ in found} == {world.FLEET}
    modules = (
        *(http3, runtime, credentials, routing, extending, authenticating, limits),
        *(listening, monitors, patching),
        *(grpcclients, shaping, listenershaping, streamshaping, translating),
    )
    assert set(outputs.PLAN.published) == {it for found in modules for it in found.PUBLISHED}


def test_the_first_use_of_a_guard_changes_no_listener() -> None:
    """A changed listener drains the connections of everybody."""
    made = _started()
    provider = nodes.JwtProvider("shop/front/one", nodes.LocalJwks("{}"))
    policies = nodes.Policies(
        cors=nodes.Cors((nodes.ValueMatch("present"),)),
        ip_filter=nodes.IpFilter("DENY", ()),
        jwt=nodes.Jwt(provider.name),
        local_rate_limit=nodes.LocalRateLimit(1, "hour"),
        body_limit=1,
        session=nodes.SessionPersistence("s"),
    )
    route = world.route(world.forward(ONE), policies=policies)
    made.host(world.PLAIN, "guarded.test", route, jwt_providers=(provider,))
    types = {it.name.type_url for it in made.settle()}
    assert {resources.ROUTE, resources.EXTENSION} <= types
    assert resources.LISTENER not in types


@pytest.mark.parametrize(
    ("host_ports", "port"),
    [
        (None, 443),
        (HostPorts(), 8443),  # moved from 443: nobody translates it
        (HostPorts(overrides=((443, 8443),)), 443),  # chosen: clients reach it as 443
    ],
)
def test_answers_over_tls_name_the_port_at_which_clients_find_http3(
    host_ports: HostPorts | None, port: int
) -> None:
    made = world.World()
    made.engine.write(tables.HOST_PORTS, (), host_ports)
    made.engine.write(world.EDGES, (), nodes.Edge(http3=True))
    made.listeners(world.secure_listener(8443))
    made.secure("a.test", world.tls())
    made.host(world.SECURE, "a.test", world.route(world.forward(ONE)))
    (body,) = (it.body for _, _, it in made.settle() if it and b"alt-svc" in it.body)
    assert f'h3=":{port}"'.encode() in body
