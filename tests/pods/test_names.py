"""The name server's packets."""

import struct

import pytest

from tests.pods import names

KNOWN = {"web.default.svc.cluster.local": ["10.0.0.1"], "none.default.svc.cluster.local": []}


def question(name: str, kind: int = 1) -> bytes:
    labels = b"".join(bytes([len(it)]) + it.encode() for it in name.split("."))
    return struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, kind, 1)


@pytest.mark.parametrize(
    ("name", "kind", "code", "answers"),
    [
        ("web.default.svc.cluster.local", 1, 0, 1),
        ("WEB.default.svc.cluster.local", 1, 0, 1),
        ("web.default.svc.cluster.local", 28, 0, 0),
        ("none.default.svc.cluster.local", 1, 0, 0),
        ("other.example", 1, 3, 0),
    ],
)
def test_a_question_has_an_answer(name: str, kind: int, code: int, answers: int) -> None:
    reply = names.answer(question(name, kind), KNOWN.get)
    assert reply is not None
    identity, flags, _, count, _, _ = struct.unpack_from(">HHHHHH", reply)
    assert (identity, flags & 0xF, count) == (7, code, answers)
    assert bool(flags & 0x8000)
    if answers:
        assert reply.endswith(bytes([0, 4, 10, 0, 0, 1]))


def test_what_is_no_question_has_no_answer() -> None:
    assert names.answer(b"", KNOWN.get) is None
    reply = names.answer(question("other.example"), KNOWN.get)
    assert reply is not None
    assert names.answer(reply, KNOWN.get) is None
