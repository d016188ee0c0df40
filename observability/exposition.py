"""The metrics page: the current values of every source, and the resources that the process uses.

A source that fails costs its own metrics, not the page: metrics are needed most when something
fails.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from importlib import metadata

from aiohttp import web
from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    exposition,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

log = logging.getLogger(__name__)

Source = Callable[[], Iterable[Metric]]
Page = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Metrics:
    """All metrics of a process."""

    def __init__(self, *sources: Source) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(_Sources(sources))
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)

    def pages(self) -> Mapping[str, Page]:
        """`/metrics`, in the requested format."""

        async def answer(request: web.BaseRequest) -> web.Response:
            encode, content_type = _encoder(request.headers.get("accept", ""))
            body = encode(self.registry)
            return web.Response(body=body, headers={"content-type": content_type})

        return {"/metrics": answer}


def _encoder(accept: str) -> tuple[Callable[[CollectorRegistry], bytes], str]:
    """The encoder for a client, and its content type."""
    try:
        return exposition.choose_encoder(accept)
    except TypeError:  # the library compares the parts of a version, which are not all numbers
        return exposition.choose_encoder("")


class _Sources(Collector):
    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = tuple(sources)
        self._failures = 0

    def collect(self) -> Iterator[Metric]:
        yield build()
        for source in self._sources:
            try:
                found = list(source())
            except Exception:
                self._failures += 1
                log.exception("cannot read the metrics of %s", source)
                continue
            yield from found
        yield CounterMetricFamily(
            "contour_metrics_failures",
            "Failed attempts to read a source of metrics.",
            value=self._failures,
        )


def build() -> Metric:
    """The metric with the version of this program."""
    found = GaugeMetricFamily(
        "contour_build_info",
        "Always 1; the labels give the branch, revision and version.",
        labels=("branch", "revision", "version"),
    )
    found.add_metric(("", "", version()), 1)
    return found


def version() -> str:
    """The version of this program."""
    return metadata.version("contour-ingress")
