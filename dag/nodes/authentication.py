"""API keys and passwords (basic auth) that requests need, and those that a policy accepts.

What routes require (`Authentication`) and the credentials themselves (`Known`) are separate nodes:
no route contains a key or a password, so a new one changes no route.
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
    """The name; of a header in lower case."""


@dataclass(frozen=True, slots=True)
class Authentication:
    """Requires a key, a password, or a key and then a password; other requests are answered 401.

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
    """The request header that names the client to the backend; none if empty."""
    is_hidden: bool = False
    """The backend does not get the key."""


@dataclass(frozen=True, slots=True)
class Passwords:
    """The passwords of users."""

    users: tuple[tuple[str, str], ...] = field(repr=False)
    """The user and the hash of the password (SHA-1 in Base64); users are unique."""
    user_header: str = ""
    """The request header that names the user to the backend; none if empty."""


@dataclass(frozen=True, slots=True)
class Known:
    """The credentials of a policy, for Envoy alone."""

    keys: ApiKeys | None = None
    passwords: Passwords | None = None
