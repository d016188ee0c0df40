"""Whatever we accept, Envoy accepts: random HTTPProxies through a running instance.

Some in every run; `CONTOUR_GENERATED=2000` asks for more of them, `CONTOUR_SEED` for others.
"""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from contour import inspection
from contour.host import state
from tests.dag.httpproxy import mended, surroundings
from tests.e2e.standalone import Standalone, standalone, wait

pytestmark = pytest.mark.envoy

COUNT = int(os.environ.get("CONTOUR_GENERATED", "60"))
SEED = int(os.environ.get("CONTOUR_SEED", "0"))

_ASKED = """
---
apiVersion: projectcontour.io/v1alpha1
kind: ExtensionService
metadata: {name: auth}
spec: {protocol: h2c, services: [{name: s1, port: 80}]}
---
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour}
spec: {rateLimitService: {extensionService: {namespace: default, name: auth}}}
"""


def test_envoy_refuses_nothing_that_the_rules_accept(tmp_path: Path) -> None:
    proxies = [mended.proxy(seed) for seed in range(SEED, SEED + COUNT)]
    files = {
        "surroundings.yaml": surroundings.MANIFESTS + _ASKED,
        "proxies.yaml": yaml.safe_dump_all(proxies, allow_unicode=True),
    }
    escaped = {name: text.replace("$", "$$") for name, text in files.items()}
    with standalone(tmp_path, escaped) as instance:
        wait(lambda: _is_settled(instance), "every part answered")
        (fleet,) = _page(instance)
        assert [(it["part"], it["refusal"]) for it in fleet["quarantine"]] == []
        assert not [it for it in fleet["counts"] if it.startswith("refused")]
        rows = [row for name, row in instance.status().items() if "HTTPProxy" in name]
        assert len(rows) >= COUNT
        assert sum(row["state"] != "error" for row in rows) > COUNT / 3


def _page(instance: Standalone) -> Any:
    socket = state.socket(instance.state, inspection.SOCKET)
    return asyncio.run(inspection.page(socket, "config"))


def _is_settled(instance: Standalone) -> bool:
    (fleet,) = _page(instance)
    types = [it for envoy in fleet["envoys"] for it in envoy["types"]]
    return bool(types) and not any(it["unsent"] or it["unanswered"] for it in types)
