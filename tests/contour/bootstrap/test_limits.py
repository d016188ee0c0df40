"""What one Envoy may use."""

import json
from typing import Any

import pytest

from contour import bootstrap
from contour.bootstrap import limits
from contour.host import state
from tests.contour.bootstrap.conftest import live, settings

pytestmark = pytest.mark.envoy

_CLUSTERS = 20


async def test_statistics_are_bounded_per_service(directory: state.StateDirectory) -> None:
    document = bootstrap.document(settings(directory))
    del document["dynamic_resources"]
    document["static_resources"]["clusters"] += [_cluster(number) for number in range(_CLUSTERS)]
    async with (
        live(directory, json.dumps(document)) as session,
        session.get("/stats", params={"format": "json"}) as answer,
    ):
        found = [it["name"] for it in json.loads(await answer.text())["stats"] if "name" in it]
    of_services = [name for name in found if name.startswith("cluster.service-")]
    kept = {name.rsplit(".", 1)[1] for name in of_services}
    assert {"upstream_rq_total", "upstream_cx_active", "membership_healthy"} <= kept
    assert len(of_services) <= 12 * _CLUSTERS
    assert "server.live" in found
    assert "cluster.contour.upstream_cx_destroy" in found


async def test_a_regex_is_refused_by_envoy_only_where_we_refuse_it(
    directory: state.StateDirectory,
) -> None:
    document = bootstrap.document(settings(directory))
    del document["dynamic_resources"]
    async with (
        live(directory, json.dumps(document)) as session,
        session.get("/runtime") as answer,
    ):
        entries = json.loads(await answer.text())["entries"]
    assert entries["re2.max_program_size.error_level"]["final_value"] == str(
        limits.REGEX_PROGRAM_SIZE
    )


def _cluster(number: int) -> dict[str, Any]:
    return {"name": f"service-{number}", "load_assignment": {"cluster_name": f"{number}"}}
