"""The one way in which match conditions fail: what they are about, and why they are not clear."""

from typing import Literal

Subject = Literal["Path", "Header", "QueryParameter"]


class NotClear(Exception):  # noqa: N818 (a decision, not a failure)
    """Conditions that cannot be served."""

    def __init__(self, subject: Subject, text: str) -> None:
        super().__init__(text)
        self.subject = subject
        self.text = text
