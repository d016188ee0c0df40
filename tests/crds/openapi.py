"""Walking OpenAPI schemas, and upstream's, where they are at hand."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
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
    folder = Path(os.environ.get("UPSTREAM_CRDS", ROOT.parent / "shared" / "data" / "crds"))
    file = folder / name
    if not file.exists():
        pytest.skip(f"upstream's CRDs are not in {folder}: set UPSTREAM_CRDS")
    documents = yaml.load_all(file.read_text(encoding="utf-8"), yaml.CSafeLoader)
    return {it["spec"]["names"]["kind"]: it["spec"] for it in documents if it}
