"""The first pass over raw documents."""

import json
from collections import OrderedDict
from typing import Any

import pytest

from crds import screening


class _List(list[Any]):
    pass


@pytest.mark.parametrize("raw", [{"a": OrderedDict(b=None)}, {"a": _List([None])}])
def test_no_kind_of_container_is_passed_over(raw: dict[str, object]) -> None:
    assert screening.screened(raw).has_nulls


@pytest.mark.parametrize(
    "raw",
    [
        {"a": None},
        {"null": 1},
        {"a": "\0"},
        {"a": "\ud800"},
        {"a": "é"},
        {"a": "x" * screening.LIMIT},
        {"a": [[]] * screening.DEPTH},
    ],
)
def test_json_that_is_not_surely_plain_is_walked(raw: dict[str, object]) -> None:
    assert not screening.is_plain(json.dumps(raw).encode())
    assert not screening.is_plain(
        json.dumps(raw, ensure_ascii=False).encode(errors="surrogatepass")
    )


def test_json_of_usual_documents_is_plain() -> None:
    raw: dict[str, Any] = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}
    assert screening.is_plain(json.dumps(raw).encode())
    assert screening.screened(raw) == screening.PLAIN
