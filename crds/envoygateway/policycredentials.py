"""API keys and basic authentication of a SecurityPolicy: what requests must show, kept in Secrets.

The fields and limits are those of Envoy Gateway 1.9.
"""

from typing import Annotated

from pydantic import Field, StringConstraints

from crds.fields import Flag, Label
from crds.gateway.references import Group, KindName, ObjectName
from crds.meta import model

_Name = Annotated[str, StringConstraints(min_length=1)]


@model
class SecretReference:
    """A Secret of the type Opaque."""

    group: Group = ""
    """The API group of the object: the core group, which is empty."""
    kind: KindName = "Secret"
    """The kind of the object: `Secret`, the default. No other is served."""
    name: ObjectName
    """The name of the Secret."""
    namespace: Label | None = None
    """The namespace of the Secret. Another than that of the policy requires a ReferenceGrant."""


@model
class KeySources:
    """Places in requests that may have an API key, of one kind."""

    headers: tuple[_Name, ...] = Field(default=(), min_length=1)
    """Names of headers that may have the key, perhaps behind `Bearer `. They are looked at in this
    order."""
    params: tuple[_Name, ...] = Field(default=(), min_length=1)
    """Names of query parameters that may have the key. They are looked at in this order."""
    cookies: tuple[_Name, ...] = Field(default=(), min_length=1)
    """Names of cookies that may have the key. They are looked at in this order."""


@model
class APIKeyAuth:
    """Requests need one of some keys."""

    credential_refs: tuple[SecretReference, ...]
    """Secrets with the keys: each entry is named after a client, and has the key of that client. Of
    a client with several keys, and of a key that several clients have, the first one is used."""
    extract_from: tuple[KeySources, ...] = Field(min_length=1)
    """Where in requests the key is. The first place that has one decides."""
    forward_client_id_header: str | None = Field(
        default=None, validation_alias="forwardClientIDHeader"
    )
    """The header in which the backend gets the name of the client. What the client itself sends in
    this header is replaced."""
    sanitize: Flag | None = None
    """Whether the key is removed from requests before the backend gets them. The default is
    `false`."""


@model
class BasicAuth:
    """Requests need the name and the password of a user."""

    users: SecretReference
    """The Secret whose entry `.htpasswd` has lines such as `user:{SHA}hash`. SHA is the only hash
    that is served; any other closes the routes."""
    forward_username_header: str | None = None
    """The header in which the backend gets the name of the user. What the client itself sends in
    this header is replaced."""
