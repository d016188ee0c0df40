"""The external authorization of a SecurityPolicy: a server decides over each request.

The fields and limits are those of Envoy Gateway 1.9.
"""

from typing import Annotated

from pydantic import Field

from crds.envoygateway.opaque import Opaque
from crds.fields import Flag, GatewayDuration, Label, Natural32, Port, Positive32
from crds.gateway.known import Known
from crds.gateway.references import BackendObjectReference, Group, KindName, ObjectName
from crds.meta import model
from crds.rules import rule
from crds.unserved import Unserved


@model
class PolicyServer(BackendObjectReference):
    """A server, normally a port of a Service."""

    group: Group = ""
    """The API group of the server: the core group, which is empty, or `gateway.envoyproxy.io`."""
    kind: KindName = "Service"
    """The kind of the server: `Service`, the default, or `Backend` with its group."""
    name: ObjectName
    """The name of the Service."""
    namespace: Label | None = None
    """The namespace of the Service. Another than that of the policy requires a ReferenceGrant."""
    port: Port | None = None
    """The port of the Service, which must be set."""
    _port = rule(
        "Must have port for Service reference",
        lambda it: it.port is not None or (it.group, it.kind) != ("", "Service"),
        "has(self.port) || (has(self.group) && self.group != '') ||"
        " (has(self.kind) && self.kind != 'Service')",
    )


@model
class PolicyBackend(PolicyServer):
    """A server with its share of the requests."""

    fallback: Annotated[Flag, Unserved(guards=True)] = False
    """Whether it is asked only if the others cannot be. The default is `false`."""
    weight: Natural32 = Field(default=1, le=1_000_000)
    """Its share of the requests. Only one server is served, which gets all. The default is `1`."""


@model
class GRPCServer:
    """A server that speaks the gRPC interface of Envoy (`envoy.service.auth.v3.Authorization`)."""

    backend_ref: PolicyServer | None = None
    """The server that is asked about each request. Use `backendRefs` instead."""
    backend_refs: tuple[PolicyBackend, ...] = Field(default=(), max_length=16)
    """The server: one, a port of a Service. More than one are not served, and close the routes."""
    backend_settings: Annotated[Opaque | None, Unserved()] = None
    """How connections to the server are opened and used, and requests to it tried again."""
    _some = rule(
        "backendRef or backendRefs needs to be set",
        lambda it: it.backend_ref is not None or it.backend_refs,
        "has(self.backendRef) || self.backendRefs.size() > 0",
    )


@model
class HTTPServer(GRPCServer):
    """A server that is sent requests without bodies, and allows them by an answer with 200."""

    path: str | None = None
    """What stands before the path of the request when the server is asked about it."""
    path_override: Annotated[str | None, Unserved(guards=True)] = None
    """The path with which the server is asked, whatever the path of the request is."""
    headers_to_backend: tuple[str, ...] = ()
    """Headers of the server's answer that the backend gets in requests."""


@model
class ForwardedBody:
    """How much of the body of a request the server gets."""

    max_request_bytes: Positive32
    """The number of bytes. Requests with larger bodies are answered 413."""


@model
class ContextValueReference:
    """An entry of a ConfigMap or Secret in the namespace of the policy."""

    group: Group
    """The API group of the object: the core group, which is empty."""
    kind: KindName
    """The kind of the object: `ConfigMap` or `Secret`."""
    name: ObjectName
    """The name of the object, which is in the namespace of the policy."""
    key: str
    """The name of the entry of the object that has the text."""


@model
class ContextExtension:
    """A text that the server receives with each request."""

    name: str
    """The name by which the server receives the text."""
    type: Annotated[str, Known("Value", "ValueRef")] = "Value"
    """Where the text is: `Value` or `ValueRef`. The default is `Value`."""
    value: str | None = None
    """The text itself, which must be set with the type `Value`."""
    value_ref: Annotated[ContextValueReference | None, Unserved(guards=True)] = None
    """The entry of an object that has the text, with the type `ValueRef`."""


@model
class ExternalAuthorization:
    """A server decides over each request."""

    grpc: GRPCServer | None = None
    """A server that speaks gRPC. Exactly one of `grpc` and `http` must be set."""
    http: HTTPServer | None = None
    """A server that speaks HTTP. Exactly one of `grpc` and `http` must be set."""
    headers_to_ext_auth: tuple[str, ...] = ()
    """The headers of requests that the server gets. Without any, one that speaks gRPC gets all, one
    that speaks HTTP gets Host, Method, Path, Content-Length and Authorization."""
    body_to_ext_auth: ForwardedBody | None = None
    """How much of the body of a request the server gets; nothing if absent. It is asked when the
    body is complete, so calls by gRPC whose clients stream wait until these have sent
    everything."""
    fail_open: Flag = False
    """Whether requests pass if the server cannot be asked. The default is `false`: they are
    answered 403."""
    recompute_route: Flag = False
    """Whether the route is chosen again after the server changed headers of the request. It always
    is, whatever this says. The default is `false`."""
    timeout: GatewayDuration | None = None
    """The time that the server has to answer. The default is `10s`."""
    status_on_error: Annotated[int | None, Unserved()] = None
    """The status of the answer if the server cannot be asked. It is 403."""
    context_extensions: tuple[ContextExtension, ...] = ()
    """Texts that a gRPC server receives with each request. With `headersToExtAuth` they cannot be
    sent, and close the routes."""
    include_route_metadata: Annotated[Flag, Unserved()] = False
    """Whether the server receives metadata of the route. The default is `false`."""
    _some = rule(
        "one of grpc or http must be specified",
        lambda it: it.grpc is not None or it.http is not None,
        "has(self.grpc) || has(self.http)",
    )
    _one = rule(
        "only one of grpc or http can be specified",
        lambda it: it.grpc is None or it.http is None,
        "(has(self.grpc) && !has(self.http)) || (!has(self.grpc) && has(self.http))",
    )
