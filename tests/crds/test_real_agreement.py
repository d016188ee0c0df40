"""Decoding agrees with a real API server on what is wrong: it must never refuse what that accepts.

What the API server has stored and decoding refuses would be an object that users see and that does
nothing. The other way round only offline commands notice, and only for kinds whose CRDs are not
ours; for ours the two say the same.
"""

import copy
import random
from typing import Any

import pytest

from crds import kinds
from crds.decode import Decoded, decode
from tests.cluster.cluster import Cluster
from tests.crds import documents
from tests.crds.grown import SPARSE, grown
from tests.crds.test_bad_input import BAD, Breakage
from tests.crds.test_decode_never_raises import places
from tests.testbed.apiserver import RefusedError

pytestmark = pytest.mark.cluster

OURS = {it.kind for it in kinds.KINDS.values() if it.ours}
OF_THE_CLUSTER = {it.kind for it in kinds.KINDS.values() if not it.namespaced}
ROUNDS = 60

# Not written as the API server writes it, but offline, where this cannot be met.
NOT_IN_JSON = {
    *("NUL in a text", "half of a surrogate pair", "NUL where no model looks"),
    *("NUL in the name of a field", "the name of a field that is no text"),
    *("a namespace that is no label", "a version that we do not read"),
    *("no metadata", "metadata that are no object", "a number of thousands of digits"),
}


def stored(cluster: Cluster, document: documents.Document) -> documents.Document | str:
    """What the API server makes of an object, or why it refuses it."""
    try:
        return cluster.create(document, dryRun="All", fieldValidation="Ignore")
    except RefusedError as error:
        if error.code not in {400, 422}:
            raise
        return str(error)


def complaint(document: documents.Document) -> str:
    """Why decoding refuses it."""
    found = decode(copy.deepcopy(document))
    assert isinstance(found, Decoded)
    return "; ".join(map(str, found.errors))


@pytest.mark.parametrize(
    ("_", "broken", "expected"), [it for it in BAD if it[0] not in NOT_IN_JSON], ids=lambda _: ""
)
def test_what_is_refused_here_is_refused_there(
    cluster: Cluster, empty_namespace: str, _: str, broken: Breakage, expected: Any
) -> None:
    document = documents.httpproxy()
    document["spec"] = copy.deepcopy(document["spec"])
    document["metadata"] |= {"namespace": empty_namespace, "name": "it"}
    assert isinstance(stored(cluster, document), dict)
    broken(document)
    assert complaint(document)
    if "name" not in document["metadata"]:
        document["metadata"]["generateName"] = ""
    assert isinstance(stored(cluster, document), str)


# Of a definition we read nothing that could be broken; no API server has what files alone hold.
WITHOUT_RULES = {
    *("Namespace", "CustomResourceDefinition"),
    *(it.kind for it in kinds.KINDS.values() if it.is_asked_for),
}
# Of the experimental channel, of another project, or served only by an API server that is told to.
NOT_SERVED = {
    *("XBackend", "XTelemetryPolicy", "XBackendTrafficPolicy"),
    *("ClusterTrustBundle", "EnvoyExtensionPolicy"),
}
LEFT_OUT = WITHOUT_RULES | NOT_SERVED
WHOLE = [it for it in documents.of_every_kind() if "spec" in it and it["kind"] not in LEFT_OUT]


@pytest.mark.parametrize("whole", WHOLE, ids=lambda it: str(it["kind"]))
def test_broken_at_random_both_say_the_same(
    cluster: Cluster, empty_namespace: str, whole: documents.Document
) -> None:
    chance = random.Random(whole["kind"])
    whole = placed(whole, empty_namespace)
    assert isinstance(stored(cluster, whole), dict)
    refused = 0
    for _ in range(ROUNDS):
        document = copy.deepcopy(whole)
        mutate(document, chance)
        found = stored(cluster, document)
        if isinstance(found, dict):
            assert complaint(found) == "", document
        if whole["kind"] in OURS:
            assert bool(complaint(document)) == isinstance(found, str), (found, document)
        refused += isinstance(found, str)
    assert refused, "one verdict only proves nothing"


WITH_CRDS = [it for it in kinds.KINDS.values() if it.ours or it.group == kinds.GATEWAY]


@pytest.mark.parametrize("kind", WITH_CRDS, ids=lambda it: str(it.kind))
def test_grown_from_the_schema_both_say_the_same_and_mean_the_same(
    cluster: Cluster, empty_namespace: str, kind: kinds.Kind
) -> None:
    chance, schema = random.Random(kind.kind), schema_of(cluster, kind)
    verdicts = set()
    for number in range(10 * ROUNDS):  # where rules are many, few are good by chance: ask for less
        if number >= ROUNDS and (dict in verdicts or not kind.ours):
            break
        document = placed(
            {
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                "metadata": {"name": "it"},
                "spec": grown(schema, chance, 0 if number < ROUNDS else SPARSE),
            },
            empty_namespace,
        )
        found = stored(cluster, document)
        verdicts.add(type(found))
        if isinstance(found, dict):
            assert meaning(found) == meaning(document)
        elif kind.ours:
            assert complaint(document), (found, document)
    assert str in verdicts
    assert dict in verdicts or not kind.ours


def schema_of(cluster: Cluster, kind: kinds.Kind) -> Any:
    """Of the spec, as the API server has it."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    crd = cluster.ask("GET", f"{path}/{kind.plural}.{kind.group}")
    written = next(it for it in crd["spec"]["versions"] if it["name"] == kind.versions[0])
    return written["schema"]["openAPIV3Schema"]["properties"]["spec"]


def meaning(document: documents.Document) -> Any:
    found = decode(copy.deepcopy(document))
    assert isinstance(found, Decoded)
    assert found.errors == (), document
    return found.object.spec if found.object else None


def placed(document: documents.Document, namespace: str) -> documents.Document:
    """In a namespace of the test; objects of the whole cluster in none."""
    metadata = {name: it for name, it in document["metadata"].items() if name != "namespace"}
    if document["kind"] not in OF_THE_CLUSTER:
        metadata["namespace"] = namespace
    return document | {"metadata": metadata}


def mutate(document: documents.Document, chance: random.Random) -> None:
    """Something goes, moves or is replaced, half of the time by something of its type."""
    node, key = chance.choice(list(places(document["spec"])))
    alike = [it for it in _VALUES if type(it) is type(node[key])] or _VALUES
    match chance.randrange(4):
        case 0:
            del node[key]
        case 1:
            node[key] = copy.deepcopy(chance.choice(_VALUES))
        case _:
            node[key] = copy.deepcopy(chance.choice(alike))


_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 443, 70_000, 1 << 40, 0.5, "", "x", "X_y", "ä", "a" * 300, "5s",
    "infinity", "*", "*.a.b", "/", "/a", "30", "1.1.1.1", "a:b", "a.b/c", "Exact", "h2c",
    [], ["x"], ["x", 1], [[]], {}, {"a": None}, {"name": "x"},
]  # fmt: skip
