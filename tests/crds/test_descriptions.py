"""What `kubectl explain` prints says more than the name of the field, in whole sentences."""

import json
import re
from collections.abc import Iterator
from statistics import median

import pytest

from crds import kinds, schema
from tests.crds import openapi

OURS = [it for it in kinds.KINDS.values() if it.ours]
FEWEST_WORDS = 4
TYPICAL_WORDS = 12
APPLIED_BY_CLIENTS = 256 * 1024
"""The bytes of annotations that an object may have: `kubectl apply` keeps a copy in one."""


def parts(kind: kinds.Kind) -> Iterator[tuple[str, openapi.Schema]]:
    """Every schema in the CRD of a kind, with its path."""
    for version in schema.crd(kind)["spec"]["versions"]:
        yield from openapi.parts(version["schema"]["openAPIV3Schema"])


def described(kind: kinds.Kind) -> Iterator[tuple[str, str]]:
    """Every description in the CRD of a kind, with its path."""
    yield from ((path, it["description"]) for path, it in parts(kind) if "description" in it)
    for version in schema.crd(kind)["spec"]["versions"]:
        for column in version.get("additionalPrinterColumns", ()):
            yield f"column {column['name']}", column["description"]


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_][\w'%./:*-]*", text)


def stems(text: str) -> set[str]:
    """The words of a text or of a camelCase name, without case and plural."""
    separate = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).lower()
    return {re.sub("s$", "", re.sub("ies$", "y", it)) for it in re.findall("[a-z0-9]+", separate)}


SAYS_NOTHING = stems(
    "a an and are as at by do does field for from in is it its of on or that the this to used "
    "value what which with"
)


def wrong(path: str, text: str) -> str:
    name = re.split(r"[. ]", path.rstrip("[]{}"))[-1]
    if len(words(text)) < FEWEST_WORDS:
        return f"has fewer than {FEWEST_WORDS} words"
    if name and stems(text) - SAYS_NOTHING <= stems(name):
        return "repeats the name of the field"
    if not re.match(r"[A-Z`/0-9]", text) or not text.endswith("."):
        return "is not a sentence"
    return ""


@pytest.mark.parametrize("kind", OURS, ids=lambda it: str(it.kind))
def test_every_description_is_a_sentence_that_says_more_than_the_name(kind: kinds.Kind) -> None:
    found = [
        f"{path}: {why}: {text}" for path, text in described(kind) if (why := wrong(path, text))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("kind", OURS, ids=lambda it: str(it.kind))
def test_descriptions_are_as_long_as_an_explanation(kind: kinds.Kind) -> None:
    assert median(len(words(text)) for _, text in described(kind)) >= TYPICAL_WORDS


@pytest.mark.parametrize("kind", OURS, ids=lambda it: str(it.kind))
def test_a_description_has_the_default_of_the_schema(kind: kinds.Kind) -> None:
    for path, node in parts(kind):
        if isinstance(default := node.get("default"), str | int):
            wanted = str(default).lower() if isinstance(default, bool) else str(default)
            assert wanted in node["description"], path


@pytest.mark.parametrize("kind", OURS, ids=lambda it: str(it.kind))
def test_a_crd_can_be_applied_by_clients(kind: kinds.Kind) -> None:
    assert len(json.dumps(schema.crd(kind), separators=(",", ":"))) < APPLIED_BY_CLIENTS


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        (".spec.fqdn", "The name.", "has fewer than 4 words"),
        (".spec.retryPolicies[]", "This is a retry policy.", "repeats the name of the field"),
        (".spec.retryPolicy", "The policy by which failed requests are retried.", ""),
        (".spec.replicas", "how many replicas there are.", "is not a sentence"),
        ("column Age", "The time since the object was created.", ""),
    ],
)
def test_texts_that_say_nothing_are_found(path: str, text: str, why: str) -> None:
    assert why in wrong(path, text)
    assert bool(why) == bool(wrong(path, text))
