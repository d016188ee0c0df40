"""Whatever happens to an EnvoyConfig, in the end it is as the rules say; `histories` runs more."""

import pytest

from contour.discovery import documents
from tests.contour.discovery import histories
from tests.contour.discovery.world import Process, Store


@pytest.mark.parametrize("seed", range(25))
def test_every_history_ends_as_the_rules_say(seed: int) -> None:
    histories.check(seed)


def test_what_is_served_and_deleted_stays_while_a_finalizer_keeps_it_and_is_made_again() -> None:
    store = Store(content="good")
    replica = Process(store)
    replica.write()
    good = replica.published
    replica.hear(good)
    store.content = "bad"
    replica.look()
    replica.hear(replica.published, "no")
    replica.write()
    (name,) = [it.key.name for it in store.present() if it.version == good]
    store.leaving.add(name)
    replica.look()
    assert replica.published == good
    assert not replica.write(), "there is nothing to write before it is gone"
    store.leaving.clear()
    del store.objects[name]
    assert replica.published == good
    replica.write()
    assert store.says(documents.PUBLISHED) == ["good"]
