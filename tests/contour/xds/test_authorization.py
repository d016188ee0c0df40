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
