"""Versions and rendering of resources that are made of parts."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from contour.xds import resources, wire
from contour.xds.resources import ROUTE, Name, Part, Resource

parts = st.dictionaries(st.text(max_size=3), st.binary(max_size=4), max_size=6)


def resource(bodies: dict[str, bytes]) -> Resource:
    made = Resource(Name(ROUTE, "web"))
    for name, body in bodies.items():
        made.put(name, resources.part(body))
    return made


@given(parts, st.randoms(use_true_random=False))
def test_the_order_of_publication_does_not_show(bodies: dict[str, bytes], random: Random) -> None:
    shuffled = list(bodies.items())
    random.shuffle(shuffled)
    one, other = resource(bodies), resource(dict(shuffled))
    assert one.version() == other.version()
    assert one.body() == other.body() == b"".join(bodies[it] for it in sorted(bodies))


@given(parts, parts)
def test_a_history_leaves_no_trace(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    made = resource(before)
    made.body()
    for name in before.keys() - after.keys():
        made.put(name, None)
    for name, body in after.items():
        made.put(name, resources.part(body))
    assert (made.version(), made.body()) == (resource(after).version(), resource(after).body())


@given(parts, parts)
def test_a_mixed_rendering_is_that_of_the_mixture(
    newest: dict[str, bytes], instead: dict[str, bytes]
) -> None:
    mixture = resource({**newest, **instead})
    overrides = {name: resources.part(body) for name, body in instead.items()}
    made = resource(newest)
    assert made.version(overrides) == mixture.version()
    assert made.rendered(wire.delta_resource, overrides) == mixture.rendered(wire.delta_resource)


@given(parts)
def test_parts_that_trade_places_make_another_version(bodies: dict[str, bytes]) -> None:
    names, contents = list(bodies), list(bodies.values())
    traded = dict(zip(names, contents[1:] + contents[:1], strict=True))
    assert (traded == bodies) == (resource(traded).version() == resource(bodies).version())


def test_earlier_versions_can_be_told_from_the_newest() -> None:
    made = resource({"": b"head", **{f"h{it}": b"1" for it in range(5)}})
    then, was = made.version(), made.parts["h1"]
    made.put("h1", resources.part(b"2"))
    made.put("h9", resources.part(b"9"))
    assert made.since(then) == {"h1": was, "h9": None}
    assert made.since(made.version({"h3": None})) == {"h3": None}
    assert made.since("0" * 32) is None
    assert made.since("not a version") is None


def test_what_is_rendered_once_is_shared() -> None:
    made = resource({"": b"head", "a": b"host"})
    first = made.rendered(wire.delta_resource)
    assert made.rendered(wire.delta_resource) is first
    made.put("a", resources.part(b"other"))
    assert made.rendered(wire.delta_resource) != first


def test_a_part_knows_its_digest() -> None:
    one, other = resources.part(b"x"), Part(b"x", resources.digest(b"x"), warms=False)
    assert resources.is_same(one, other)
    assert not resources.is_same(one, None)
