"""One watch: turns its lines into events, and raises if it breaks.

The wire format is that of Kubernetes API concepts, "Efficient detection of changes". Elsewhere:
what an event changes (`versioncache`), what to do when a watch ends (`reflector`).
"""

from collections.abc import AsyncGenerator, Mapping
from typing import NamedTuple

from crds import raw
from crds.raw import Raw
from kube import errors, texts
from kube.client import Client

SORTS = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})


class Event(NamedTuple):
    """One line of a watch."""

    sort: str
    object: Raw
    size: int  # bytes


class Broken(errors.RequestError):
    """The server has sent something that is no event; events may have been lost."""


async def events(
    client: Client, path: str, params: Mapping[str, str], idle: float
) -> AsyncGenerator[list[Event], None]:
    """An empty batch as soon as the watch is open; then batches of events as they arrive."""
    async with client.stream(path, params, idle) as lines:
        yield []
        async for arrived in lines:
            whole, fault = _parsed(arrived)
            if whole:
                yield whole
            if fault is not None:
                raise fault


def _parsed(lines: list[bytes]) -> tuple[list[Event], errors.RequestError | None]:
    whole: list[Event] = []
    for line in lines:
        try:
            whole.append(_event(line))
        except errors.RequestError as fault:
            return whole, fault
    return whole, None


def _event(line: bytes) -> Event:
    try:
        found = texts.value(line)
    except ValueError:
        raise Broken("a line of the watch is not JSON") from None
    if raw.is_mapping(found) and raw.is_mapping(content := found.get("object")):
        sort = found.get("type")
        if sort == "ERROR":
            raise _error(content)
        if isinstance(sort, str) and sort in SORTS:
            return Event(sort, content, len(line))
    raise Broken("a line of the watch is not a watch event")


def _error(status: Raw) -> errors.RequestError:
    """The exception for an error event; only a Gone demands a new list."""
    refused = errors.refused(_code(status), status)
    return refused if refused.code == 410 else Broken(f"the API server ended the watch: {refused}")


def _code(status: Raw) -> int:
    code = status.get("code")
    if status.get("reason") in {"Expired", "Gone"}:
        return 410
    return code if isinstance(code, int) else 500
