"""The page is there whatever fails, in the dialect that is asked for."""

import logging
from collections.abc import Iterator

import aiohttp
import pytest
from prometheus_client.core import GaugeMetricFamily, Metric

from contour.pages.listeners import Listeners
from contour.pages.settings import ListenAddress, Sites
from observability import exposition
from tests.contour.metrics import scraped
from tests.testbed.ports import free_port


def good() -> Iterator[Metric]:
    yield GaugeMetricFamily("contour_good", "Good.", value=7)


def bad() -> Iterator[Metric]:
    yield GaugeMetricFamily("contour_bad", "Half of it.", value=1)
    raise ValueError("no")


def test_a_source_that_fails_costs_its_own_metrics_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        found = exposition.Metrics(bad, good)
        families = [*found.registry.collect()]
    samples = {sample.name: sample.value for it in families for sample in it.samples}
    assert samples["contour_good"] == 7
    assert "contour_bad" not in samples
    assert samples["contour_metrics_failures_total"] == 1
    assert "ValueError: no" in caplog.text


def test_what_runs_is_told() -> None:
    assert scraped.values(good, "contour_build_info") == {("", "", exposition.version()): 1}


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", "text/plain"),
        ('text/plain; version="0.0.4"', "text/plain"),
        ("application/openmetrics-text", "application/openmetrics-text"),
        ("application/openmetrics-text; version=x", "text/plain"),
    ],
)
async def test_the_page_answers_in_the_dialect_that_is_asked_for(
    accept: str, content_type: str
) -> None:
    port = free_port()
    listeners = Listeners({"metrics": exposition.Metrics(good).pages()})
    await listeners.update(Sites({ListenAddress("127.0.0.1", port): frozenset({"metrics"})}))
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/metrics", headers={"accept": accept}) as it,
        ):
            assert it.content_type == content_type
            text = await it.text()
    finally:
        await listeners.close()
    assert "contour_good 7.0" in text
    assert "process_resident_memory_bytes" in text
