"""No certificate gives access to what is served to others."""

from itertools import combinations

from provisioning import identities

NAMESPACES = ("team", "home", "svc", "local", "cluster")
GATEWAYS = tuple(
    f"{name}{rest}"
    for name in ("web", "envoy", "contour")
    for rest in ("", ".team", ".home", ".team.svc", ".home.svc", ".home.svc.cluster", ".svc")
)


def test_gateways_have_no_name_in_common_with_others_or_with_the_instance() -> None:
    """Both are chosen by tenants: the names of Gateways, and perhaps of namespaces."""
    found = {
        (gateway, namespace): frozenset(identities.gateway_fleet(gateway, namespace))
        for gateway in GATEWAYS
        for namespace in NAMESPACES
    }
    assert all(found.values())
    assert not [both for both in combinations(found, 2) if found[both[0]] & found[both[1]]]
    instance = {
        *identities.fleet("envoy", "home"),
        *identities.control_plane("contour", "home"),
        *identities.rate_limit_service("contour-ratelimit", "home"),
        identities.RATE_LIMIT_CLIENT,
    }
    of_instance = {("envoy", "home"), ("contour", "home")}
    assert {it for it, names in found.items() if names & instance} == of_instance
