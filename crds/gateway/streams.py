"""Routes of byte streams and packets, whose content is not read: TLSRoute, TCPRoute, UDPRoute.

Version v1 has one rule. The older versions, which the experimental channel still serves, may have
several rules, and a TLSRoute without host names.
"""

from typing import Annotated

from pydantic import Field

from crds.fields import Hostname, Subdomain
from crds.gateway.known import Known
from crds.gateway.references import ParentReference
from crds.gateway.routes import PARENTS_ARE_UNIQUE, BackendRef
from crds.meta import ObjectMeta, model


@model
class StreamRule:
    """The backends of the connections or packets."""

    name: Subdomain | None = None
    """The name of the rule, unique in its route."""
    backend_refs: tuple[BackendRef, ...] = Field(min_length=1, max_length=16)


@model
class TLSRouteSpec:
    """The parents, server names and backends of a route."""

    parent_refs: tuple[ParentReference, ...] = Field(default=(), max_length=32)
    hostnames: tuple[Hostname, ...] = Field(default=(), max_length=1024)
    """Compared with the server name (SNI) that the client sends."""
    rules: tuple[StreamRule, ...] = Field(min_length=1, max_length=16)
    use_default_gateways: Annotated[str | None, Known("All", "None")] = None
    """The route also attaches to the default Gateways of this scope."""
    _parents = PARENTS_ARE_UNIQUE


@model
class TLSRoute:
    """TLS connections, by server name, and their backends."""

    metadata: ObjectMeta
    spec: TLSRouteSpec


@model
class StreamRouteSpec:
    """The parents and backends of a route."""

    parent_refs: tuple[ParentReference, ...] = Field(default=(), max_length=32)
    rules: tuple[StreamRule, ...] = Field(min_length=1, max_length=16)
    use_default_gateways: Annotated[str | None, Known("All", "None")] = None
    """The route also attaches to the default Gateways of this scope."""
    _parents = PARENTS_ARE_UNIQUE


@model
class TCPRoute:
    """The TCP connections of a listener, and their backends."""

    metadata: ObjectMeta
    spec: StreamRouteSpec


@model
class UDPRoute:
    """The UDP packets of a listener, and their backends."""

    metadata: ObjectMeta
    spec: StreamRouteSpec
