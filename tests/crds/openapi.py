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


def folder(name: str) -> Path:
    """A folder or file of upstream's CRDs; skips the test if it is not at hand."""
    every = Path(os.environ.get("UPSTREAM_CRDS", ROOT.parent / "shared" / "data" / "crds"))
    if not (every / name).exists():
        pytest.skip(f"upstream's CRDs are not in {every}: set UPSTREAM_CRDS")
    return every / name


def upstream(name: str) -> dict[str, Schema]:
    """The specs of the CRDs in a file, by kind."""
    documents = yaml.load_all(folder(name).read_text(encoding="utf-8"), yaml.CSafeLoader)
    return {it["spec"]["names"]["kind"]: it["spec"] for it in documents if it}
