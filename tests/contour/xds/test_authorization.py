"""Who may see which fleet."""

import pytest

from contour.xds import authorization
from contour.xds.fleet import Fleet
from contour.xds.identities import METADATA, NodeIdentity, parse
from contour.xds.stream import Node
from provisioning import identities


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


SHOP = identities.grpc_client("shop")


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


MINE, THEIRS = NodeIdentity("shop", "proxy"), NodeIdentity("bank", "proxy")
URI = "projectcontour://envoy-node"


@pytest.mark.parametrize("cluster", ["", "web", str(THEIRS)])
def test_the_identity_of_a_node_id_leads_to_its_fleet_and_no_other(cluster: str) -> None:
    known = {it: Fleet(str(it)) for it in (MINE, THEIRS)}
    for fleet in known.values():
        fleet.publish([])
    node = Node("proxy", cluster)
    assert authorization.of_node_id(known, node, frozenset({MINE})) is known[MINE]
    other = NodeIdentity("shop", "other")
    assert authorization.of_node_id(known, node, frozenset({MINE, other})) is known[MINE]
    with pytest.raises(authorization.UnknownFleet):
        authorization.of_node_id({THEIRS: known[THEIRS]}, node, frozenset({MINE}))
    with pytest.raises(authorization.NotYet):
        authorization.of_node_id({MINE: Fleet("")}, node, frozenset({MINE}))


@pytest.mark.parametrize("node", ["", "other", "web", str(MINE), "PROXY"])
def test_another_node_id_than_that_of_the_identity_is_denied(node: str) -> None:
    with pytest.raises(authorization.Denied):
        authorization.of_node_id({MINE: Fleet("")}, Node(node, "proxy"), frozenset({MINE}))


@pytest.mark.parametrize("names", [frozenset({"web"}), frozenset({str(MINE)})])
def test_no_certificate_of_a_fleet_leads_to_a_node_id(names: frozenset[str]) -> None:
    """Not by the cluster, nor with a DNS name that reads like the URI."""
    with pytest.raises(authorization.Denied):
        authorization.admitted(fleets("web"), "", Node("proxy", str(MINE)), names)


SAID: list[tuple[str, str | bytes]] = [(METADATA, str(MINE)), ("user-agent", "grpc")]


@pytest.mark.parametrize(
    ("names", "uris", "said", "expected"),
    [
        (None, [], [], []),
        (None, [], SAID, [MINE]),
        (None, [], [(METADATA, f"{URI}/Shop/proxy")], []),
        ([], [], SAID, []),  # what a certificate does not say, nobody says
        ([str(MINE)], [], [], []),  # no URI, but a name of that text
        ([], [SHOP, "spiffe://a/b"], SAID, []),
        ([], [str(THEIRS), "spiffe://a/b"], SAID, [THEIRS]),
    ],
)
def test_the_node_ids_of_a_caller(
    names: list[str] | None,
    uris: list[str],
    said: list[tuple[str, str | bytes]],
    expected: list[NodeIdentity],
) -> None:
    sans = None if names is None else frozenset(names)
    got = authorization.node_identities(sans, frozenset(uris), said)
    assert got == frozenset(expected)


@pytest.mark.parametrize("node", ["proxy", "a/b", "ü", "a b", f"{URI}/x/y", "x" * 256, "%"])
def test_a_node_id_of_any_characters_has_one_uri(node: str) -> None:
    assert parse(str(NodeIdentity("shop", node))) == NodeIdentity("shop", node)


@pytest.mark.parametrize(
    "uri",
    ["", "proxy", f"{URI}/shop/", f"{URI}/shop/a/b", f"{URI}/shop/%61", f"{URI}/a.b/c",
     "https://envoy-node/shop/proxy", f"{URI}/shop/a?b", SHOP],
)  # fmt: skip
def test_no_other_text_is_an_identity_of_a_node_id(uri: str) -> None:
    assert parse(uri) is None
