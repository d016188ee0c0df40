"""Who may see which fleet."""

import pytest

from contour.xds import authorization
from contour.xds.fleet import Fleet
from contour.xds.stream import Node


def fleets(*names: str) -> dict[str, Fleet]:
    made = {name: Fleet(name) for name in names}
    for fleet in made.values():
        fleet.publish([])
    return made


@pytest.mark.parametrize(
    ("cluster", "names", "expected"),
    [
        ("web", None, "web"),
        ("web", {"web"}, "web"),
        ("web", {"web", "other"}, "web"),
        ("unheard", None, "default"),
        ("unheard", {"default"}, "default"),
    ],
)
def test_a_stream_gets_the_fleet_its_node_and_certificate_name(
    cluster: str, names: set[str] | None, expected: str
) -> None:
    known = fleets("web", "default")
    sans = None if names is None else frozenset(names)
    got = authorization.admitted(known, "default", Node("one", cluster), sans)
    assert got.name == expected


@pytest.mark.parametrize(
    ("cluster", "names"), [("web", set()), ("web", {"default"}), ("nobody", {"web"})]
)
def test_a_certificate_that_does_not_name_the_fleet_is_denied(
    cluster: str, names: set[str]
) -> None:
    with pytest.raises(authorization.Denied):
        authorization.admitted(fleets("web"), "", Node("one", cluster), frozenset(names))


def test_a_fleet_may_be_seen_by_other_names() -> None:
    known = fleets("web")
    known["web"].identities = frozenset({"envoy"})
    node = Node("one", "web")
    assert authorization.admitted(known, "", node, frozenset({"envoy"})) is known["web"]
    with pytest.raises(authorization.Denied):
        authorization.admitted(known, "", node, frozenset({"web"}))


def test_a_fleet_without_a_first_publication_is_not_served_yet() -> None:
    with pytest.raises(authorization.NotYet):
        authorization.admitted({"web": Fleet("web")}, "", Node("one", "web"), None)


@pytest.mark.parametrize(
    ("auth", "names"),
    [
        ({}, None),
        ({"transport_security_type": [b"insecure"]}, None),
        ({"transport_security_type": [b"ssl"]}, frozenset()),
        (
            {"transport_security_type": [b"ssl"], "x509_subject_alternative_name": [b"a", b"b"]},
            frozenset({"a", "b"}),
        ),
    ],
)
def test_the_names_of_a_certificate(
    auth: dict[str, list[bytes]], names: frozenset[str] | None
) -> None:
    assert authorization.certificate_names(auth) == names


SHOP = authorization.grpc_client("shop")


@pytest.mark.parametrize(
    ("cluster", "names", "uris", "error"),
    [
        ("clients/shop", None, set(), None),
        ("clients/shop", set(), {SHOP}, None),
        ("clients/bank", set(), {SHOP}, authorization.Denied),
        ("clients/", set(), {SHOP}, authorization.Denied),
        ("clients", None, set(), authorization.UnknownFleet),
        ("clients/shop", {SHOP}, set(), authorization.Denied),  # no URI, but a name of that text
        ("clients/shop", {"clients"}, set(), authorization.Denied),
        ("web", set(), {SHOP, "web"}, authorization.Denied),
    ],
)
def test_a_client_by_name_needs_the_uri_of_its_viewer(
    cluster: str, names: set[str] | None, uris: set[str], error: type[Exception] | None
) -> None:
    known = fleets("web", "clients")
    known["clients"].is_by_name = True
    sans, node = None if names is None else frozenset(names), Node("one", cluster)
    if error is None:
        found = authorization.admitted(known, "", node, sans, frozenset(uris))
        assert found is known["clients"]
    else:
        with pytest.raises(error):
            authorization.admitted(known, "", node, sans, frozenset(uris))


def test_the_uris_of_a_certificate_are_no_names() -> None:
    auth = {
        "transport_security_type": [b"ssl"],
        "x509_subject_alternative_name": [b"web", SHOP.encode()],
        "peer_uri": [SHOP.encode()],
    }
    assert authorization.certificate_names(auth) == frozenset({"web"})
    assert authorization.certificate_uris(auth) == frozenset({SHOP})
