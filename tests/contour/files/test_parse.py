"""Parsing one document, with the meaning that kubectl gives it, within limits."""

import base64
import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from contour.files import composition, parse
from crds import raw as documents

VALUES: dict[str, Any] = {
    "a: 1": {"a": 1},
    "": None,
    "# nothing": None,
    "~": None,
    "[]": [],
    "[yes, On, y, TRUE]": [True] * 4,
    "[no, Off, N, false]": [False] * 4,
    "[yep, oN, nope, 'yes', \"on\"]": ["yep", "oN", "nope", "yes", "on"],
    "[~, null, 'null']": [None, None, "null"],
    "a:\nb: Null": {"a": None, "b": None},
    "[0, 10, -5, +7, 0x1F, 0o17, 017, 0b101, 1_000]": [0, 10, -5, 7, 31, 15, 15, 5, 1000],
    "[1.5, .5, 1e3, -2.5e-1, 1., 089]": [1.5, 0.5, 1000.0, -0.25, 1.0, 89.0],
    "[10.0.0.1, 1:30, 2024-01-01, 1.2.3, '1', 12h, -, +x, 0x]": [
        *("10.0.0.1", "1:30", "2024-01-01", "1.2.3", "1", "12h", "-", "+x", "0x")
    ],
    "t: 2024-01-31T12:00:00Z": {"t": "2024-01-31T12:00:00Z"},
    "{1: a, yes: b, 1.5: c, '2': d}": {"1": "a", "true": "b", "1.5": "c", "2": "d"},
    "a: &x {b: [1]}\nc: *x": {"a": {"b": [1]}, "c": {"b": [1]}},
    "a: &x 5\nb: *x\n*x : 7": {"a": 5, "b": 5, "5": 7},
    "a: &x {b: 1, c: 2}\nd: {c: 3, <<: *x}": {"a": {"b": 1, "c": 2}, "d": {"c": 3, "b": 1}},
    "a: {<<: [{b: 1}, {b: 2, c: 3}], d: 4}": {"a": {"d": 4, "b": 1, "c": 3}},
    "a: '<<'\n'<<': b": {"a": "<<", "<<": "b"},
    "a: !!str 12\nb: !!int '7'\nc: !!float 3\nd: ! 12": {"a": "12", "b": 7, "c": 3.0, "d": "12"},
    "[!!float 0x1F, !!float 017, !!float 0b11, !!float 1_0]": [31.0, 15.0, 3.0, 10.0],
    "a: !!binary aGVsbG8=": {"a": "hello"},
    "a: !!map {b: !!seq [c]}": {"a": {"b": ["c"]}},
    "a: |\n  x\n  y\nb: >-\n  x\n  y": {"a": "x\ny\n", "b": "x y"},
    '{"a": [1, "\\ud83d\\ude00", 1.5, true, null]}': {"a": [1, "😀", 1.5, True, None]},
    '\n {\t"a":\t1}': {"a": 1},
    "{a: 1, b: [c]}": {"a": 1, "b": ["c"]},
}


@pytest.mark.parametrize("text", VALUES)
def test_a_document_means_what_kubectl_would_send(text: str) -> None:
    found = parse.value(text.encode())
    assert found == VALUES[text]
    assert repr(found) == repr(VALUES[text])  # 1, 1.0 and True are not the same.


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


LAUGHS = "a0: &a0 [lol]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40)
)

REFUSED: dict[str, tuple[bytes, str, int]] = {
    "a duplicate key": (b"a: 1\nb: 2\na: 3\n", "duplicate key 'a'", 2),
    "a duplicate key after conversion": (b"1: a\n'1': b\n", "duplicate key '1'", 1),
    "a duplicate key in JSON": (b'{"a": 1,\n "a": 2}', "duplicate key 'a'", 1),
    "a duplicate merge": (b"x: &x {}\na:\n  <<: *x\n  <<: *x\n", "duplicate key '<<'", 3),
    "a list as key": (b"a: 1\n? [b]\n: c\n", "a key must be a string", 1),
    "an aliased list as key": (b"a: &a [b]\n*a : c\n", "a key must be a string", 1),
    "null as key": (b"~: 1\n", "a key must be a string", 0),
    "an unknown alias": (b"a: *b\n", "an alias refers to no complete anchor; write", 0),
    "an alias of what it is in": (
        b"a: &a\n  b: *a\n",
        "an alias refers to no complete anchor",
        1,
    ),
    "a long text again and again": (
        f"a: &a {'x' * 10_000}\nb: [{'*a, ' * 500}]\n".encode(),
        "aliases expand to more than 50000 values, of which a text is one for each 100 characters",
        1,
    ),
    "laughs": (LAUGHS.encode(), "aliases expand to more than 50000 values", 5),
    "depth": (b"a: 1\nb: " + nested(500).encode(), "nested deeper than 200 levels", 1),
    "depth that would overflow a stack": (nested(100_000).encode(), "nested deeper than", 0),
    "depth by dashes": (b"- " * 1000 + b"x", "nested deeper than 200 levels", 0),
    "depth in JSON": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested deeper than", 0),
    "a Python object": (b"a: !!python/object:os.system x\n", "is not allowed in a manifest", 0),
    "a local tag": (b"a:\n- !x y\n", "this tag is not allowed in a manifest; write text", 1),
    "a tagged map": (b"a: !!set {b}\n", "is not allowed in a manifest", 0),
    "a tag that does not fit": (b"a: !!int x\n", "the value is not of the type int of its tag", 0),
    "a password that looks like an alias": (b"a: *hidden\n", "write text that begins with *", 0),
    "a password that looks like a tag": (b"a: !hidden\n", "write text that begins with !", 0),
    "two marks": (b"a: !!hidden\n", "write text that begins with !", 0),
    "bad base64": (b"a: !!binary '*'\n", "not the base64 of UTF-8 text", 0),
    "infinity": (b"a: 1\nb: .inf\n", ".inf is not a value that JSON can hold", 1),
    "not a number": (b"a: .NaN\n", ".NaN is not a value that JSON can hold", 0),
    "a number beyond floats": (b"a: 1e999\n", "the number is too large; write text in quotes", 0),
    "an integer beyond floats": (b"a: !!float 1" + b"0" * 399, "the number is too large", 0),
    "an anchor of <<": (b"x: 1\n&m <<: {a: b}\ny: *m\n", "<< cannot have an anchor", 1),
    "merging what is no mapping": (b"a: {<<: [1]}\n", "<< needs a mapping", 0),
    "invalid UTF-8": (b"a: 1\nb: \xff\n", "byte 0xff is not valid UTF-8", 1),
    "a control character": (b"a: 1\nb: \x01\n", "control characters are not allowed: 0x01", 1),
    "a tab": (b"a:\n\tb: 1\n", "indent with spaces, not with tabs", 1),
    "a wildcard without quotes": (b"a: *.b.c\n", "put text that begins with * in quotes", 0),
    "a name without quotes": (b"\xc3\xa4: @b\n", "put text that begins with @ in quotes", 0),
    "UTF-16": ("a: 1\n".encode("utf-16"), "the text is UTF-16; save it as UTF-8", 0),
    "a template": (b"a: {{ .Values.b }}\n", "a key must be a string; render templates first", 0),
    "a block of a template": (b"a:\n{{- if b }}\nc: 1\n", "render templates first", 2),
    "an open bracket": (b"a: [b\nc: d\n", "did not find expected ',' or ']'", 1),
    "a second document": (b"a: 1\n\xc2\x85--- b\n", "a second document begins here", 2),
    "10 MB": (b"a: " + b"x" * 10_000_000, "the document has 9.5 MiB; at most 4 MiB", 0),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_document_is_refused_with_the_line_of_what_is_wrong(case: str) -> None:
    raw, message, line = REFUSED[case]
    begun = time.process_time()
    with pytest.raises(parse.MalformedError) as refused:
        parse.value(raw)
    assert message in refused.value.message
    assert "hidden" not in refused.value.message
    assert refused.value.line == line
    assert time.process_time() - begun < 0.5, "what is refused is refused before it costs"


def test_an_alias_is_not_copied() -> None:
    found = documents.mapping(parse.value(b"a: &a {b: c}\nd: [*a, *a]\n"))
    first, second = documents.items(found["d"])
    assert first is second is found["a"]


def test_what_aliases_stand_for_is_counted_with_what_is_inside() -> None:
    inside = ", ".join(["x"] * 999)
    allowed = composition.MAX_ALIASED // 1000
    text = f"a: &a [{inside}]\nb: [{', '.join(['*a'] * allowed)}]\n"
    assert len(documents.items(documents.at(parse.value(text.encode()), "b"))) == allowed
    with pytest.raises(parse.MalformedError):
        parse.value((text + "c: *a\n").encode())


def test_the_largest_document_is_parsed_in_bounded_time() -> None:
    entry = "- {name: web, port: 80}\n"
    text = ("a:\n" + entry * (parse.MAX_BYTES // len(entry) - 1)).encode()
    begun = time.process_time()
    assert len(documents.items(documents.at(parse.value(text), "a"))) > 100_000
    assert time.process_time() - begun < 6


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64) | st.text(max_size=20)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inside: st.lists(inside, max_size=4)
    | st.dictionaries(st.text(max_size=10), inside, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(json_values)
def test_what_json_says_is_what_is_read(value: Any) -> None:
    assert parse.value(json.dumps({"a": value}).encode()) == {"a": value}


@given(json_values)
def test_what_a_yaml_writer_wrote_is_what_is_read(value: Any) -> None:
    written = yaml.dump({"a": value}, default_style='"')
    assert parse.value(written.encode()) == {"a": value}


@given(st.binary(max_size=200) | st.text(alphabet="ab:-{}[]&*!|>%'\"\\ \n\t#,?<~", max_size=80).map(
    str.encode))  # fmt: skip
def test_nothing_breaks_the_parser(raw: bytes) -> None:
    refused = refusal(raw)
    assert refused is None or (refused.message and 0 <= refused.line <= len(raw))


def refusal(raw: bytes) -> parse.MalformedError | None:
    try:
        parse.value(raw)
    except parse.MalformedError as error:
        return error
    return None


def test_binary_is_decoded_as_text() -> None:
    long = base64.encodebytes(b"x" * 200).decode().replace("\n", "\n  ")
    assert parse.value(f"a: !!binary |\n  {long}".encode()) == {"a": "x" * 200}
