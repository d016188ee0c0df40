"""The first pass over raw documents."""

from collections import OrderedDict
from typing import Any

import pytest

from crds import screening


class _List(list[Any]):
    pass


@pytest.mark.parametrize("raw", [{"a": OrderedDict(b=None)}, {"a": _List([None])}])
def test_no_kind_of_container_is_passed_over(raw: dict[str, object]) -> None:
    assert screening.screened(raw).has_nulls
