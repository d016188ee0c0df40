"""What lists and events add to what is known: duplicates, disorder, tombstones, other histories."""

import pytest

from kube.client import Raw
from kube.versioncache import MOST_GONE, Key, ResourceVersionDecreased, VersionCache


def found(name: str, version: object, namespace: str = "n") -> Raw:
    return {"metadata": {"namespace": namespace, "name": name, "resourceVersion": version}}


def listed(cache: VersionCache, version: str, *items: Raw) -> list[tuple[str, bool]]:
    """Names that are told, and whether they are there."""
    listing = cache.listing(version)
    news = [*listing.page(items), *cache.finish(version, listing)]
    return [(it.key.name, it.object is not None) for it in news]


def test_a_list_tells_what_is_new_or_other_and_what_is_gone() -> None:
    cache = VersionCache()
    assert listed(cache, "9", found("a", "1"), found("b", "2")) == [("a", True), ("b", True)]
    told = listed(cache, "12", found("b", "2"), found("c", "10"))
    assert told == [("c", True), ("a", False)]
    assert cache.position == "12"
    assert len(cache) == 2


def test_an_event_that_comes_twice_or_late_is_no_news() -> None:
    cache = VersionCache()
    listed(cache, "5", found("a", "5"))
    assert cache.changed(found("a", "9")) == (Key("n", "a"), found("a", "9"))
    assert cache.changed(found("a", "9")) is None
    assert cache.changed(found("a", "7")) is None
    assert cache.deleted(found("a", "8")) is None
    assert cache.position == "9"


def test_versions_are_numbers_not_texts() -> None:
    cache = VersionCache()
    listed(cache, "9", found("a", "9"))
    assert cache.changed(found("a", "10")) is not None
    assert cache.changed(found("a", "9")) is None


def test_what_is_gone_does_not_come_back_by_an_event_from_before() -> None:
    cache = VersionCache()
    listed(cache, "5", found("a", "5"))
    assert cache.deleted(found("a", "9")) == (Key("n", "a"), None)
    assert cache.deleted(found("a", "9")) is None
    assert cache.deleted(found("a", "6")) is None  # an earlier one of its name
    assert cache.changed(found("a", "7")) is None
    assert cache.changed(found("a", "11")) is not None


def test_only_so_many_of_the_gone_are_remembered() -> None:
    cache = VersionCache()
    listed(cache, "1")
    for number in range(MOST_GONE + 1):
        cache.deleted(found(f"a{number}", "9"))
    assert cache.changed(found("a1", "8")) is None
    assert cache.changed(found("a0", "8")) is not None


def test_versions_that_are_no_numbers_are_only_equal_or_not() -> None:
    cache = VersionCache()
    listed(cache, "x", found("a", "b"))
    assert cache.changed(found("a", "b")) is None
    assert cache.changed(found("a", "a")) is not None
    assert cache.position == "a"


def test_a_server_that_knows_less_than_it_told_is_noticed() -> None:
    cache = VersionCache()
    listed(cache, "9", found("a", "9"), found("b", "3"))
    cache.reach("9")
    with pytest.raises(ResourceVersionDecreased):
        cache.reach("8")
    assert listed(cache, "10", found("a", "9")) == [("a", True), ("b", False)]  # told anew
    cache.bookmark("12")
    with pytest.raises(ResourceVersionDecreased):
        cache.bookmark("11")


def test_a_collection_that_goes_takes_everything_along() -> None:
    cache = VersionCache()
    listed(cache, "9", found("a", "9"), found("b", "3"))
    assert [it.object for it in cache.clear()] == [None, None]
    assert cache.position == ""
    assert listed(cache, "2", found("a", "1")) == [("a", True)]


@pytest.mark.parametrize(
    "nameless",
    [
        {},
        {"metadata": None},
        {"metadata": {"name": 1}},
        {"metadata": {"name": "a", "namespace": 1}},
    ],
)
def test_what_has_no_name_is_passed_over(nameless: Raw) -> None:
    cache = VersionCache()
    assert cache.changed(nameless) is None
    assert cache.deleted(nameless) is None
    assert listed(cache, "1", nameless) == []


@pytest.mark.parametrize("version", [None, 7, "", "9" * 50, "٣"])
def test_versions_of_any_shape_are_taken(version: object) -> None:
    cache = VersionCache()
    listed(cache, "1")
    assert cache.changed(found("a", version)) is not None
    assert cache.deleted(found("a", version)) is not None
