"""Rate limit services as clients: found by their certificate, and not believed what they claim."""

import pytest
from envoy.service.discovery.v3 import discovery_pb2

from contour.xds import authorization, resources, sotw, wire
from contour.xds.fleet import Fleet
from contour.xds.resources import RATE_LIMITS, Change, Name
from contour.xds.stream import Node, Stream

URI = "projectcontour://rate-limit-service"
NAME = Name(RATE_LIMITS, "limits")


def limits(*parts: str) -> list[Change]:
    head = Change(NAME, "", resources.part(wire.field(1, b"limits")))
    return [head, *(Change(NAME, it, resources.part(wire.field(3, it.encode()))) for it in parts)]


def served() -> Fleet:
    made = Fleet("ratelimit")
    made.uri, made.counted = URI, RATE_LIMITS
    made.publish(limits("bad", "good"))
    return made


class Client:
    """Asks for everything, and refuses whatever has the word `bad` in it."""

    def __init__(self, fleet: Fleet) -> None:
        self.stream = Stream(sotw, lambda _: fleet, lambda: None)

    def ask(self, version: str = "") -> None:
        asked = discovery_pb2.DiscoveryRequest(type_url=RATE_LIMITS, version_info=version)
        asked.node.id = "ratelimit"
        self.stream.receive(asked.SerializeToString(), 0.0)

    def converse(self) -> list[bytes]:
        """Answers until there is nothing more; the bodies that it took."""
        taken: list[bytes] = []
        while (message := self.stream.response(0.0)) is not None:
            found = discovery_pb2.DiscoveryResponse.FromString(message)
            asked = discovery_pb2.DiscoveryRequest(
                type_url=RATE_LIMITS, response_nonce=found.nonce, version_info=found.version_info
            )
            bodies = b"".join(it.value for it in found.resources)
            if b"bad" in bodies:
                asked.error_detail.message = "it is bad"
            else:
                taken.append(bodies)
            self.stream.receive(asked.SerializeToString(), 0.0)
        return taken


def newest(fleet: Fleet) -> str:
    """The version of everything, as a first response has it."""
    client = Client(fleet)
    client.ask()
    message = client.stream.response(0.0)
    assert message is not None
    client.stream.close(0.0)
    return str(discovery_pb2.DiscoveryResponse.FromString(message).version_info)


@pytest.mark.parametrize("claims", [False, True])
def test_a_refused_rule_is_found_whatever_the_service_claims_to_have(claims: bool) -> None:
    fleet = served()
    client = Client(fleet)
    client.ask(newest(fleet) if claims else "")
    taken = client.converse()
    assert b"good" in taken[-1]
    refusal = fleet.quarantine.refusal(NAME, "bad")
    assert refusal is not None
    assert refusal.words == "it is bad"
    assert fleet.quarantine.refusal(NAME, "good") is None


def test_each_response_is_everything_so_that_absence_is_removal() -> None:
    fleet = served()
    client = Client(fleet)
    client.ask()
    client.converse()
    fleet.publish([Change(NAME, "more", resources.part(wire.field(3, b"more")))])
    assert (b"good" in (taken := client.converse()[-1]), b"more" in taken) == (True, True)
    fleet.publish([Change(NAME, "good", None)])
    assert (b"good" in (taken := client.converse()[-1]), b"more" in taken) == (False, True)


@pytest.mark.parametrize(
    ("cluster", "id_", "names", "uris", "is_admitted"),
    [
        ("", "ratelimit", None, set(), True),
        ("", "anything", set(), {URI}, True),
        ("", "ratelimit", {"web"}, set(), False),  # the certificate of an Envoy
        ("ratelimit", "one", {"ratelimit"}, set(), False),  # one that is called like the fleet
        ("web", "ratelimit", set(), {URI}, False),  # a rate limit service looks at Envoys
    ],
)
def test_a_service_is_found_by_its_certificate_and_sees_nothing_else(
    cluster: str, id_: str, names: set[str] | None, uris: set[str], is_admitted: bool
) -> None:
    web = Fleet("web")
    web.publish([])
    fleets = {"web": web, "ratelimit": served()}
    sans = None if names is None else frozenset(names)
    asked = (fleets, "web", Node(id_, cluster), sans, frozenset(uris))
    if is_admitted:
        assert authorization.admitted(*asked) is fleets["ratelimit"]
        return
    try:
        found = authorization.admitted(*asked)
    except authorization.Denied:
        return
    assert found is web
    assert names == {"web"}
