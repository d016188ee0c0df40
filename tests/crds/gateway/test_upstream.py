"""The models of the Gateway API have every field of its CRDs and refuse nothing they take."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from crds import kinds, schema
from crds.gateway.references import EXPERIMENTAL_GROUP
from tests.crds import openapi

GATEWAY = [it for it in kinds.KINDS.values() if it.group == kinds.GATEWAY]
EXPERIMENTAL = [it for it in kinds.KINDS.values() if it.group == EXPERIMENTAL_GROUP]
"""Kinds that are in the experimental channel of v1.7 alone."""
CHANNELS = ("standard", "experimental")
RELEASES = ("v1.6.1", "v1.7.0")
OPTIONAL_ONCE = {"TLSRoute": {"hostnames"}}
"""Fields that older versions, which are still served, did not demand."""


def stored(kind: kinds.Kind, release: str, channel: str) -> dict[str, openapi.Schema]:
    """The fields of the version that the API server stores, by path."""
    file = f"gateway-api-{release}/{channel}/{kind.group}_{kind.plural}.yaml"
    versions = openapi.upstream(file)[kind.kind]["versions"]
    found: openapi.Schema = next(it for it in versions if it["storage"])
    return fields(found["schema"]["openAPIV3Schema"])


def fields(node: openapi.Schema) -> dict[str, openapi.Schema]:
    return {path: it for path, it in openapi.parts(node) if path.startswith(".spec")}


def common(
    kind: kinds.Kind, release: str, channel: str
) -> Iterator[tuple[str, openapi.Schema, openapi.Schema]]:
    """Our fields and theirs."""
    ours = fields(schema.structural(kind.model))
    for path, theirs in stored(kind, release, channel).items():
        assert path in ours, path
        yield path, ours[path], theirs


every = pytest.mark.parametrize(
    ("kind", "release", "channel"),
    [
        *((kind, *it) for kind in GATEWAY for it in itertools.product(RELEASES, CHANNELS)),
        *((kind, "v1.7.0", "experimental") for kind in EXPERIMENTAL),
    ],
    ids=lambda it: it.kind if isinstance(it, kinds.Kind) else str(it),
)


@every
def test_every_field_is_here_with_its_type(kind: kinds.Kind, release: str, channel: str) -> None:
    for path, ours, theirs in common(kind, release, channel):
        assert ours["type"] == theirs["type"], path
        required = set(theirs.get("required", [])) - OPTIONAL_ONCE.get(kind.kind, set())
        assert set(ours.get("required", [])) == required, path


def limit(node: openapi.Schema, key: str, otherwise: int) -> Any:
    return node.get(key, otherwise)


@every
def test_nothing_is_refused_that_the_crd_lets_through(
    kind: kinds.Kind, release: str, channel: str
) -> None:
    for path, ours, theirs in common(kind, release, channel):
        assert "enum" not in ours or set(ours["enum"]) >= set(theirs["enum"]), path
        assert ours.get("pattern") in {None, theirs.get("pattern")}, path
        for key in ("minLength", "minItems"):
            assert limit(ours, key, 0) <= limit(theirs, key, 0), f"{path} {key}"
        for key in ("maxLength", "maxItems", "maxProperties"):
            assert limit(ours, key, 1 << 40) >= limit(theirs, key, 1 << 40), f"{path} {key}"
        assert limit(ours, "minimum", 0) <= limit(theirs, "minimum", 0), path
        assert limit(ours, "maximum", 1 << 40) >= limit(theirs, "maximum", 0), path
        if theirs["type"] == "string" and theirs.get("default"):
            assert ours["default"] == theirs["default"], path


def test_no_field_is_here_that_the_experimental_channel_does_not_have() -> None:
    for kind in GATEWAY:
        theirs = {path for it in RELEASES for path in stored(kind, it, "experimental")}
        assert set(fields(schema.structural(kind.model))) <= theirs
    for kind in EXPERIMENTAL:
        releases = RELEASES if kind.kind in READ_AS_BEFORE else ("v1.7.0",)
        theirs = {path for it in releases for path in stored(kind, it, "experimental")}
        assert set(fields(schema.structural(kind.model))) <= theirs


READ_AS_BEFORE = {"XBackendTrafficPolicy"}
"""Kinds with fields that are read as v1.6 writes them, too."""
