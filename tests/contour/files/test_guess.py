"""Recognising the object of a document that cannot be parsed."""

import pytest

from contour.files import guess
from crds import decode
from crds.meta import ObjectRef

HEAD = "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\n"
CASES: dict[str, ObjectRef | None] = {
    HEAD + "metadata:\n  name: a\n  namespace: n\nspec: [\n": ObjectRef("HTTPProxy", "n", "a"),
    HEAD + "metadata:\n  namespace: n\n  name: 'a'\n\tx": ObjectRef("HTTPProxy", "n", "a"),
    HEAD + "metadata: # of\n\n  name: a\nspec: {": ObjectRef("HTTPProxy", "default", "a"),
    HEAD + "metadata:\r\n  name: a\r\nspec: {": ObjectRef("HTTPProxy", "default", "a"),
    HEAD + "metadata:\n  labels:\n    name: no\n  name: a\n": ObjectRef(
        "HTTPProxy", "default", "a"
    ),
    HEAD + "metadata:\n  labels:\n    name: no\nspec:\n  name: no\n": None,
    HEAD + "metadata: {name: a\n": None,
    HEAD + "spec: [\n": None,
    "kind: HTTPProxy\nmetadata:\n  name: a\n": None,
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\n": None,
    "apiVersion: v1\nkind: List\nitems:\n- metadata:\n    name: a\n": None,
    "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n": ObjectRef("Namespace", "", "a"),
    "": None,
}


@pytest.mark.parametrize("text", CASES)
def test_an_object_is_recognised_by_kind_and_name_in_their_usual_places(text: str) -> None:
    assert guess.subject(text.encode()) == CASES[text]


def test_bytes_that_are_no_text_are_passed_over() -> None:
    raw = b"\xff\xfe\nkind: \xff\n" + HEAD.encode() + b"metadata:\n  name: a\n  x: \xff\n"
    assert guess.subject(raw) == ObjectRef("HTTPProxy", "default", "a")


def test_a_kind_of_another_group_is_told_the_one_that_is_read() -> None:
    older = decode.UnknownKind("extensions/v1beta1", "Ingress")
    assert guess.same_kind(older) == "; Ingress is read of networking.k8s.io/v1"
    assert guess.same_kind(decode.UnknownKind("a.b/v1", "Service")) == "; Service is read of v1"
    assert not guess.same_kind(decode.UnknownKind("apps/v1", "Deployment"))
