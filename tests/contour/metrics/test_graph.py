"""What comes in and what it costs, read from the graph that did it."""

from contour.controller import Controller
from contour.events import Batch, Event
from contour.metrics.graph import Graph, Operations, Settlings
from crds import foreign
from crds.meta import NamespacedName
from tests.contour.metrics import scraped
from tests.contour.test_controller import SERVICE, Published, events, proxy


class Page:
    """As the page that wires the whole notes things."""

    def __init__(self) -> None:
        self.controller = Controller(Published())
        self.settlings, self.operations = Settlings(), Operations()

    def take(self, text: str, *, gone: bool = False) -> None:
        batch = events(text, gone)
        self.operations.note(batch.events, self.controller.engine)
        with self.settlings.timed():
            self.controller.take(batch)

    def read(self, name: str) -> scraped.Values:
        return scraped.values(
            Graph(self.controller.engine, self.settlings, self.operations), f"contour_{name}"
        )


def test_objects_are_counted_as_they_come_change_and_go() -> None:
    it = Page()
    it.take(SERVICE + proxy("a", "a.test"))
    it.take(proxy("a", "b.test"))
    it.take(proxy("a", "b.test"), gone=True)
    assert it.read("eventhandler_operation_total") == {
        ("HTTPProxy", "add"): 1,
        ("HTTPProxy", "update"): 1,
        ("HTTPProxy", "delete"): 1,
        ("Service", "add"): 1,
    }
    objects = it.read("dag_cache_object")
    assert (objects["Service",], objects["HTTPProxy",]) == (1, 0)


def test_objects_of_extensions_are_counted_as_all_others() -> None:
    it, kind = Page(), foreign.kind("example.com", "v1", "Guard")
    for content in (b"1", b"2", None):
        event = Event(kind, NamespacedName("default", "a"), content)
        batch = Batch((event,), {}, ())
        it.operations.note(batch.events, it.controller.engine)
        it.controller.take(batch)
    assert it.read("eventhandler_operation_total") == {
        ("Guard.example.com", op): 1 for op in ("add", "update", "delete")
    }


def test_every_settling_is_timed() -> None:
    it = Page()
    for seconds in (0.0004, 0.0005, 0.003, 99):
        it.settlings.note(seconds)
    assert it.read("dagrebuild_total") == {(): 4}
    assert it.read("dagrebuild_seconds_count") == {(): 4}
    buckets = it.read("graph_update_seconds_bucket")
    assert [buckets[bound,] for bound in ("0.0005", "0.0025", "0.005", "10.0", "+Inf")] == [
        2, 2, 3, 3, 4,
    ]  # fmt: skip
    assert it.read("dagrebuild_timestamp")[()] > 1.6e9


def test_the_work_of_the_rules_is_counted() -> None:
    it = Page()
    it.take(SERVICE)
    it.take(proxy("a", "a.test"))
    it.take(proxy("b", "b.test"))
    runs = it.read("graph_rules_run_total")[()]
    assert runs > 0
    it.take(SERVICE)
    assert it.read("graph_rules_run_total")[()] == runs
    assert it.read("graph_failing_rules") == {(): 0}
