"""Where hosts live. That Envoy's filter agrees is in `test_with_envoy`."""

from collections import Counter
from collections.abc import Sequence

import pytest
from envoy.config.route.v3 import route_pb2

from contour.envoy import encoding, scripts, shards
from contour.xds import resources

EXACT = shards.exact_tables("l")
WILD = shards.wild_tables("l")


@pytest.mark.parametrize(
    "pattern", ["{}.example.com", "app-{:05}.test", "a.tenant{}.io", "{:x}.{}.internal.corp"]
)
def test_hosts_spread_over_the_tables(pattern: str) -> None:
    hosts = [pattern.format(it, it) for it in range(10_000)]
    found = Counter(table for it in hosts for table in _tables(it))
    assert set(found) == set(EXACT)
    assert max(found.values()) < 3 * 10_000 / len(EXACT)


def test_the_arithmetic_is_exact_in_floating_point() -> None:
    assert (shards.MODULUS - 1) * shards.MULTIPLIER + 255 < 2**53


def test_an_exact_host_is_in_one_table() -> None:
    (table,) = _tables("a.test")
    assert table in EXACT


def test_wildcards_are_where_every_host_they_cover_is_looked_up() -> None:
    assert tuple(_tables("*.a.test")) == tuple(_tables("*.y.a.test"))
    assert len(_tables("*.a.test")) == 1
    assert tuple(_tables("*.test")) == tuple(_tables("*")) == tuple(WILD)


def test_without_shards_a_listener_has_one_table() -> None:
    for host in ("a.test", "*.a.test", "*"):
        assert tuple(shards.tables_of("l", host, sharded=False)) == ("l",)


@pytest.mark.parametrize("name", ['x"); os.exit() --', "a b", "", "A", "a\n"])
def test_only_names_of_listeners_reach_the_filter(name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a listener"):
        scripts.table(name)


def _tables(host: str) -> Sequence[str]:
    return shards.tables_of("l", host, sharded=True)


@pytest.mark.parametrize("sharded", [True, False])
def test_heads_are_encoded_as_whole_messages_are(sharded: bool) -> None:
    heads = shards.heads("l", sharded=sharded, secure=True)
    tables = [it for it in heads if it.name.type_url == resources.ROUTE]
    assert len(tables) == (len(EXACT) + len(WILD) if sharded else 1)
    for it in tables:
        assert it.value is not None
        found = route_pb2.RouteConfiguration.FromString(it.value.body)
        assert found.name == it.name.name
        assert encoding.encoded(found) == it.value.body
