"""How we get on with the API server and the other replicas, in numbers."""

from contour.kubernetes.cluster import Collection
from contour.metrics.cluster import Provider, Replicas, Statuses
from contour.status.tally import Tally
from crds.meta import ObjectRef
from kube.health import State
from tests.contour.metrics import scraped


def test_collections_of_one_kind_are_summed_over_namespaces() -> None:
    state = [
        Collection("Secret", "a", None, State(is_listed=True, objects=2, events=5, watches=1)),
        Collection("Secret", "b", None, State(objects=1, trouble="forbidden", failures=3)),
        Collection("Service", "", None, State(is_listed=True, objects=9, bytes=100, lists=2)),
    ]

    def read(name: str) -> scraped.Values:
        return scraped.values(Provider(lambda: state), f"contour_kubernetes_{name}")

    assert read("objects") == {("Secret",): 3, ("Service",): 9}
    assert read("unsynced_collections") == {("Secret",): 1, ("Service",): 0}
    assert read("degraded_collections") == {("Secret",): 1, ("Service",): 0}
    assert read("events_total") == {("Secret",): 5, ("Service",): 0}
    assert read("failures_total") == {("Secret",): 3, ("Service",): 0}
    assert read("bytes_total") == {("Secret",): 0, ("Service",): 100}
    assert read("lists_total") == {("Secret",): 0, ("Service",): 2}
    assert read("watches_total") == {("Secret",): 1, ("Service",): 0}


def test_a_kind_that_the_api_server_does_not_serve_is_not_unsynced() -> None:
    absent = State(phase="absent", reason="xbackends is not served by the API server")
    states = [Collection("XBackend", "", None, absent), Collection("Gateway", "", None, State())]
    found = scraped.values(Provider(lambda: states), "contour_kubernetes_unsynced_collections")
    assert found == {("XBackend",): 0, ("Gateway",): 1}


def test_status_updates_have_upstreams_names() -> None:
    tally = Tally(
        total=9, success=4, noop=3, conflict=1, failed=2, seconds=0.5, failed_seconds=0.25
    )
    tally.given_up.add(ObjectRef("HTTPProxy", "default", "web"))
    read = Statuses({"HTTPProxy": tally}, lambda: 7)
    found = {
        name: scraped.values(read, f"contour_status_update_{name}")
        for name in ("total", "success_total", "failed_total", "conflict_total", "noop_total")
    }
    assert [it["HTTPProxy",] for it in found.values()] == [9, 4, 2, 1, 3]
    for name, succeeded, failed in (("count", 4, 2), ("sum", 0.5, 0.25)):
        assert scraped.values(read, f"contour_status_update_duration_seconds_{name}") == {
            ("false", "HTTPProxy"): succeeded,
            ("true", "HTTPProxy"): failed,
        }
    assert scraped.values(read, "contour_status_update_pending") == {(): 7}
    assert scraped.values(read, "contour_status_update_given_up") == {("HTTPProxy",): 1}


def test_who_leads_and_who_is_heard() -> None:
    read = Replicas(lambda: True, lambda: False, lambda: 2, lambda: (False, 3))
    names = (
        *("leader", "replica_reporting", "reporting_replicas"),
        *("replica_outdated", "replica_shed_connections_total"),
    )
    assert [scraped.values(read, f"contour_{it}")[()] for it in names] == [1, 0, 2, 1, 3]
