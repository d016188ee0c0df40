"""The result of one check."""

from typing import Literal, NamedTuple

State = Literal["ok", "warning", "error"]


class Check(NamedTuple):
    """One line of the report."""

    name: str
    state: State
    """Error: something does not work. Warning: it works, but perhaps not as expected."""
    found: str
    remedy: str = ""
    """What to do, in the imperative; empty if there is nothing to do."""
