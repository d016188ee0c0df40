"""Thousands of broken documents: decoding answers each, in words that can be printed."""

import copy
import random
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crds.decode import Decoded, decode
from tests.crds import documents

JUNK: list[Any] = [
    None, True, 0, -1, 1 << 70, 1e400, 0.5, "", "\0", "\ud800", "ä", "a" * 5000, b"bytes", [],
    [[]], {}, {"a": None}, {1: 2}, {None: 1}, {"\udfff": "x"}, ["x", 1], object(),
]  # fmt: skip


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    parts = list(node.items() if isinstance(node, dict) else enumerate(node))
    for key, value in parts:
        yield node, key
        if isinstance(value, dict | list):
            yield from places(value)


def mutate(document: documents.Document, chance: random.Random) -> None:
    if not document:
        return
    node, key = chance.choice(list(places(document)))
    match chance.randrange(5):
        case 0:
            del node[key]
        case 1:
            node[key] = [node[key]]
        case 2 if isinstance(node, dict):
            node[chance.choice(["spec", "x", "\0", 7, str(key) + "s"])] = node[key]
        case 3:
            node[key] = copy.deepcopy(chance.choice([it for it, _ in places(document)]))
        case _:
            node[key] = copy.deepcopy(chance.choice(JUNK))


@settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_decoding_never_raises(chance: random.Random, times: int) -> None:
    document = copy.deepcopy(chance.choice(documents.of_every_kind()))
    for _ in range(times):
        mutate(document, chance)
        found = decode(document)
        if isinstance(found, Decoded):
            assert isinstance(found.object, found.kind.model) != bool(found.errors)
            for it in found.complaints:
                str(it).encode()
                assert str(it).isprintable()
                assert len(str(it)) < 2000


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda it: st.lists(it, max_size=3) | st.dictionaries(st.text(max_size=5), it, max_size=3),
    max_leaves=10,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(documents.of_every_kind()), json_like)
def test_whatever_the_spec_is_decoding_never_raises(
    document: documents.Document, spec: object
) -> None:
    assert isinstance(decode({**document, "spec": spec}), Decoded)
    assert decode(spec) is not None
