"""The models of the Gateway API have every field of its CRDs and refuse nothing they take."""

from typing import Any

import pytest

from crds import kinds, schema
from tests.crds import openapi

GATEWAY = [it for it in kinds.KINDS.values() if it.group == kinds.GATEWAY]
CHANNELS = ("standard", "experimental")
OPTIONAL_ONCE = {"TLSRoute": {"hostnames"}}
"""Fields that older versions, which are still served, did not demand."""


LATER = {kind: {".spec.listeners[].filters"} for kind in ("Gateway", "ListenerSet")}
"""Fields of v1.7 that guard something, which must not be open where its CRDs are installed."""


def stored(kind: kinds.Kind, channel: str) -> openapi.Schema:
    file = f"gateway-api-v1.6.1/{channel}/{kind.group}_{kind.plural}.yaml"
    versions = openapi.upstream(file)[kind.kind]["versions"]
    found: openapi.Schema = next(it for it in versions if it["storage"])
    return found


def fields(node: openapi.Schema) -> dict[str, openapi.Schema]:
    return {path: it for path, it in openapi.parts(node) if path.startswith(".spec")}


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("kind", GATEWAY, ids=lambda it: str(it.kind))
def test_every_field_is_here_with_its_type(kind: kinds.Kind, channel: str) -> None:
    ours = fields(schema.structural(kind.model))
    for path, node in fields(stored(kind, channel)["schema"]["openAPIV3Schema"]).items():
        assert path in ours, path
        assert ours[path]["type"] == node["type"], path
        required = set(ours[path].get("required", []))
        assert required == set(node.get("required", [])) - OPTIONAL_ONCE.get(kind.kind, set()), path


def limit(node: openapi.Schema, key: str, otherwise: int) -> Any:
    return node.get(key, otherwise)


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("kind", GATEWAY, ids=lambda it: str(it.kind))
def test_nothing_is_refused_that_the_crd_lets_through(kind: kinds.Kind, channel: str) -> None:
    ours = fields(schema.structural(kind.model))
    for path, node in fields(stored(kind, channel)["schema"]["openAPIV3Schema"]).items():
        mine = ours[path]
        assert "enum" not in mine or set(mine["enum"]) >= set(node["enum"]), path
        assert mine.get("pattern") in {None, node.get("pattern")}, path
        for key in ("minLength", "minItems"):
            assert limit(mine, key, 0) <= limit(node, key, 0), f"{path} {key}"
        for key in ("maxLength", "maxItems", "maxProperties"):
            assert limit(mine, key, 1 << 40) >= limit(node, key, 1 << 40), f"{path} {key}"
        if node["type"] == "string" and node.get("default"):
            assert mine["default"] == node["default"], path


def test_no_field_is_here_that_the_experimental_channel_does_not_have() -> None:
    for kind in GATEWAY:
        theirs = fields(stored(kind, "experimental")["schema"]["openAPIV3Schema"])
        later = LATER.get(kind.kind, set())
        assert set(fields(schema.structural(kind.model))) - later == set(theirs)
