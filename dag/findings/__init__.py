"""Findings: what is worth a look although no rule reports an error; for `contour analyze`.

A check reads what the rules answered and the rows behind it, when somebody asks; nothing is kept,
so a change costs nothing more. What statuses report already is not repeated here. Elsewhere: what
to do about each code (`catalogue`), all checks (`checks`).
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds.meta import ObjectRef
from dag.findings.catalogue import Code


class Finding(NamedTuple):
    """One thing that is worth a look."""

    code: Code
    subject: ObjectRef
    """The object to change."""
    field: str
    """The path of the field, such as `spec.routes[0]`; empty for the whole object."""
    message: str
    """What is the matter: a sentence without the field."""


Steps = Iterator[Finding | None]
"""The findings of a check, and None after each step without one, so that others have a turn."""
