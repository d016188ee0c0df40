"""Requests and their failures, on the double; what no API server says is scripted."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kube import errors, texts
from kube.client import Client
from kube.credentials import AccessError, Credentials
from kube.resources import Resource
from tests.cluster.double.faults import Rule
from tests.cluster.double.server import Double
from tests.kube.followed import At, service
from tests.testbed.ports import free_port

SERVICES = Resource("", "v1", "services")
ALL = SERVICES.path("default")
ONE = SERVICES.path("default", "a")


@pytest.fixture
async def double() -> AsyncIterator[Double]:
    async with Double() as started:
        yield started


@pytest.fixture
async def client(double: Double) -> AsyncIterator[Client]:
    async with Client(At(double.url)) as opened:
        yield opened


def test_paths_of_resources() -> None:
    proxies = Resource("projectcontour.io", "v1", "httpproxies")
    assert SERVICES.path() == "/api/v1/services"
    assert proxies.path("n", "p", "status") == (
        "/apis/projectcontour.io/v1/namespaces/n/httpproxies/p/status"
    )
    namespaces = Resource("", "v1", "namespaces", namespaced=False)
    assert namespaces.path("ignored", "n") == "/api/v1/namespaces/n"


async def test_an_object_is_made_read_changed_and_removed(client: Client) -> None:
    made = await client.create(ALL, service("a"))
    assert (await client.get(ONE))["metadata"] == made["metadata"]
    made["spec"]["ports"][0]["port"] = 81
    replaced = await client.replace(ONE, made)
    assert replaced["spec"]["ports"][0]["port"] == 81
    merged = await client.patch(ONE, {"metadata": {"labels": {"x": "y"}}})
    assert merged["metadata"]["labels"] == {"x": "y"}
    assert [it["metadata"]["name"] for it in (await client.list_page(ALL))["items"]] == ["a"]
    await client.delete(ONE)
    with pytest.raises(errors.Refused) as refused:
        await client.get(ONE)
    assert (refused.value.code, refused.value.reason) == (404, "NotFound")


async def test_apply_makes_an_object_and_owns_what_it_says(client: Client) -> None:
    await client.apply(ONE, service("a"), "one")
    with pytest.raises(errors.Refused) as refused:
        await client.apply(ONE, service("a", port=81), "other")
    assert refused.value.code == 409
    forced = await client.apply(ONE, service("a", port=81), "other", force=True)
    assert forced["spec"]["ports"][0]["port"] == 81


async def test_what_is_older_than_what_is_there_is_refused(client: Client) -> None:
    made = await client.create(ALL, service("a"))
    await client.patch(ONE, {"metadata": {"labels": {"x": "y"}}})
    with pytest.raises(errors.Refused) as refused:
        await client.replace(ONE, made)
    assert refused.value.reason == "Conflict"


async def test_a_refusal_tells_what_is_wrong_with_which_field(
    double: Double, client: Client
) -> None:
    body = (
        b'{"kind":"Status","reason":"Invalid","message":"no","details":{"retryAfterSeconds":3,'
        b'"causes":[{"field":"spec.a","message":"must be"},7]}}'
    )
    double.script.add(Rule(status=422, body=body))
    with pytest.raises(errors.Refused) as refused:
        await client.get(ONE)
    assert refused.value.causes == (errors.Cause("spec.a", "must be"),)
    assert refused.value.retry_after == 3
    assert str(refused.value) == "422 Invalid: no"


@pytest.mark.parametrize("body", [b"<html>Bad Gateway</html>", b"", b"[]", b"\xff", b"7"])
async def test_an_error_of_something_in_between_is_a_refusal_too(
    double: Double, client: Client, body: bytes
) -> None:
    double.script.add(Rule(status=502, body=body))
    with pytest.raises(errors.Refused) as refused:
        await client.get(ONE)
    assert (refused.value.code, refused.value.reason) == (502, "")


@pytest.mark.parametrize("body", [b"<html>", b"", b"[]", b"null"])
async def test_an_answer_that_is_no_object_is_none(
    double: Double, client: Client, body: bytes
) -> None:
    double.script.add(Rule(body=body))
    with pytest.raises(errors.Unreachable):
        await client.get(ONE)


async def test_a_token_that_is_refused_is_replaced_by_the_newest(double: Double) -> None:
    double.tokens = {"new"}
    async with Client(At(double.url, "old", "new")) as client:
        await client.create(ALL, service("a"))
        assert double.count("create", "services") == 2
    async with Client(At(double.url, "old")) as client:
        with pytest.raises(errors.Refused) as refused:
            await client.get(ONE)
    assert refused.value.code == 401


async def test_too_many_requests_is_waited_out_if_there_is_time(
    double: Double, client: Client
) -> None:
    double.put(service("a"))
    double.script.add(Rule(status=429, headers={"Retry-After": "1"}, times=1))
    began = asyncio.get_running_loop().time()
    await client.get(ONE)
    assert asyncio.get_running_loop().time() - began >= 1.0
    double.script.add(Rule(status=429, headers={"Retry-After": "60"}))
    with pytest.raises(errors.Refused) as refused:
        await client.get(ONE, timeout=5.0)
    assert refused.value.retry_after == 60


async def test_no_answer_is_unreachable_in_time(double: Double, client: Client) -> None:
    never = asyncio.Event()
    double.script.add(Rule(hold=never))
    with pytest.raises(errors.Unreachable, match="no answer within the timeout"):
        await client.get(ONE, timeout=0.05)
    never.set()


async def test_no_server_is_unreachable() -> None:
    async with Client(At(f"http://127.0.0.1:{free_port()}")) as client:
        with pytest.raises(errors.Unreachable):
            await client.get(ONE)
        with pytest.raises(errors.Unreachable):
            async with client.stream(ALL):
                pass


async def test_what_goes_wrong_while_a_stream_is_read_is_not_a_failure_of_the_stream(
    double: Double, client: Client
) -> None:
    with pytest.raises(TimeoutError):
        async with client.stream(ALL, {"watch": "true"}):
            raise TimeoutError


class Nobody:
    """Somebody who has lost the way to ask."""

    def __init__(self, known: Credentials) -> None:
        self.known: Credentials | None = known

    async def credentials(self, refused: Credentials | None = None) -> Credentials:
        if self.known is None:
            raise AccessError("no credentials")
        return self.known


async def test_who_has_no_credentials_is_told_at_once_and_later_is_unreachable(
    double: Double,
) -> None:
    nobody = Nobody(Credentials(double.url))
    async with Client(nobody) as client:
        nobody.known = None
        with pytest.raises(errors.Unreachable, match="no credentials"):
            await client.get(ONE)
    with pytest.raises(AccessError):
        async with Client(nobody):
            pass


async def chunks(*found: bytes) -> AsyncIterator[bytes]:
    for it in found:
        yield it


async def test_lines_are_cut_wherever_the_network_cuts() -> None:
    found = [it async for it in texts.lines(chunks(b"a", b"b\nc", b"\n", b"\nd\ne\n"))]
    assert found == [[b"ab"], [b"c"], [b"d", b"e"]]
    with pytest.raises(errors.Unreachable, match="in the middle of a line"):
        _ = [it async for it in texts.lines(chunks(b"a\nb"))]


async def test_a_line_without_an_end_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "LONGEST_LINE", 10)
    with pytest.raises(errors.Unreachable, match="a line that is too long"):
        _ = [it async for it in texts.lines(chunks(*[b"abcd"] * 10))]


@pytest.mark.parametrize(
    ("body", "value"),
    [(b'"\\ud800"', "\ud800"), (b'"\xff"', "\udcff"), (b'"\\u0000"', "\0"), (b"1", 1)],
)
def test_broken_text_is_a_matter_of_its_object(body: bytes, value: object) -> None:
    assert texts.value(body) == value


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000])
def test_what_is_no_json_is_none(body: bytes) -> None:
    with pytest.raises(ValueError):
        texts.value(body)
