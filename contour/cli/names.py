"""Names of Kubernetes objects as values of options.

A name that the API server would refuse can be that of no object, so it is refused here.
"""

import re

from contour.cli.texts import Text


class Name(Text):
    """A text that matches a pattern as a whole; `described` says which texts do."""

    def __init__(self, pattern: str, described: str) -> None:
        self._pattern, self._described = pattern, described

    @property
    def or_empty(self) -> "Name":
        """The same for an option whose empty value means its default."""
        return Name(f"({self._pattern})?", self._described)

    def refusal(self, text: str) -> str:
        """Why the text is no such name; empty if it is one."""
        return "" if re.fullmatch(self._pattern, text) else f"{text!r} is no {self._described}"


_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_WORDS = "lower-case letters, digits and -, at most 63 characters"

NAMESPACE = Name(_LABEL, f"name of a namespace: {_WORDS}")
SERVICE = Name(_LABEL, f"name of a Service: {_WORDS}")
OBJECT = Name(
    rf"(?=.{{1,253}}\Z){_LABEL}(\.{_LABEL})*",
    "name of an object: a DNS name in lower case, at most 253 characters",
)
SUFFIX = Name(
    r"(?=.{0,200}\Z)([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
    "end of a name: lower-case letters, digits, - and ., such as -test",
)
