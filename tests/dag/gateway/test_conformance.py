"""One folder for each test of the API's own conformance suite, by its name: what it asks of us.

`manifest.yaml` holds objects of our own, beside those of `base.yaml`; `expected.yaml` what is told
and what Envoy should do. A folder may go on: `then-1.yaml` is applied (an object with the
annotation `gone` is removed), `expected-1.yaml` is what holds then. Requests: `tests/e2e`.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from crds.decode import Decoded, decode
from dag import tables
from dag.engine.incremental import Engine
from tests.dag.gateway import observed
from tests.dag.world import apply, world
from tests.testbed import pairs

FOLDER = Path(__file__).parent / "conformance"
NAMES = sorted(it.name for it in FOLDER.iterdir() if it.is_dir())


def given() -> str:
    """The objects of every folder, and certificates that are made anew for each run."""
    chain, _ = pairs.pair()
    authority = f"""
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: ca, namespace: infra}}
data: {{ca.crt: {yaml.dump(chain.decode(), default_style='"')}}}
"""
    secrets = (pairs.secret(name, namespace) for name in ("cert", "other") for namespace in SPACES)
    return (FOLDER / "base.yaml").read_text() + "".join(secrets) + authority


SPACES = ("infra", "app", "web")


@pytest.mark.parametrize("name", NAMES)
def test_what_the_suite_asks_of_us_is_told_and_served(name: str) -> None:
    it = world(given())
    for suffix in ("", "-1", "-2", "-3"):
        manifest = FOLDER / name / (f"then{suffix}.yaml" if suffix else "manifest.yaml")
        if not manifest.exists():
            return
        change(it, manifest.read_text())
        expected = yaml.load(
            (FOLDER / name / f"expected{suffix}.yaml").read_text(), yaml.CSafeLoader
        )
        assert seen(it, name) == expected, f"{name}, {manifest.name}"


def seen(it: Engine, name: str) -> dict[str, Any]:
    """Everything that is answered; the class is told the same in every folder but its own."""
    found = observed.everything(it)
    if not name.startswith("GatewayClass"):
        del found["told"]["GatewayClass contour"]
    return found


def change(it: Engine, text: str) -> None:
    """Applies the manifests of a step; what is marked as gone is removed."""
    kept = []
    for raw in filter(None, yaml.load_all(text, yaml.CSafeLoader)):
        if "gone" in raw["metadata"].get("annotations", {}):
            found = decode(raw)
            assert isinstance(found, Decoded)
            it.write(tables.BY_KIND[found.kind.kind], found.key, None)
        else:
            kept.append(raw)
    apply(it, yaml.dump_all(kept))
