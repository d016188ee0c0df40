"""What a fleet is served: what is needed stays, and edits say exactly what changed."""

from contour.xds import resources
from contour.xds.resources import CLUSTER, ENDPOINTS, ROUTE, Change, Name
from contour.xds.store import Edit, Store
from crds.meta import ObjectRef
from tests.contour.xds import world

SITE = [world.route_head("web"), *world.site("a.test", "a", 1)]


def told(edits: list[Edit]) -> list[str]:
    kinds = {True: "gone", False: "changed"}
    return [f"{'new' if it.is_new else kinds[it.is_gone]} {it.name.name}" for it in edits]


def test_additions_are_told_in_the_order_of_need_and_removals_the_other_way_round() -> None:
    store = Store()
    assert told(store.apply(reversed(SITE))) == ["new a", "new a", "new web"]
    edits = store.apply(world.gone(*SITE))
    assert [(it.name.type_url, it.is_gone) for it in edits] == [
        (ROUTE, True),
        (ENDPOINTS, True),
        (CLUSTER, True),
    ]


def test_the_same_again_is_no_edit() -> None:
    store = Store()
    store.apply(SITE)
    assert store.apply(SITE) == []


def test_what_is_needed_outlives_its_removal_with_all_it_needs() -> None:
    store = Store()
    store.apply(SITE)
    assert store.apply(world.gone(*SITE[1:3])) == []
    assert store.unwanted == {Name(CLUSTER, "a"), Name(ENDPOINTS, "a")}
    edits = store.apply(world.gone(SITE[3]))
    assert told(edits) == ["changed web", "gone a", "gone a"]
    assert not store.unwanted


def test_what_comes_back_is_wanted_again() -> None:
    store = Store()
    store.apply(SITE)
    store.apply(world.gone(*SITE[1:3]))
    assert store.apply(SITE[1:3]) == []
    assert not store.unwanted


def test_a_part_in_which_only_needs_differ_is_rewired_and_not_told() -> None:
    store = Store()
    store.apply([*SITE, world.cluster("b")])
    name, part, value = SITE[3]
    assert value is not None
    assert store.apply([world.needing(SITE[3], Name(CLUSTER, "b"))]) == []
    assert {*store.users.of(Name(CLUSTER, "b"))} == {(name, part)}
    assert told(store.apply(world.gone(*SITE[1:3]))) == ["gone a", "gone a"]


def test_what_was_accepted_last_keeps_what_it_needs_until_its_successor_is_accepted() -> None:
    store = Store()
    store.apply(SITE)
    for name, parts in list(store.last_accepted.items()):
        for part in list(parts):
            store.mark_accepted(name, part)
    store.apply([*world.site("a.test", "b", 2), *world.gone(*SITE[1:3])])
    assert Name(CLUSTER, "a") in store.unwanted
    store.mark_accepted(Name(ROUTE, "web"), "a.test")
    assert told(store.settled()) == ["gone a", "gone a"]


def test_a_refused_part_gives_way_to_what_was_accepted() -> None:
    store = Store()
    store.apply(SITE)
    accepted = SITE[3].value
    store.mark_accepted(Name(ROUTE, "web"), "a.test")
    store.apply([world.host("web", "a.test", "a", ["bad"]), world.cluster("bad")])
    store.withdraw(Name(ROUTE, "web"), "a.test", None)
    assert store.types[ROUTE]["web"].parts["a.test"] == accepted
    assert told(store.withdraw(Name(CLUSTER, "bad"), "", None)) == ["gone bad"]


def test_a_refused_part_is_told_to_those_who_need_it_too() -> None:
    store = Store()
    owner = ObjectRef("HTTPProxy", "default", "web")
    cluster = Name(CLUSTER, "c")
    route = Name(ROUTE, "r")
    store.apply(
        [
            Change(cluster, "", resources.part(b"cluster")),
            Change(route, "", resources.part(b"head")),
            Change(route, "a.test", resources.part(b"host", [cluster], [owner])),
        ]
    )
    assert store.origins(cluster, "") == (owner,)
    assert store.origins(route, "a.test") == (owner,)
    assert store.origins(route, "") == ()
