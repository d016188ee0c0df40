"""What is to be said of an object, by its kind, and the version it is said of."""

from contour.status import merging
from contour.status.addresses import Address
from contour.status.answers import Answers
from contour.status.board import Board, Remark
from crds.meta import ObjectRef
from crds.raw import Raw, items, mapping
from dag.statuses import Condition, EventStatus, GatewayClassStatus
from tests.contour.status.world import accepted, proxy, route, valid

WEB, API = proxy("web"), route("api")
INGRESS = ObjectRef("Ingress", "default", "web")


def answers(board: Board, *known: ObjectRef) -> Answers:
    """Of objects that the rules have judged in their seventh version."""
    return Answers(board, dict.fromkeys(known, 7).get)


def _condition(status: Raw) -> Raw:
    """The first one."""
    return mapping(items(status["conditions"])[0])


def test_an_answer_names_the_version_it_is_about() -> None:
    board = Board()
    board.put(WEB, valid())
    found = answers(board, WEB)(WEB, 7)
    assert found is not None
    assert found.generation == 7
    assert _condition(found.status)["observedGeneration"] == 7


def test_of_an_object_that_is_gone_there_is_nothing_to_say() -> None:
    board = Board()
    board.put(WEB, valid())
    assert answers(board)(WEB, 7) is None
    assert answers(board)(API, 7) is None


def test_an_object_that_is_not_ours_is_left_alone_but_a_route_loses_our_entries() -> None:
    found = answers(Board(), WEB, API, INGRESS)
    assert found(WEB, 7) is None
    assert found(INGRESS, 7) is None
    told = found(API, 7)
    assert told is not None
    assert told.status == {"parents": []}


def test_a_version_that_was_refused_is_told_of_that_version_while_an_older_one_serves() -> None:
    board = Board()
    board.put(WEB, valid())
    found = answers(board, WEB)
    before = found(WEB, 8)
    board.remark(WEB, "intake", (Remark("error", "it has no certificate"),))
    after = found(WEB, 8)
    assert before is not None
    assert after is not None
    assert (before.generation, after.generation) == (7, 8)
    assert _condition(after.status)["observedGeneration"] == 8


def test_a_policy_that_is_not_ours_any_more_loses_our_entries() -> None:
    policy = ObjectRef("BackendTLSPolicy", "default", "api")
    told = answers(Board(), policy)(policy, 7)
    assert told is not None
    assert told.status == {"ancestors": []}


def test_only_an_httpproxy_has_a_current_status() -> None:
    board = Board()
    delegation = ObjectRef("TLSCertificateDelegation", "default", "certificates")
    for it in (WEB, delegation):
        board.put(it, valid())
    found = answers(board, WEB, delegation)
    found.relocate([Address(ip="192.0.2.1")])
    proxies, delegations = found(WEB, 7), found(delegation, 7)
    assert proxies is not None
    assert delegations is not None
    assert proxies.status.keys() == {"conditions", "currentStatus", "description", "loadBalancer"}
    assert delegations.status.keys() == {"conditions"}


def test_a_new_address_concerns_all_who_tell_it_and_an_old_one_nobody() -> None:
    board = Board()
    board.put(WEB, valid())
    board.put(INGRESS, EventStatus())
    board.put(API, accepted("edge"))
    board.put(ObjectRef("GatewayClass", "", "contour"), GatewayClassStatus(()))
    found = answers(board, WEB, INGRESS)
    assert set(found.relocate([Address(ip="192.0.2.1")])) == {WEB, INGRESS}
    assert not found.relocate([Address(ip="192.0.2.1")])
    told = found(INGRESS, 7)
    assert told is not None
    assert told.status == {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}


def test_an_address_that_others_have_told_stays_until_ours_is_known() -> None:
    board = Board()
    board.put(WEB, valid())
    board.put(INGRESS, EventStatus())
    found = answers(board, WEB, INGRESS)
    other: Raw = {"loadBalancer": {"ingress": [{"ip": "198.51.100.7"}]}}
    assert [_located(found, it, other) for it in (WEB, INGRESS)] == [other["loadBalancer"]] * 2
    assert not found.relocate([])
    assert _located(found, INGRESS, other) == other["loadBalancer"]
    found.relocate([Address(ip="192.0.2.1")])
    found.relocate([])
    assert [_located(found, it, other) for it in (WEB, INGRESS)] == [{}] * 2


def _located(found: Answers, subject: ObjectRef, stored: Raw) -> object:
    """Where clients reach Envoy, by the status after a write."""
    told = found(subject, 7)
    assert told is not None
    author = merging.Author("c", "2026-01-01T00:00:00Z")
    return merging.merged(stored, told.status, author)["loadBalancer"]


def test_a_message_is_as_long_as_the_api_server_allows_and_so_are_lists() -> None:
    board = Board()
    bad = Condition("Accepted", "False", "Invalid", "x" * 40_000)
    subject = ObjectRef("GatewayClass", "", "contour")
    board.put(subject, GatewayClassStatus((bad,)))
    found = answers(board, subject)(subject, 7)
    assert found is not None
    assert len(str(_condition(found.status)["message"])) <= 32_768
    author = merging.Author("c", "2026-01-01T00:00:00Z")
    assert _condition(merging.merged({}, found.status, author))["type"] == "Accepted"


def test_nothing_is_said_in_the_status_of_a_service() -> None:
    board, service = Board(), ObjectRef("Service", "default", "echo")
    board.put(service, EventStatus())
    assert answers(board, service)(service, 7) is None
