"""Collections wait for the end of a pass over the graph."""

import gc
from collections.abc import Iterator

import pytest

from contour.controller import Controller
from contour.events import Batch
from contour.process import collections_later


@pytest.fixture(autouse=True)
def _collecting() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_collections_are_off_while_a_batch_is_taken() -> None:
    seen: list[bool] = []
    controller = Controller(None)
    controller.check = lambda: seen.append(gc.isenabled())
    controller.take(Batch((), {}))
    assert seen
    assert not any(seen)
    assert gc.isenabled()


def test_they_are_on_again_after_a_pass_that_failed() -> None:
    with pytest.raises(ValueError, match="a pass"), collections_later():
        raise ValueError("a pass")
    assert gc.isenabled()


def test_they_stay_off_where_they_were() -> None:
    gc.disable()
    with collections_later():
        pass
    assert not gc.isenabled()
