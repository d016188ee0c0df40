"""Ingress and IngressClass (networking.k8s.io/v1), with the checks that the API server makes."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from crds.fields import HOST_OR_NONE, Port
from crds.ipaddresses import is_ip_address
from crds.meta import ObjectMeta, excerpt, model
from crds.rules import rule

Host = Annotated[str, StringConstraints(pattern=HOST_OR_NONE, max_length=253)]
"""A DNS name, perhaps with a wildcard; empty means all hosts."""


@model
class ServiceBackendPort:
    """A port of a Service, either by name or by number."""

    name: str = ""
    """The name of the port; either this or the number is set."""
    number: Port | None = None
    """The number of the port; either this or the name is set."""
    _one = rule(
        "exactly one of name and number must be set",
        lambda it: bool(it.name) != (it.number is not None),
    )


@model
class IngressServiceBackend:
    """A port of a Service in the namespace of the Ingress."""

    name: str
    """The name of the Service, in the namespace of the Ingress."""
    port: ServiceBackendPort


@model
class TypedLocalObjectReference:
    """An object of any kind in the namespace of the referrer."""

    api_group: str = ""
    """The API group of the object; empty for Kubernetes' core kinds."""
    kind: str
    """The kind of the object."""
    name: str
    """The name of the object."""


@model
class IngressBackend:
    """Where requests go: a Service, or a resource that some controllers understand."""

    service: IngressServiceBackend | None = None
    resource: TypedLocalObjectReference | None = None
    """An object other than a Service. It is not served."""
    _one = rule(
        "exactly one of service and resource must be set",
        lambda it: (it.service is None) != (it.resource is None),
    )


def _starts_with_slash(path: "HTTPIngressPath") -> bool:
    return path.path_type == "ImplementationSpecific" or path.path.startswith("/")


@model
class HTTPIngressPath:
    """The requests whose path matches, and the backend that they go to."""

    path: str = ""
    """The path that requests must have; it begins with `/`."""
    path_type: Literal["Exact", "Prefix", "ImplementationSpecific"]
    """How the path is compared: `Exact`, by segments as a `Prefix`, or as a prefix of
    characters."""
    backend: IngressBackend
    _absolute = rule(
        "path must start with /, unless pathType is ImplementationSpecific", _starts_with_slash
    )


@model
class HTTPIngressRuleValue:
    """The paths of one host."""

    paths: tuple[HTTPIngressPath, ...] = Field(min_length=1)


@model
class IngressRule:
    """The requests for one host; an empty host means all hosts."""

    host: Host = ""
    """The host of the requests, perhaps with a wildcard label first; without it, all hosts."""
    http: HTTPIngressRuleValue | None = None
    _named = rule(
        "host must be a DNS name, not an IP address", lambda it: not is_ip_address(it.host)
    )


@model
class IngressTLS:
    """Hosts that are served over TLS with the certificate of a Secret."""

    hosts: tuple[Host, ...] = ()
    """The hosts that are served with the certificate."""
    secret_name: str = ""
    """The Secret with the certificate and its key, in the namespace of the Ingress."""


@model
class IngressSpec:
    """The hosts, paths and certificates of an Ingress."""

    ingress_class_name: str | None = None
    """The IngressClass, which says what controller serves the Ingress."""
    default_backend: IngressBackend | None = None
    """The backend of requests for hosts that no rule names, and for the hosts of rules without
    paths. If the rules of a host have paths, its other paths are answered 404."""
    tls: tuple[IngressTLS, ...] = ()
    """Hosts that are served over TLS, with their certificates."""
    rules: tuple[IngressRule, ...] = ()
    """Hosts, and the paths that lead to backends."""
    _routes = rule(
        "either defaultBackend or rules must be given",
        lambda it: bool(it.rules) or it.default_backend is not None,
    )


@model
class Ingress:
    """An Ingress. Its annotations hold further settings."""

    metadata: ObjectMeta
    spec: IngressSpec


@excerpt
class IngressClassSpec:
    """The controller that serves the Ingresses of a class."""

    controller: str = ""
    """The controller that serves Ingresses of the class."""


@excerpt
class IngressClass:
    """A class of Ingresses, which is cluster-scoped."""

    metadata: ObjectMeta
    spec: IngressClassSpec = IngressClassSpec()
