"""Credentials that are put into requests for backends."""

from dataclasses import field

from crds.meta import ObjectRef
from crds.records import dataclass


@dataclass(frozen=True, slots=True)
class Injection:
    """A header of requests that gets a credential; the route does not contain the credential."""

    source: ObjectRef
    """The HTTPRouteFilter that has the credential."""
    header: str
    """Lower case."""
    overwrites: bool = False
    """A value that the client sends is replaced; otherwise it stays."""


@dataclass(frozen=True, slots=True)
class Credential:
    """The value of the header."""

    value: bytes = field(repr=False)
