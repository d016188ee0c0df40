"""Extensions: gRPC servers of others that change what Envoys are served, as in a
ContourConfiguration.

The hooks and their messages are those of Envoy Gateway (`envoygateway.extension`), so that servers
that were written for it work here.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from crds.endpoints import ObjectName
from crds.fields import Duration, Flag, Label, Port, Subdomain
from crds.meta import model
from crds.rules import rule
from crds.sidecars import LONGEST_NAME, SOCKETS, Sidecar
from crds.unserved import Unserved

Hook = Literal["Route", "VirtualHost", "HTTPListener", "Translation"]
Host = Annotated[str, StringConstraints(min_length=1, max_length=253)]
SocketPath = Annotated[str, StringConstraints(pattern=r"^/.+$", max_length=107)]
"""The longest path of a Unix socket that Linux takes."""
KindName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Za-z0-9]*$", max_length=63)]
Version = Annotated[str, StringConstraints(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$", max_length=63)]


@model
class ExtensionKind:
    """A kind of objects that an extension brings. Rules of HTTPRoutes and GRPCRoutes may refer to
    such objects as filters (`extensionRef`)."""

    group: Subdomain
    """The API group, such as `example.com`. Groups of Kubernetes, of the Gateway API and of this
    project cannot be registered."""
    version: Version
    """The version in which the objects are read, such as `v1alpha1`."""
    kind: KindName
    """The kind, such as `HeaderFilter`."""


@model
class ExtensionHooks:
    """When an extension is asked. A hook that is not listed is never called."""

    pre: Annotated[
        tuple[Hook, ...], Unserved(instead="no hook is called before the translation; use post")
    ] = Field(default=(), max_length=4)
    """Hooks before the translation. They are accepted as in Envoy Gateway, and never called."""
    post: tuple[Hook, ...] = Field(default=(), max_length=4)
    """Hooks after the translation. `Route` is called for each route whose rule refers to an object
    of `resources`, `VirtualHost` for each host of each listener, and `HTTPListener` for each
    listener for HTTP and HTTPS. `Translation` is called for all clusters and Secrets of a fleet at
    once, after the others."""


@model
class ExtensionTLS:
    """How the connection to an extension is encrypted."""

    certificate_ref: ObjectName
    """The Secret whose `ca.crt` (or `tls.crt`, if there is none) has the authorities that sign the
    certificate of the extension."""
    client_certificate_ref: ObjectName | None = None
    """The Secret with the certificate that is shown to the extension. By default none is shown."""
    server_name: Subdomain | None = None
    """The name that the certificate of the extension must be for. The default is `service.host`."""


@model
class ExtensionServer:
    """Where an extension is reached. Either `host` or `unix` must be set."""

    host: Host | None = None
    """The DNS name or IP address of the extension, as the control plane reaches it."""
    port: Port = 80
    """The TCP port of the extension. The default is 80."""
    unix: SocketPath | None = None
    """The path of a Unix socket, such as one that a sidecar shares with the control plane."""
    tls: ExtensionTLS | None = None
    """How the connection is encrypted. By default it is not."""
    _either = rule(
        "exactly one of host and unix must be set",
        lambda it: bool(it.host) != bool(it.unix),
        cel="has(self.host) != has(self.unix)",
    )
    _plain = rule(
        "tls has no effect on a Unix socket",
        lambda it: not (it.unix and it.tls),
        cel="!(has(self.unix) && has(self.tls))",
    )


@model
class Extension:
    """A gRPC server (`envoygateway.extension.EnvoyGatewayExtension`) that is asked what Envoys are
    to be served. A host that it has not answered for is not served as it is written: it stays as
    it was last served, or answers 503 if it never was."""

    name: Label
    """The name of the extension in statuses, logs and metrics. No other one may have it."""
    resources: tuple[ExtensionKind, ...] = Field(default=(), max_length=16)
    """The kinds of objects that the extension brings."""
    hooks: ExtensionHooks
    """When the extension is asked."""
    service: ExtensionServer
    """Where the extension is reached."""
    sidecar: Sidecar | None = None
    """The container in which the extension runs, in the pods of the control plane. `service.unix`
    must be in `/run/extensions`. It is for instances that the operator provisions, whose author has
    to be allowed to create pods in the namespace. By default the extension runs elsewhere."""
    timeout: Duration | None = None
    """The longest time that one answer may take, at most `1m`. The default is `5s`."""
    retries: Annotated[int, Field(ge=0, le=10)] = 3
    """How often a question is asked again that got no answer. The default is 3."""
    fail_open: Flag = False
    """If true, a host or listener that the extension has not answered for, and that was never
    served, is served without the extension's changes. By default the host answers 503, and the
    listener is not opened."""
    may_remove_clusters: Flag = False
    """If true, a cluster that the hook `Translation` leaves out of its answer is served without
    endpoints, so that requests to it are answered with 503. By default such an answer is not
    taken."""
    may_remove_secrets: Flag = False
    """If true, a Secret that the hook `Translation` leaves out of its answer is not served, so that
    connections that need it are refused. By default such an answer is not taken."""
    secrets: Literal["WithoutPrivateKeys", "Full"] = "WithoutPrivateKeys"
    """How the hook `Translation` is sent Secrets. With `WithoutPrivateKeys`, the default, private
    keys, passwords and the like are left out, and put back into the answer by the name of the
    Secret. `Full` sends them, and needs a Unix socket or TLS with `tls.clientCertificateRef`."""
    refresh: Duration | None = None
    """The time after which all questions are asked again, at least `10s`. By default they are asked
    again after each new connection to the extension alone."""
    _shared = rule(
        f"with a sidecar, service.unix must be in {SOCKETS}",
        lambda it: it.sidecar is None or (it.service.unix or "").startswith(f"{SOCKETS}/"),
        cel=f"!has(self.sidecar) || (has(self.service.unix) "
        f"&& self.service.unix.startsWith('{SOCKETS}/'))",
    )
    _called = rule(
        f"with a sidecar, name must not be longer than {LONGEST_NAME} characters",
        lambda it: it.sidecar is None or len(it.name) <= LONGEST_NAME,
        cel=f"!has(self.sidecar) || size(self.name) <= {LONGEST_NAME}",
    )
