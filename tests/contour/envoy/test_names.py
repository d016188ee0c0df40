"""Names of secrets: what one object has, no other one can take."""

from itertools import combinations, product

from contour.envoy import names
from crds.meta import NamespacedName, ObjectRef
from dag import nodes

PLACES = tuple(product(("trust", "login", "credential", "lists", "a"), ("system", "secret", "a")))


def test_no_tenant_can_give_a_secret_the_name_of_another() -> None:
    """Namespaces may have the names by which the kinds of our secrets begin."""
    made = {
        *((("certificate", at), names.secret(NamespacedName(*at))) for at in PLACES),
        *((("login", at), names.login(ObjectRef("SecurityPolicy", *at), "hmac")) for at in PLACES),
        *((("credential", at), names.credential(ObjectRef("X", *at))) for at in PLACES),
        *(
            (("trust", kind, at), names.trust(nodes.Trust((ObjectRef(kind, *at),))))
            for kind, at in product(("Secret", "ConfigMap"), PLACES)
        ),
        (("bundle",), names.trust(nodes.Trust((ObjectRef("ClusterTrustBundle", "", "system"),)))),
        (("system",), names.SYSTEM_TRUST),
        (("metrics",), names.METRICS_PAIR),
    }
    assert not [
        (one, other) for (one, it), (other, name) in combinations(made, 2) if it.name == name.name
    ]
    of_objects = {it.name for what, it in made if what not in {("system",), ("metrics",)}}
    assert not names.OWN_SECRETS & of_objects


def test_a_name_in_statistics_has_no_dot() -> None:
    backend = nodes.ServicePort(NamespacedName("shop", "api.example.com"), 443, kind="Backend")
    found = names.statistics(nodes.Cluster(backend))
    assert found == "backend_shop_api_example_com_443"
