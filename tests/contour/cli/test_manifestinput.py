"""What is told of manifests is the same whether or not they are translated for Envoy."""

import json
from pathlib import Path
from random import Random

import pytest

from contour.cli import manifestinput
from contour.inspection.analysis import Analyzer
from contour.status import listing
from crds.envoygateway import patchpolicy
from tests.agreement.evaluation import pools, worlds
from tests.dag.gateway.manifests import gateway, gateway_class
from tests.dag.patches.test_policies import configuration, patch, policy


@pytest.mark.parametrize("seed", range(5))
def test_untranslated_manifests_are_told_the_same(tmp_path: Path, seed: int) -> None:
    documents = worlds.fixed((8080, 8081, 8082), 8083) + worlds.made(Random(seed))
    for number, it in enumerate(documents):
        if it["kind"] == "EndpointSlice" and it["metadata"]["name"] == pools.BACKENDS[0]:
            continue  # the Service is without endpoints
        (tmp_path / f"{number}.json").write_text(json.dumps(it))
    told = [_told(tmp_path, translates=it) for it in (True, False)]
    assert told[0] == told[1]
    assert f"{pools.BACKENDS[0]} has no ready endpoints" in json.dumps(told[1])


def test_patches_that_cannot_be_applied_are_told(tmp_path: Path) -> None:
    given = policy(patch(patchpolicy.CLUSTER, "default/missing/80"))
    (tmp_path / "all.yaml").write_text(configuration() + gateway_class() + gateway("gw") + given)
    assert "there is no cluster" in json.dumps(_told(tmp_path, translates=False))


def _told(path: Path, *, translates: bool) -> list[object]:
    found = manifestinput.read((str(path),), lenient=False, translates=translates)
    analyzer = Analyzer(found.controller.engine, found.controller.board, found.locate)
    findings = [it for it in analyzer.steps() if it is not None]
    rows = listing.plain(manifestinput.listed(found, every=True))
    return [*rows, *sorted(findings, key=str)]
