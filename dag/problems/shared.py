"""Constructors of problems, by kind, for rules that several kinds share.

Each catalogue has tables of its own: `httpproxy.AUTHORIZATION`, `configuration.AUTHORIZATION`.
"""

from collections.abc import Callable
from typing import NamedTuple

from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import ConditionType, Gateway, Word

Constructor = Callable[[Place, str], Problem]
"""Makes the problem of a kind for a field, from its place and why it is not valid."""


class OfSecrets(NamedTuple):
    """The constructors of a kind for references to Secrets."""

    not_valid: Constructor
    not_delegated: Constructor


class OfAuthorization(NamedTuple):
    """The constructors of a kind for external authorization."""

    not_found: Constructor
    version: Constructor
    context: Constructor
    timeout: Constructor
    path_prefix: Constructor
    allowed_header: Constructor


def error(type_: Word, reason: Word, end: str = "") -> Constructor:
    """The constructor of an error; `end` is what follows from it, and ends the sentence."""
    return lambda place, text: place.error(type_, reason, text + end)


def closing(type_: Word, reason: Word, end: str) -> Constructor:
    """The constructor of an error that closes what it is about."""
    return lambda place, text: place.closing(type_, reason, text + end)


def no_effect(field: Place, why: str) -> Problem:
    """A field of the Gateway API or of a policy that is ignored, which opens nothing."""
    return field.warning(ConditionType.Accepted, Gateway.Accepted, f"has no effect: {why}")
