"""The one way in which match conditions fail: what they are about, and why they are not clear."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

Subject = Literal["Path", "Header", "QueryParameter"]


class NotClear(Exception):  # noqa: N818 (a decision, not a failure)
    """Conditions that cannot be served."""

    def __init__(self, subject: Subject, text: str, step: str = "") -> None:
        super().__init__(text)
        self.subject = subject
        self.text = text
        self.step = step
        """Which of the conditions, as `[0].prefix`; empty where it is about several."""


@contextmanager
def within(index: int, field: str) -> Iterator[None]:
    """Whatever is not clear in the block is so in this field of a condition."""
    try:
        yield
    except NotClear as why:
        why.step = why.step or f"[{index}].{field}"
        raise
