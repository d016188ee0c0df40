"""Parses the bytes of an answer to JSON values and lines, whatever they contain.

An API server sends valid UTF-8, for which a fast parser is enough. If an object does not have it, a
lenient parser reads it, so that the broken text affects only that object. Lines may be longer than
any buffer (an object has up to 1.5 MB), so they are assembled here.
"""

import json
from collections.abc import AsyncIterator

import orjson

from kube import errors

LONGEST_LINE = 32 << 20  # bytes; an object of 1.5 MB may be written in six times as many


def value(body: bytes) -> object:
    """The JSON value; broken text in it is kept as lone surrogates. ValueError if it is none."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(body.decode("utf-8", "surrogateescape"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


async def lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    """Lines without line breaks; those that arrive together are yielded together."""
    begun: list[bytes] = []
    async for chunk in chunks:
        first, *rest = chunk.split(b"\n")
        begun.append(first)
        if not rest:
            if sum(map(len, begun)) > LONGEST_LINE:
                raise errors.Unreachable("the answer has a line that is too long")
            continue
        whole = [b"".join(begun), *rest[:-1]]
        begun = [rest[-1]]
        yield [line for line in whole if line.strip()]
    if b"".join(begun).strip():
        raise errors.Unreachable("the answer ended in the middle of a line")
