"""Walking OpenAPI schemas, and upstream's, where they are at hand (`tests.upstream`)."""

from collections.abc import Iterator
from typing import Any

import yaml

from tests import upstream as upstreams

Schema = dict[str, Any]


def parts(node: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every schema in a schema, with the path of what it describes."""
    yield path, node
    for name, it in node.get("properties", {}).items():
        yield from parts(it, f"{path}.{name}")
    for key, step in (("items", "[]"), ("additionalProperties", "{}")):
        if key in node:
            yield from parts(node[key], path + step)


def upstream(name: str) -> dict[str, Schema]:
    """The specs of the CRDs in a file, by kind."""
    text = upstreams.folder(f"crds/{name}").read_text(encoding="utf-8")
    documents = yaml.load_all(text, yaml.CSafeLoader)
    return {it["spec"]["names"]["kind"]: it["spec"] for it in documents if it}
