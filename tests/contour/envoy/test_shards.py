"""Where hosts live. That Envoy's filter agrees is in `test_with_envoy`."""

from collections import Counter

import pytest

from contour.envoy import filters, shards


@pytest.mark.parametrize(
    "pattern", ["{}.example.com", "app-{:05}.test", "a.tenant{}.io", "{:x}.{}.internal.corp"]
)
def test_hosts_spread_over_the_shards(pattern: str) -> None:
    found = Counter(shards.shard(pattern.format(it, it)) for it in range(10_000))
    assert len(found) == shards.SHARDS
    assert max(found.values()) < 3 * 10_000 / shards.SHARDS


def test_the_arithmetic_is_exact_in_floating_point() -> None:
    assert (shards.MODULUS - 1) * shards.MULTIPLIER + 255 < 2**53


def test_an_exact_host_is_in_one_table_and_a_wildcard_in_all() -> None:
    (table,) = shards.tables_of("l", "a.test", sharded=True)
    assert table == f"l/{shards.shard('a.test')}"
    assert len(list(shards.tables_of("l", "*.test", sharded=True))) == shards.SHARDS
    assert len(list(shards.tables_of("l", "*", sharded=True))) == shards.SHARDS
    assert list(shards.tables_of("l", "*.test", sharded=False)) == ["l"]


@pytest.mark.parametrize("name", ['x"); os.exit() --', "a b", "", "A", "a\n"])
def test_only_names_of_listeners_reach_the_filter(name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a listener"):
        list(filters.plain(name, sharded=True))
