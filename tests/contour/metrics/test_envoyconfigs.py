"""The counts of EnvoyConfigs: states, and how often what is served has changed."""

from pathlib import Path

from contour.metrics.envoyconfigs import EnvoyConfigs
from tests.contour.discovery.test_keeping import INVALID, Run
from tests.contour.metrics import scraped

COUNTED = ("_published_total", "_taints_total", "_rollbacks_total")


def read(run: Run, *, leads: bool = True) -> dict[str, scraped.Values]:
    configs = run.controller.envoy_configs
    source = EnvoyConfigs(run.controller.engine, configs.counts, {}, lambda: leads)
    names = ("", "_revisions", "_tainted_revisions", *COUNTED)
    return {name: scraped.values(source, f"contour_envoyconfig{name}") for name in names}


async def test_states_and_what_led_to_them_are_counted(tmp_path: Path) -> None:
    run = Run(tmp_path / "revisions", "good")
    run.take()
    run.edit("bad")
    run.refuse()
    assert read(run) == {
        "": {("default", "Rollback"): 1},
        "_revisions": {("default",): 2},
        "_tainted_revisions": {("default",): 1},
        "_published_total": {("default",): 3},
        "_taints_total": {("default",): 1},
        "_rollbacks_total": {("default",): 1},
    }
    run.edit("better")
    found = read(run, leads=False)
    assert found["_published_total"] == {("default",): 4}
    assert found["_rollbacks_total"] == {("default",): 1}
    assert not found[""]


async def test_one_of_which_nothing_is_served_is_counted(tmp_path: Path) -> None:
    run = Run(tmp_path / "revisions", None)
    run.edit(INVALID)
    assert read(run)[""] == {("default", "NotServed"): 1}
