"""Counters of the engine's work, and its exceptions for faulty rules."""

from dataclasses import dataclass


@dataclass(slots=True)
class Work:
    """What the engine has done so far; per change, it does not depend on the world's size."""

    runs: int = 0  # rules run
    checks: int = 0  # recorded reads compared
    woken: int = 0  # answers marked stale


class QueryCycleError(RuntimeError):
    """Queries that ask one another in a ring: a bug in the rules, never a user's mistake."""


class RuleFailedError(RuntimeError):
    """A query was asked whose rule raised and which never had an answer."""
