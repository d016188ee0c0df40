"""What requests must show that Envoy compares with what a policy knows: API keys and passwords.

What routes are told (`Authentication`) and what the policy knows (`Known`) are told apart: keys and
passwords stand in no route, so a new one changes none.
"""

from dataclasses import field
from typing import Literal

from crds.meta import ObjectRef
from crds.records import dataclass


@dataclass(frozen=True, slots=True)
class KeySource:
    """A place in requests that may have an API key."""

    kind: Literal["header", "query", "cookie"]
    name: str
    """Of a header in lower case."""


@dataclass(frozen=True, slots=True)
class Authentication:
    """A key, a password, or first the one and then the other is required; others are answered 401.

    While Envoy does not know the keys and passwords of `source`, every request is answered 403.
    """

    source: ObjectRef
    """The SecurityPolicy."""
    key_sources: tuple[KeySource, ...] = ()
    """Where the key is, in the order in which Envoy looks; empty: no key is required."""
    has_passwords: bool = False
    """Whether `Authorization: Basic` is required."""


@dataclass(frozen=True, slots=True)
class ApiKeys:
    """The keys of clients."""

    sources: tuple[KeySource, ...]
    keys: tuple[tuple[str, str], ...] = field(repr=False)
    """The client and its key; clients and keys are unique."""
    client_header: str = ""
    """Of requests: tells the backend the client; none if empty."""
    is_hidden: bool = False
    """The backend does not get the key."""


@dataclass(frozen=True, slots=True)
class Passwords:
    """The passwords of users."""

    users: tuple[tuple[str, str], ...] = field(repr=False)
    """The user and the hash of the password (SHA-1 in Base64); users are unique."""
    user_header: str = ""
    """Of requests: tells the backend the user; none if empty."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a policy knows, for Envoy alone."""

    keys: ApiKeys | None = None
    passwords: Passwords | None = None
