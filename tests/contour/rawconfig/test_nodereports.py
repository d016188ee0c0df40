"""What is remembered of the Envoys that refuse a version."""

import gc
import weakref

from contour.controller import Controller
from contour.rawconfig.nodereports import NodeReports
from contour.xds.fleet import Fleet
from contour.xds.observer import RefusedWhole
from contour.xds.resources import LISTENER
from contour.xds.whole import Edition
from dag.rawconfig import revisions
from dag.rawconfig.claims import NodeKey
from dag.rawconfig.revisions import EditionKey

NODE, VERSION = NodeKey("default", "edge"), "v1"


def test_envoys_that_come_refuse_and_go_leave_a_bounded_number_of_messages() -> None:
    """One that cannot bind its port starts again and again, and says something else each time."""
    engine, fleet = Controller(lambda *_: None).engine, Fleet("edge", edition=Edition())
    reports = NodeReports(NODE, fleet, engine, lambda: None)
    good = fleet.envoy("good", is_aggregated=True)
    gone: list[weakref.ref[object]] = []
    for it in range(40):
        envoy = fleet.envoy(f"bad{it}", is_aggregated=True)
        gone.append(weakref.ref(envoy))
        words = f"cannot bind: {it}"
        reports.edition_refused(RefusedWhole(VERSION, envoy, LISTENER, ("l",), words))
        fleet.leave(envoy)
    reports.edition_refused(RefusedWhole(VERSION, good, LISTENER, ("l",), "cannot bind: 0"))
    del envoy
    gc.collect()
    assert not any(it() for it in gone)
    found = engine.row(revisions.ACKNOWLEDGEMENTS, EditionKey(*NODE, VERSION))
    assert found is not None
    assert found.words == tuple(sorted(f"cannot bind: {it}" for it in (0, *range(24, 40))))
    assert (found.refusing, found.connected) == (1, 1)


def test_an_envoy_counts_that_never_asks_for_listeners() -> None:
    """These come from another control plane. It accepts what others have accepted before it."""
    engine, fleet = Controller(lambda *_: None).engine, Fleet("edge", edition=Edition())
    reports = fleet.observer = NodeReports(NODE, fleet, engine, lambda: None)
    fleet.envoy("one", is_aggregated=True)
    reports.edition_taken(VERSION)
    fleet.envoy("two", is_aggregated=True)
    reports.edition_taken(VERSION)
    assert reports.own.envoys == 2
