"""Whatever happens to an EnvoyConfig, in the end it is as the rules say; `histories` runs more."""

import asyncio

import pytest

from contour.discovery import documents
from contour.envoyreports.report import MOST_WORDS
from dag.rawconfig import revisions
from tests.contour.discovery import histories
from tests.contour.discovery.world import KEY, NODE, REVISION, Replica, Store, version


@pytest.mark.parametrize("seed", range(25))
def test_every_history_ends_as_the_rules_say(seed: int) -> None:
    histories.check(seed)


async def test_what_is_served_and_deleted_stays_while_a_finalizer_keeps_it_and_is_made_again() -> (
    None
):
    store = Store(content="good")
    replica = Replica(store)
    replica.write()
    good = replica.published
    replica.hear()
    store.edit("bad")
    replica.look_at_all()
    replica.hear("no")
    replica.write()
    (name,) = [it.key.name for it in store.present() if it.version == good]
    store.delete(name)
    replica.look(REVISION)
    await asyncio.sleep(0)
    assert replica.published == good
    assert not replica.write(), "there is nothing to write before it is gone"
    store.remove(name)
    replica.look(REVISION)
    assert replica.published == good
    replica.write()
    assert store.says(documents.PUBLISHED) == ["good"]


@pytest.mark.parametrize("is_rolled_back", [False, True])
async def test_what_is_served_and_edited_stays_and_is_made_again(is_rolled_back: bool) -> None:
    store = Store(content="good")
    replica = Replica(store)
    replica.hear()
    replica.write()
    (name,) = store.objects
    if is_rolled_back:
        await _refused(store, replica, "bad")
    good = replica.published
    store.spoil(name)
    replica.look(REVISION)
    await asyncio.sleep(0)
    assert replica.published == good
    replica.write()
    await asyncio.sleep(0)
    assert store.contents() == (["good", "bad"] if is_rolled_back else ["good"])
    assert store.says(documents.PUBLISHED) == ["good"]
    assert replica.published == good


@pytest.mark.parametrize("known", [False, True])
async def test_a_content_that_the_leader_never_saw_is_gone_back_to_by_nobody(known: bool) -> None:
    """Another replica has served it, before a content came that Envoys refuse, or had refused."""
    store = Store(content="good")
    leader, other = Replica(store, "leader"), Replica(store, "other")
    leader.write()
    if known:
        await _refused(store, leader, "bad")
    other.look_at_all()
    store.edit("between")
    other.look_at_all()
    assert other.published == version("between")
    await _refused(store, leader, "bad")
    other.look_at_all()
    await asyncio.sleep(0)
    assert store.contents() == ["good", "bad"]
    assert (leader.published, other.published) == (version("good"), version("good"))


async def test_long_words_that_two_replicas_hear_are_told_once() -> None:
    store = Store(content="good")
    leader, other = Replica(store, "leader"), Replica(store, "other")
    store.edit("bad")
    for it in (other, leader):
        it.look_at_all()
        it.hear("x" * (MOST_WORDS + 1))
    (refusal,) = other.reports.own.refusals.values()
    assert refusal.words == "x" * MOST_WORDS
    other.report(leader)
    edition = revisions.EditionKey(KEY.namespace, NODE, version("bad"))
    row = leader.instance.controller.engine.row(revisions.ACKNOWLEDGEMENTS, edition)
    assert row is not None
    assert row.words == (refusal.words,)


async def test_what_was_refused_and_is_deleted_is_tried_again() -> None:
    store = Store(content="good")
    replica = Replica(store)
    replica.write()
    await _refused(store, replica, "bad")
    assert replica.published == version("good")
    (name,) = [it.key.name for it in store.present() if it.version == version("bad")]
    store.remove(name)
    replica.look(REVISION)
    assert replica.published == version("bad")
    replica.write()
    assert store.says(documents.PUBLISHED) == ["bad"]
    assert not store.says(documents.TAINTED)


async def _refused(store: Store, by: Replica, content: str) -> None:
    """A replica that leads sees this content, and its Envoys refuse it."""
    store.edit(content)
    by.look_at_all()
    if by.published == version(content):
        by.hear("no")
    by.write()
    await asyncio.sleep(0)
