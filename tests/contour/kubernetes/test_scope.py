"""Which collections belong to a scope, and what is left out of them at the source."""

from contour.kubernetes.scope import Scope, sources
from crds.kinds import KINDS


def collections(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for source in sources(scope, KINDS.values()):
        found.setdefault(source.kind.kind, []).append(source.collection.namespace)
    return found


def test_a_whole_cluster_is_one_collection_a_kind() -> None:
    assert collections(Scope()) == {kind.kind: [""] for kind in KINDS.values()}


def test_namespaces_are_watched_one_by_one_and_what_is_in_none_as_a_whole() -> None:
    found = collections(Scope(("a", "b", "a"), own="o"))
    assert found["HTTPProxy"] == ["a", "b"]
    assert found["ContourConfiguration"] == found["Secret"] == ["a", "b", "o"]
    assert found["GatewayClass"] == found["Namespace"] == [""]


def test_of_the_definitions_of_kinds_one_is_asked_for() -> None:
    every = sources(Scope(), KINDS.values())
    (source,) = (it for it in every if it.kind.kind == "CustomResourceDefinition")
    (selector,) = source.collection.params.values()
    assert selector == "metadata.name=gatewayclasses.gateway.networking.k8s.io"


def test_secrets_that_nobody_may_refer_to_are_not_asked_for() -> None:
    (source,) = (it for it in sources(Scope(), KINDS.values()) if it.kind.kind == "Secret")
    selector = source.collection.params["fieldSelector"]
    assert "type!=helm.sh/release.v1" in selector
    assert "kubernetes.io/tls" not in selector
