"""An open page hears of changes, and nothing else costs anything."""

import asyncio

import aiohttp
import pytest

from contour.complaints import Complaint, ManifestSource, Subject
from contour.dashboard import live
from contour.events import Batch
from crds.meta import ObjectRef
from tests.contour.dashboard.serving import Dashboard, proxy, served, shop


async def test_an_open_page_is_told_of_each_change() -> None:
    async with served(*shop()) as it, it.session.get(f"{it.url}/changes") as stream:
        assert stream.content_type == "text/event-stream"
        assert await _event(stream) == "first"
        it.take(proxy("new", "new.example.com", "missing"))
        assert await _event(stream) == "again"


@pytest.mark.parametrize(
    "subject", [ManifestSource("a.yaml"), ObjectRef("Service", "default", "new")]
)
async def test_an_open_page_is_told_of_faults_that_change_no_status(subject: Subject) -> None:
    """A file that cannot be read, an unknown field."""
    async with served() as it, it.session.get(f"{it.url}/changes") as stream:
        assert await _event(stream) == "first"
        fault = Complaint("a.yaml", 1, subject, "spec.x", "unknown field", "warning")
        for faults in ((fault,), ()):
            it.instance.take(Batch((), {subject: faults}))
            assert await _event(stream) == "again"


async def test_who_asks_for_the_headers_gets_them_and_no_stream() -> None:
    async with served() as it, asyncio.timeout(60):
        async with it.session.head(f"{it.url}/changes") as answer:
            assert answer.content_type == "text/event-stream"
        host, port = answer.url.host, answer.url.port
        reader, writer = await asyncio.open_connection(host, port)
        asked = "HEAD /dashboard/changes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        writer.write(asked.encode())
        assert (await reader.read()).endswith(b"\r\n\r\n")
        writer.close()


async def test_pages_beyond_the_limit_are_refused() -> None:
    async with served() as it:
        streams = [await it.session.get(f"{it.url}/changes") for _ in range(live.MOST)]
        try:
            async with it.session.get(f"{it.url}/changes") as refused:
                assert refused.status == 503
        finally:
            for stream in streams:
                stream.close()
        async with asyncio.timeout(60):
            while await _status(it) != 200:
                await asyncio.sleep(0.1)


async def _status(of: Dashboard) -> int:
    async with of.session.get(f"{of.url}/changes") as answer:
        return answer.status


async def _event(stream: aiohttp.ClientResponse) -> str:
    """The data of the next event."""
    async with asyncio.timeout(60):
        async for line in stream.content:
            if line.startswith(b"data: "):
                return line[6:].decode().strip()
    raise AssertionError("the stream has ended")
