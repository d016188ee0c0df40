"""Cutting a file into documents."""

import pytest

from contour.files import documents

CASES: dict[str, tuple[bytes, list[tuple[int, bytes]]]] = {
    "an empty file": (b"", []),
    "one document": (b"a: 1\n", [(1, b"a: 1\n")]),
    "two documents": (b"a: 1\n---\nb: 2\n", [(1, b"a: 1\n"), (3, b"b: 2\n")]),
    "a marker at the beginning": (b"---\na: 1", [(2, b"a: 1")]),
    "markers in a row": (b"---\n---\n\n---\na: 1\n---\n", [(5, b"a: 1\n")]),
    "an end marker": (b"a: 1\n...\n---\nb: 2\n", [(1, b"a: 1\n"), (4, b"b: 2\n")]),
    "a byte order mark": (b"\xef\xbb\xbfa: 1\n", [(1, b"a: 1\n")]),
    "lines of Windows": (b"a: 1\r\n---\r\nb: 2\r\n", [(1, b"a: 1\r\n"), (3, b"b: 2\r\n")]),
    "only comments": (b"# a\n---\n  # b\n\n---\n# c", []),
    "a comment above": (b"# a\n\na: 1\n", [(3, b"a: 1\n")]),
    "a comment behind a marker": (b"--- # a\na: 1\n", [(2, b"a: 1\n")]),
    "content behind a marker": (b"--- {a: 1}\n", [(1, b" {a: 1}\n")]),
    "a block scalar with a marker": (
        b"a: |\n  x\n---\nb: |\n  ---\n",
        [(1, b"a: |\n  x\n"), (4, b"b: |\n  ---\n")],
    ),
    "an indented marker": (b"a:\n ---\n", [(1, b"a:\n ---\n")]),
    "more dashes": (b"----\n", [(1, b"----\n")]),
    "a directive": (b"%YAML 1.1\n# x\n---\na: 1\n", [(4, b"a: 1\n")]),
    "JSON": (b'{"a": "} {"}\n', [(1, b'{"a": "} {"}\n')]),
    "JSON objects": (
        b'---\n{\n"a": 1\n}\n\n{"b": {}}{"c": 1}\n---\nd: 1\n',
        [(2, b'{\n"a": 1\n}\n\n'), (6, b'{"b": {}}'), (6, b'{"c": 1}\n'), (8, b"d: 1\n")],
    ),
    "JSON objects and one that is none": (
        b'{"a": 1}\n{"b": }\n{"c": 1}\n',
        [(1, b'{"a": 1}\n'), (2, b'{"b": }\n{"c": 1}\n')],
    ),
    "JSON objects and what is none": (
        b'{"a": 1} {"b": 1} c',
        [(1, b'{"a": 1} '), (1, b'{"b": 1} c')],
    ),
    "no JSON": (b"{a: 1} {b: 1}", [(1, b"{a: 1} {b: 1}")]),
    "indentation is kept": (b"\n\n  a: 1\n  b: 2\n", [(3, b"  a: 1\n  b: 2\n")]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_file_is_cut_at_its_markers(case: str) -> None:
    file, expected = CASES[case]
    assert [tuple(it) for it in documents.texts(file)] == expected


def test_a_digest_tells_whether_a_document_has_changed() -> None:
    before = [it.digest for it in documents.texts(b"a: 1\n---\nb: 2\n")]
    after = [it.digest for it in documents.texts(b"# new\n\na: 1\n---\nb: 3\n")]
    assert before[0] == after[0]
    assert before[1] != after[1]
