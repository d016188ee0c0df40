"""What is joined from parts is what an independent decoder reads.

`envoy-data-plane` is generated for another implementation of protobuf. It does not merge a message
that occurs in several pieces, as the specification asks; so it reads the pieces of the listener one
by one, and the whole is read by protobuf's own implementation in Python.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from envoy.config.listener.v3 import listener_pb2
from envoy_data_plane.envoy.config.cluster import v3 as cluster
from envoy_data_plane.envoy.config.endpoint import v3 as endpoint
from envoy_data_plane.envoy.config.listener import v3 as listener
from envoy_data_plane.envoy.config.route import v3 as route
from google.protobuf import json_format

from contour.envoy import chains, names, shards
from contour.xds import resources
from crds.meta import NamespacedName
from dag import nodes
from tests.contour.envoy import pure_python, world

ONE = world.cluster("one")
LISTENER = listener_pb2.Listener


@pytest.fixture
def made() -> Iterator[world.World]:
    with world.nodes_as_rows():
        made = world.World()
        made.listeners(world.plain_listener(), world.secure_listener())
        made.endpoints(ONE, 9001, 9002)
        for secret in ("cert", "wild", "any"):
            key = NamespacedName("shop", secret)
            made.engine.write(world.SECRETS, key, nodes.Secret(b"C", b"K"))
        made.secure("*.wild.test", world.tls("wild"))
        made.secure("*", world.tls("any"))
        for number in range(40):
            made.secure(f"h{number}.test", world.tls())
            for name in (world.PLAIN, world.SECURE):
                made.host(name, f"h{number}.test", world.route(world.forward(ONE)))
        made.host(world.PLAIN, "*.wild.test", world.route(nodes.Respond(204)))
        made.settle()
        yield made


def test_the_map_of_server_names_is_whole(made: world.World) -> None:
    name = names.listener(world.SECURE)
    body = made.body(name)
    read = pure_python.read("envoy.config.listener.v3.listener_pb2", "Listener", body)
    found: Any = json.loads(read)
    matcher = found["filter_chain_matcher"]
    entries = matcher["matcher_tree"]["exact_match_map"]["map"]
    chain, wild = names.chain(world.tls()), names.chain(world.tls("wild"))
    assert sorted(entries) == sorted(f"h{number}.test" for number in range(40))
    assert {it["action"]["typed_config"]["value"] for it in entries.values()} == {chain}
    rest = matcher["on_no_match"]["matcher"]
    (wildcard,) = rest["matcher_tree"]["custom_match"]["typed_config"]["domain_matchers"]
    led_to = wildcard["on_match"]["action"]["typed_config"]["value"]
    assert (wildcard["domains"], led_to) == (["*.wild.test"], wild)
    assert rest["on_no_match"]["action"]["typed_config"]["value"] == chains.DEFAULT
    assert sorted(it["name"] for it in found["filter_chains"]) == sorted([chain, wild, "default"])
    shown = json_format.MessageToDict(made.message(name), preserving_proto_field_name=True)
    assert shown == found


def test_every_piece_of_a_listener_is_a_listener(made: world.World) -> None:
    for part, value in made.parts[names.listener(world.SECURE)].items():
        again = bytes(listener.Listener.parse(value.body))
        assert LISTENER.FromString(again) == LISTENER.FromString(value.body), part


def test_every_table_holds_its_hosts(made: world.World) -> None:
    hosts = ["*.wild.test", *(f"h{number}.test" for number in range(40))]
    for name in (*shards.exact_tables(world.PLAIN), *shards.wild_tables(world.PLAIN)):
        found = route.RouteConfiguration.parse(made.body(names.routes(name)))
        assert found.name == name
        expected = sorted(
            it for it in hosts if name in shards.tables_of(world.PLAIN, it, sharded=True)
        )
        served = [it for it in found.virtual_hosts if it.name != shards.MARKER]
        assert [it.domains for it in served] == [[it] for it in expected]
        assert all(it.request_headers_to_remove == [shards.HEADER] for it in served)


def test_scopes_lead_to_their_tables(made: world.World) -> None:
    for name in made.names(resources.SCOPE):
        body = made.body(resources.Name(resources.SCOPE, name))
        found = route.ScopedRouteConfiguration.parse(body)
        assert found.key is not None
        assert [it.string_key for it in found.key.fragments] == [name]
        assert found.name == name
        _, by_host, host = name.rpartition("@")
        table = shards.tables_of(name.partition("@")[0], host, sharded=True)[0] if by_host else name
        assert found.route_configuration_name == table


def test_clusters_and_endpoints_are_read_alike(made: world.World) -> None:
    (name,) = made.names(resources.CLUSTER)
    found = cluster.Cluster.parse(made.body(resources.Name(resources.CLUSTER, name)))
    assert found.name == name
    assert found.eds_cluster_config is not None
    assert found.eds_cluster_config.service_name == names.endpoints(ONE.port).name
    load = endpoint.ClusterLoadAssignment.parse(made.body(names.endpoints(ONE.port)))
    assert [it.endpoint.address.socket_address.port_value for it in _members(load)] == [9001, 9002]  # type: ignore[union-attr]


def _members(load: endpoint.ClusterLoadAssignment) -> Iterator[endpoint.LbEndpoint]:
    for locality in load.endpoints:
        yield from locality.lb_endpoints
