"""The TLS settings of a whole Gateway: how it verifies clients, and its own client certificate.

Gateway API, "GatewayTLSConfig" (GEP-91 and GEP-3155).
"""

from typing import Annotated, Any

from pydantic import Field

from crds import clustertrustbundle
from crds.fields import Port
from crds.gateway.known import Known
from crds.gateway.references import ObjectReference, SecretObjectReference
from crds.meta import model
from crds.rules import rule


def _bundles_have_none(validation: "FrontendTLSValidation") -> bool:
    bundle = (clustertrustbundle.GROUP, "ClusterTrustBundle")
    return all(
        (it.group, it.kind) != bundle or it.namespace is None
        for it in validation.ca_certificate_refs
    )


@model
class FrontendTLSValidation:
    """How certificates of clients are verified."""

    ca_certificate_refs: tuple[ObjectReference, ...] = Field(min_length=1, max_length=16)
    mode: Annotated[str, Known("AllowValidOnly", "AllowInsecureFallback")] = "AllowValidOnly"
    """Whether clients without a valid certificate are refused or let in."""
    _scope = rule("ClusterTrustBundle references must not specify namespace", _bundles_have_none)


@model
class TLSConfig:
    """The TLS settings for clients."""

    validation: FrontendTLSValidation | None = None


@model
class TLSPortConfig:
    """The TLS settings for the clients of one port."""

    port: Port
    """The port of the listeners to which the settings apply."""
    tls: TLSConfig


def _ports_are_unique(frontend: Any) -> bool:
    return len({it.port for it in frontend.per_port}) == len(frontend.per_port)


@model
class FrontendTLSConfig:
    """The TLS settings for clients: the default, and those of single ports."""

    default: TLSConfig
    per_port: tuple[TLSPortConfig, ...] = Field(default=(), max_length=64)
    _ports = rule("Port for TLS configuration must be unique within the Gateway", _ports_are_unique)


@model
class GatewayBackendTLS:
    """The client certificate that the Gateway sends to backends."""

    client_certificate_ref: SecretObjectReference | None = None


@model
class GatewayTLSConfig:
    """TLS settings that apply to every listener, and to every backend."""

    backend: GatewayBackendTLS | None = None
    frontend: FrontendTLSConfig | None = None
